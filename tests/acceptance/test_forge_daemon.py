"""The whole daemon over each forge: cards move on the forge, runs follow, and a forge in trouble harms no run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from engine.states import RunStatus
from tests.kit.clock import FakeClock
from tests.kit.forge_yard import ForgeYard, forge_yard
from tests.kit.yard import ASKS, FAILS_FOR_GOOD, tool, waits

FORGES = ("github", "gitlab", "forgejo")
Maker = Callable[..., ForgeYard]


@pytest.fixture(params=FORGES)
def make(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Maker]:
    """Makes the yard of a forge with a bot."""
    with ExitStack() as stack:
        yield lambda bot: stack.enter_context(forge_yard(request.param, tmp_path, clock, bot))


def list_fails(**given: Any) -> dict[str, Any]:
    return {"fault": "status", "with": given, "match": {"operation": "issue.list"}}


def test_a_ready_card_is_worked_on_and_its_outcome_shows_on_the_forge(make: Maker) -> None:
    yard = make(tool("true"))
    card = yard.issue(body="text")
    yard.settled()
    assert yard.run(card).status == RunStatus.FINISHED
    assert yard.place(card) == "review"
    events = yard.forge.card(int(card)).events
    assert [event.data["label"] for event in events if event.kind == "labeled"] == ["ready", "in_progress", "review"]
    yard.settled(3)
    assert len(yard.runs()) == 1


def test_a_card_that_failed_carries_one_comment_that_says_why(make: Maker) -> None:
    yard = make(FAILS_FOR_GOOD)
    card = yard.issue()
    yard.settled(3)
    assert yard.run(card).status == RunStatus.FAILED
    texts = [each.body for each in yard.forge.card(int(card)).comments]
    assert len(texts) == 1
    assert "<!-- pointsman " in texts[0]
    assert yard.place(card) == "blocked"


def test_a_question_parks_the_card_and_a_person_s_answer_lets_it_go_on(make: Maker) -> None:
    yard = make(ASKS)
    card = yard.issue()
    yard.settled()
    assert yard.run(card).status == RunStatus.PAUSED_WAITING_HUMAN
    assert yard.place(card) == "awaiting_input"
    yard.resume(card, answers={"ok": True})
    yard.settled(2)
    assert (yard.run(card).status, yard.place(card)) == (RunStatus.FINISHED, "review")


def test_a_card_moved_away_behind_a_lagging_list_is_not_started(make: Maker) -> None:
    """C016: the list is 30 s behind; the read of the card itself refuses it before a claim."""
    yard = make(tool("true"))
    card = yard.issue()
    yard.forge.script({"fault": "lag", "with": {"seconds": 30, "what": "lists"}})
    yard.forge.act("move", number=int(card), to="backlog", **{"from": "ready"})
    yard.tick()
    assert yard.runs() == ()
    assert yard.place(card) == "backlog"
    yard.forge.script()
    yard.forge.act("move", number=int(card), to="ready", **{"from": "backlog"})
    yard.settled()
    assert yard.place(card) == "review"


def test_a_throttle_while_a_run_works_judges_nobody(make: Maker, tmp_path: Path) -> None:
    """C116: the by-id read of a running card is throttled; neither card nor run is taken for gone or dead."""
    yard = make(waits(tmp_path))
    card = yard.issue()
    yard.tick(wait=False)
    yard.until("started")
    yard.forge.script({"fault": "throttle_plain"})
    for _ in range(3):
        yard.clock.advance(20)
        yard.tick(wait=False)
    assert yard.run(card).status == RunStatus.RUNNING
    yard.forge.script()
    (tmp_path / "go").touch()
    yard.join()  # else the hour that passes next may be taken for its silence
    yard.clock.advance(3600)
    yard.settled(2)
    assert (yard.run(card).status, yard.place(card)) == (RunStatus.FINISHED, "review")


@pytest.mark.parametrize(
    ("act", "told"),
    [
        ("rename_repo", ("board_degraded", "board web: the repository moved to octo/new")),
        ("issues_off", ("board_unreadable", "board web could not be read: issues are switched off (")),
        ("hide", ("board_unreadable", "board web could not be read: the repository is not there (")),
    ],
)
def test_a_repository_that_is_elsewhere_or_shut_harms_no_run(
    make: Maker, tmp_path: Path, act: str, told: tuple[str, str]
) -> None:
    """C120, C121, C012: the board says what is the matter; no card is gone, no run is stopped, nothing is written."""
    yard = make(waits(tmp_path))
    card = yard.issue()
    waiting = yard.issue(title="Another")
    yard.forge.act("move", number=int(waiting), to="backlog", **{"from": "ready"})
    yard.tick(wait=False)
    yard.until("started")
    yard.forge.act(act, **({"to": "octo/new"} if act == "rename_repo" else {}))
    yard.forge.forget_requests()
    for _ in range(3):
        yard.clock.advance(20)
        report = yard.tick(wait=False)
        (degraded,) = _list(report.state["degraded"])
        assert degraded["code"] == told[0]
        assert degraded["text"].startswith(told[1])
    assert yard.run(card).status == RunStatus.RUNNING
    (tmp_path / "go").touch()
    yard.join()
    assert yard.run(card).status == RunStatus.FINISHED
    yard.clock.advance(60)
    yard.tick(2)
    assert [each for each in yard.forge.requests() if each["method"] != "GET"] == []
    assert ("web", card) in yard.ledger().claims, "its outcome waits for the board"


def _list(value: object) -> list[Any]:
    assert isinstance(value, list)
    return value


def test_a_token_that_is_taken_away_stops_the_board_and_no_run(make: Maker, tmp_path: Path) -> None:
    """C143: three refusals, then one read in five minutes, told once; running work goes on and settles afterwards."""
    yard = make(waits(tmp_path))
    card, waiting = yard.issue(), yard.issue("backlog")
    yard.tick(wait=False)
    yard.until("started")
    yard.forge.script({"fault": "status", "with": {"code": 401}})
    yard.forge.act("move", number=int(waiting), to="ready", **{"from": "backlog"})
    yard.forge.forget_requests()
    with capture_logs() as lines:
        for _ in range(20):
            yard.clock.advance(15)
            report = yard.tick(wait=False)
        assert yard.run(card).status == RunStatus.RUNNING
        assert 3 <= len(yard.forge.requests()) <= 5, "three in a row, then one in five minutes"
        (degraded,) = _list(report.state["degraded"])
        assert (degraded["code"], "401" in degraded["text"]) == ("credential_refused", True)
        (tmp_path / "go").touch()
        yard.join()
        assert yard.run(card).status == RunStatus.FINISHED
        yard.forge.script()
        for _ in range(6):
            yard.clock.advance(600)
            yard.tick()
    assert yard.place(card) == "review"
    told = [line["event"] for line in lines if str(line["event"]).startswith("connection.")]
    assert told == ["connection.refused", "connection.recovered"]


def test_a_list_that_breaks_off_starts_nothing_and_stops_nothing(make: Maker) -> None:
    """C003 for the dispatcher: an incomplete list is no reason to believe that other cards are gone."""
    yard = make(ASKS)
    card = yard.issue()
    yard.settled()
    assert yard.run(card).status == RunStatus.PAUSED_WAITING_HUMAN
    other = yard.issue(title="Another")
    yard.forge.script(list_fails(code=502))
    yard.clock.advance(20)
    yard.settled()
    assert yard.run(card).status == RunStatus.PAUSED_WAITING_HUMAN
    assert yard.place(other) == "ready"
    yard.forge.script()
    yard.clock.advance(600)
    yard.settled(2)
    assert yard.place(other) == "awaiting_input"


def test_a_lost_answer_to_a_move_is_finished_by_the_next_tick_without_a_second_write(make: Maker) -> None:
    """C026: the label was put on, the answer lost; the card ends in one column, each label written once."""
    yard = make(tool("true"))
    card = yard.issue()
    operation = "issue.edit" if yard.forge.kind == "gitlab" else "label.add"
    yard.forge.script({"fault": "act_then_close", "match": {"operation": operation, "nth": 1}})
    for _ in range(3):
        yard.settled()
        yard.clock.advance(30)
    assert yard.place(card) == "review"
    added = yard.forge.requests(operation=operation)
    assert len(added) == 2
    assert len(yard.runs()) == 1


def test_a_person_s_card_with_another_s_labels_keeps_them(make: Maker) -> None:
    """C023 through the daemon: what is no column stays through start and outcome."""
    yard = make(tool("true"))
    card = yard.issue()
    for label in ("bug", "stat: stale", "urgent"):
        yard.forge.act("add_label", number=int(card), label=label)
    yard.settled()
    assert set(yard.forge.labels_of(int(card))) == {"bug", "stat: stale", "urgent", "review"}


def test_a_new_start_of_the_daemon_finds_everything_as_it_was(make: Maker) -> None:
    yard = make(ASKS)
    card = yard.issue()
    yard.settled()
    before = yard.run(card).id
    yard.again()
    yard.settled(2)
    assert yard.run(card).id == before
    assert len(yard.forge.card(int(card)).comments) == 1
    yard.resume(card, answers={"ok": True})
    yard.settled(2)
    assert yard.place(card) == "review"


def test_an_untouched_forge_is_only_read(make: Maker) -> None:
    yard = make(tool("true"))
    for _ in range(3):
        yard.issue("backlog")
    yard.tick(3)
    assert {each["method"] for each in yard.forge.requests()} == {"GET"}
