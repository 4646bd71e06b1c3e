"""Retries against gates, daily cap, scheduled starts, stalls, clocks (dispatcher.md 12, 13, 16, 18, 28, 30)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from connectors.card import PERSON
from connectors.drafts import CardPatch
from dispatcher.pulse import Pulse
from dispatcher.web.backstage import Backstage
from dispatcher.web.server import Listener, WebServer
from engine.failures import FailureCode
from engine.states import RunStatus
from tests.kit.cli import pointsman
from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, CONFIG, HEAD, Yard, tool, waits

NATIVE = "native"


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock)
    yield made
    (tmp_path / "go").touch()
    made.close()


def test_a_blocker_that_appears_during_the_wait_holds_the_retry(yard: Yard, clock: FakeClock) -> None:
    """D116."""
    yard.bot(tool("exit 1"))
    card = yard.make()
    yard.settled()
    blocker = yard.make("first", column="backlog")
    yard.board.update(card, CardPatch(blockers=(blocker,)), PERSON)
    clock.advance(60)
    yard.tick(3)
    assert (yard.reason(card), yard.run(card).epoch) == ("blocked_by", 1)


def test_a_due_retry_waits_for_a_slot_and_keeps_its_claim(tmp_path: Path, clock: FakeClock) -> None:
    """D117."""
    yard = Yard(tmp_path, clock, CONFIG + "concurrency: {max: 1}\n", tool("exit 1"))
    card = yard.make()
    yard.settled()
    yard.bot(waits(yard.folder), "slow")
    yard.make("slow", bot="slow")
    yard.tick(wait=False)
    yard.until("started")
    clock.advance(60)
    yard.tick(3, wait=False)
    assert yard.reason(card) == "no_slot"
    claim = yard.view(card).claim
    assert claim is not None
    assert claim.state.value == "retrying"
    (yard.folder / "go").touch()
    yard.join()
    yard.settled()
    assert yard.run(card).epoch == 2
    yard.close()


def test_two_causes_that_are_due_at_once_share_one_row_and_one_attempt(yard: Yard, clock: FakeClock) -> None:
    """D122: the retry is due while a person's gesture asks for the same run; one attempt, nothing lost."""
    yard.bot(tool("exit 1"))
    card = yard.make()
    yard.settled()
    clock.advance(60)
    yard.move(card, "backlog")
    yard.move(card, "ready")
    yard.settled()
    assert (yard.run(card).epoch, len(yard.runs())) == (2, 1)
    assert yard.ledger().retries[NATIVE, card].attempt == 2


def test_a_card_that_is_held_does_not_hold_the_next(yard: Yard, clock: FakeClock) -> None:
    """D151."""
    later = (clock.now() + timedelta(hours=1)).isoformat()
    first = yard.make("first", priority=9, not_before=later)
    second = yard.make("second")
    yard.settled()
    assert (yard.reason(first), yard.column(second)) == ("not_before", "review")


def test_a_start_that_was_missed_while_nobody_ran_happens_once(yard: Yard, clock: FakeClock) -> None:
    """D159."""
    card = yard.make(not_before=(clock.now() + timedelta(hours=1)).isoformat())
    yard.tick()
    clock.advance(7200)
    yard.again().settled(3)
    assert (yard.column(card), len(yard.runs())) == ("review", 1)


SPENDS = f"""{HEAD}tool work:
  command: `touch FOLDER/started; until [ -e FOLDER/go ]; do sleep 0.02; done`

tool after:
  command: `true`

workflow work:
  entry: work
  work -> after
  after -> done
"""


def spend(yard: Yard, run: str, cost: float) -> None:
    day = yard.clock.now().date().isoformat()
    with yard.wiring.database.write() as connection:
        connection.exec_driver_sql(
            "INSERT OR REPLACE INTO spend_day (day, key, run_id, cost_usd) VALUES (?, ?, ?, ?)", (day, run, run, cost)
        )


@pytest.mark.parametrize("by", ["another day", "a raised cap"])
def test_the_daily_cap_pauses_what_runs_and_holds_the_rest(tmp_path: Path, clock: FakeClock, by: str) -> None:
    """D153, D155: paused at the next boundary; a new day or a raised cap opens the gate at once, only ``resume``
    continues the run."""
    capped = CONFIG + "limits: {max_cost_per_day_usd: 1}\n"
    yard = Yard(tmp_path, clock, capped, SPENDS.replace("FOLDER", str(tmp_path)))
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    spend(yard, "branch", 1.1)
    other = yard.make("other")
    yard.tick(wait=False)
    assert yard.reason(other) == "cost_cap_daily"
    (yard.folder / "go").touch()
    yard.join()
    yard.tick(2)
    assert (yard.run(card).status, yard.column(card)) == (RunStatus.PAUSED_OPERATOR, "awaiting_input")
    if by == "a raised cap":
        (yard.folder / "pointsman.yaml").write_text(capped.replace("usd: 1", "usd: 5"))
        assert yard.daemon.reload()
    else:
        clock.advance(86400)
    yard.settled(2)
    assert (yard.column(other), yard.column(card)) == ("review", "awaiting_input")
    yard.move(card, "ready")
    yard.tick(3)
    assert (yard.column(card), yard.run(card).status) == ("awaiting_input", RunStatus.PAUSED_OPERATOR)
    yard.resume(card)
    yard.tick()
    assert yard.column(card) == "review"
    yard.close()


def test_a_run_resumed_over_two_days_counts_its_growth_once_per_day(yard: Yard, clock: FakeClock) -> None:
    """D154."""
    spent = yard.wiring.store.spend
    for cost in (0.2, 0.5, 0.5):
        spend(yard, "one", cost)
    first = clock.now().date()
    clock.advance(86400)
    for cost in (0.5, 0.9):
        spend(yard, "one", cost)
    assert (spent.on(first), round(spent.on(clock.now().date()), 6)) == (0.5, 0.4)


def test_a_run_whose_part_waits_for_a_person_is_no_stall(yard: Yard, clock: FakeClock) -> None:
    """D127: the sub-run asks; the run above parks with it instead of being silent."""
    (yard.folder / "bots" / "inner.bot").write_text(ASKS.replace("workflow work:", "workflow inner:"))
    yard.bot(f'{HEAD}subbot inner:\n  source: "inner.bot"\n\nworkflow work:\n  entry: inner\n  inner -> done\n')
    card = yard.make()
    yard.settled()
    clock.advance(7200)
    yard.tick(3)
    assert yard.column(card) == "awaiting_input"
    assert yard.run(card).failure_code != FailureCode.INTERRUPTED


def test_a_cancel_wins_over_a_stall_at_the_same_boundary(yard: Yard, clock: FakeClock) -> None:
    """D141."""
    yard.bot(waits(yard.folder))
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    clock.advance(700)
    yard.wiring.engine.cancel(yard.view(card).last_run, "enough", "ann")
    yard.daemon.tick()
    yard.join()
    yard.tick(pick=False)
    assert (yard.run(card).status, yard.column(card)) == (RunStatus.CANCELLED, "backlog")


def test_time_in_which_the_process_was_stopped_is_no_silence(yard: Yard, clock: FakeClock) -> None:
    """D084, D090: beats say when it ran; what lies between two far ones is subtracted."""
    yard.bot(waits(yard.folder))
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    yard.daemon.beat()
    clock.advance(700)
    yard.tick(wait=False)
    assert yard.events(card, "run_interrupted") == []
    for _ in range(150):
        clock.advance(4)
        yard.daemon.beat()
    yard.daemon.tick()
    yard.join()
    yard.tick(pick=False)
    assert [event.data["reason"] for event in yard.events(card, "run_interrupted")] == ["stall"]


def test_only_the_gap_after_an_instant_counts_as_missed() -> None:
    pulse = Pulse()
    pulse.look(0.0)
    assert pulse.missed(0.0) == 0.0
    pulse.beat(10.0)
    pulse.beat(12.0)
    pulse.beat(112.0)
    assert (pulse.missed(0.0), pulse.missed(62.0), pulse.missed(112.0)) == (100.0, 50.0, 0.0)


def test_a_full_store_holds_everything_and_goes_on_when_there_is_space(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D193: below the least space nothing begins; freed, it goes on."""
    import shutil

    card = yard.make()
    usage = shutil.disk_usage(yard.folder)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    report = yard.tick(3)
    assert [each["code"] for each in report.state["degraded"]] == ["store_degraded"]  # type: ignore[attr-defined]
    assert (yard.runs(), yard.view(card).claim) == ((), None)
    assert "the store takes no writes" in yard.daemon.not_ready()
    monkeypatch.undo()
    yard.settled()
    assert yard.column(card) == "review"


def test_a_store_that_fills_up_in_the_middle_ends_the_tick_and_leaves_nothing_half_written(
    yard: Yard, clock: FakeClock
) -> None:
    """D193: the write itself is refused."""
    cards = [yard.make("x" * 400) for _ in range(9)]
    with yard.wiring.database.exclusive() as raw:
        pages = raw.execute("PRAGMA page_count").fetchone()[0]
        raw.execute(f"PRAGMA max_page_count = {pages}")
    report = yard.tick(6)
    assert "full" in report.error
    assert [each["code"] for each in report.state["degraded"]] == ["store_degraded"]  # type: ignore[attr-defined]
    with yard.wiring.database.exclusive() as raw:
        raw.execute("PRAGMA max_page_count = 1000000")
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    clock.advance(60)
    yard.settled(3)
    assert [yard.column(card) for card in cards] == ["review"] * 9
    assert len(yard.runs()) == 9


def test_reading_changes_nothing(yard: Yard) -> None:
    """D045, F21: every verb that shows something, every GET of the contract and both pages, twice each."""
    yard.bot(ASKS)
    card = yard.make()
    yard.settled(2)
    run = yard.view(card).last_run
    server = WebServer(Listener("127.0.0.1", 0), Backstage(yard.wiring, yard.daemon, yard.daemon.metrics))
    server.start()
    before = yard.wiring.database.version()
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False, timeout=30) as client:
        contract = client.get("/api/openapi.json").json()["paths"]
        reads = [path.format(card_id="1", run_id=run) for path, verbs in contract.items() if "get" in verbs]
        assert len(reads) > 10
        for path in [*reads, "/", "/cards/1"] * 2:
            assert client.get(path).status_code == 200, path
    server.stop()
    verbs = ("card list", "card show 1", "card history 1", "board show", "board export", "effects list", "doctor")
    for verb in [*verbs, "explain 1", "inspect", f"inspect --run-id {run}"] * 2:
        answer = pointsman(yard.folder, *verb.split(), "--json", "--store-dir", str(yard.folder / "store"))
        assert (answer.code, bool(json.loads(answer.out))) == (0, True), answer.err
    yard.tick(2)
    assert yard.wiring.database.version() == before
