"""Cards whose run lost the answer of a remote call: parked, asked about, settled, resumed (dispatcher.md 6 and 11)."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from connectors.card import Mover, MoverKind
from dispatcher.doubts import probe_due
from engine.failures import FailureCode
from engine.run import EffectRecord, EffectState
from engine.states import RunStatus
from tests.kit.cli import Answer, pointsman
from tests.kit.clock import FakeClock
from tests.kit.forge import CATALOGUE, FakeForge, comments
from tests.kit.runs import python
from tests.kit.yard import CONFIG, HEAD, Yard

BOT = comments(before=HEAD).replace("fake.", "github.")
WITH_FORGE = CONFIG + 'connections: {web: {kind: github, repo: "octo/web", token: $TOKEN}}\n'


class ForgeYard(Yard):
    """A yard whose bots may call a forge."""

    catalogue = CATALOGUE

    def __init__(self, folder: Path, clock: FakeClock, *script: str) -> None:
        self.forge = FakeForge(folder / "forge", *script)
        self.remote = self.forge.remote
        super().__init__(folder, clock, WITH_FORGE, BOT, TOKEN="t" * 8)

    def rows(self) -> list[EffectRecord]:
        return list(self.wiring.store.effects.list())

    def effects(self, *words: str) -> Answer:
        """The verb, beside the daemon."""
        url = f"sqlite:///{self.folder / 'store' / 'pointsman.db'}"
        environment = {"TOKEN": "t" * 8, "POINTSMAN_STORE_URL": url}
        answer = pointsman(self.folder, "effects", *words, environment=environment)
        assert answer.code == 0, answer.err
        return answer


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[ForgeYard]:
    made = ForgeYard(tmp_path, clock, "vanished")
    yield made
    made.close()


def parked(yard: ForgeYard) -> str:
    """A card that is parked because its one call lost its answer."""
    card = yard.make()
    yard.settled()
    assert (yard.column(card), yard.reason(card)) == ("awaiting_input", "parked_ambiguous")
    return card


def test_a_call_in_doubt_parks_the_card_and_names_the_call(yard: ForgeYard) -> None:
    """D020, R083."""
    card = parked(yard)
    idle = yard.view(card).idle
    assert idle is not None
    (row,) = yard.rows()
    assert idle.text == f"github.issue.comment at post (asked, not found) may have happened ({row.id})"
    yard.settled(5)
    assert len(yard.forge.received) == 1
    assert len(yard.events(card, "run_retry_skipped")) == 1
    told = {"id": row.id, "run_id": yard.run(card).id, "node_id": "post", "operation": "github.issue.comment"}
    assert yard.tick().state["effects"] == {"ambiguous": 1, "unsettled": [told]}


def test_settled_as_done_the_next_tick_resumes_without_a_call(yard: ForgeYard) -> None:
    """R470."""
    card = parked(yard)
    made = {"id": "c9", "number": 7, "author": "bot", "body": "hello", "url": "https://forge/c9"}
    made["created_at"] = "2026-01-01T00:00:00Z"
    (yard.folder / "F").write_text(json.dumps(made))
    yard.effects("settle", yard.rows()[0].id, "--done", "--response", "F")
    yard.settled()
    assert yard.run(card).status == RunStatus.FINISHED
    assert yard.column(card) == "review"
    assert len(yard.forge.received) == 1
    outputs = yard.wiring.engine.inspect(yard.run(card).id).outputs
    assert outputs["post"] == made


def test_settled_as_not_made_it_is_sent_once_more(yard: ForgeYard) -> None:
    """R471, D022, C061: without a gesture, under a new row."""
    card = parked(yard)
    yard.effects("settle", yard.rows()[0].id, "--not-done")
    yard.settled()
    assert yard.column(card) == "review"
    assert len(yard.forge.received) == 2
    assert len(yard.runs()) == 1


def test_an_abandoned_call_stays_parked_until_a_person_moves_the_card(yard: ForgeYard) -> None:
    """R471, D022, C062."""
    card = parked(yard)
    yard.effects("settle", yard.rows()[0].id, "--abandon")
    yard.settled(3)
    assert yard.reason(card) == "parked_ambiguous"
    yard.move(card, "ready")
    yard.settled()
    assert yard.column(card) == "review"
    assert len(yard.forge.received) == 2


def test_moving_the_card_in_is_the_decision_to_send_again(yard: ForgeYard) -> None:
    """D021."""
    card = parked(yard)
    yard.move(card, "ready", Mover(MoverKind.PERSON, "ann"))
    yard.settled()
    assert yard.column(card) == "review"
    assert [(each.state, each.settled_by) for each in yard.rows()] == [("abandoned", "resume"), ("done", "answer")]
    assert yard.rows()[0].settler == "ann"


def test_a_gesture_parks_again_while_the_forge_cannot_be_asked(yard: ForgeYard) -> None:
    card = parked(yard)
    yard.forge.readable = False
    yard.move(card, "ready")
    yard.settled(3)
    assert (yard.column(card), yard.reason(card)) == ("awaiting_input", "parked_ambiguous")
    idle = yard.view(card).idle
    assert idle is not None
    assert "not readable: 503 from the forge" in idle.text
    assert len(yard.forge.received) == 1
    assert yard.run(card).epoch == 1


def test_while_parked_the_forge_is_asked_after_one_five_and_thirty_minutes(yard: ForgeYard) -> None:
    """D020; also by a daemon that starts anew, and not by a dry tick."""
    parked(yard)
    asked = [yard.forge.probes]
    for seconds in (59, 2, 200, 40, 1000, 600, 9000):
        yard.clock.advance(seconds)  # type: ignore[attr-defined]
        yard.tick(dry=True)
        yard.again()
        yard.tick(2)
        asked.append(yard.forge.probes)
    first = asked[0]
    assert asked == [first, first, first + 1, first + 1, first + 2, first + 2, first + 3, first + 3]


def test_a_call_that_is_found_while_parked_is_not_sent_again(yard: ForgeYard, clock: FakeClock) -> None:
    """D019."""
    card = parked(yard)
    yard.forge.late(yard.rows()[0])
    clock.advance(61)
    yard.settled()
    assert yard.column(card) == "review"
    assert len(yard.forge.received) == 1
    assert [(each.state, each.settled_by) for each in yard.rows()] == [("done", "probe")]


def test_the_instants_follow_from_the_row_alone(yard: ForgeYard, clock: FakeClock) -> None:
    parked(yard)
    (row,) = yard.rows()
    assert row.state is EffectState.AMBIGUOUS
    due = [seconds for seconds in (0, 59, 60, 299, 300, 10_000) if probe_due(row, clock.now() + timedelta(0, seconds))]
    assert due == [60, 299, 300, 10_000]


def die(folder: str, word: str) -> None:
    """The daemon that is killed while a run's call is on the way."""
    yard = ForgeYard(Path(folder), FakeClock(), word)
    yard.make()
    yard.tick()


@pytest.mark.parametrize("word", ["kill", "kill_unmade"])
def test_what_a_killed_daemon_was_calling_is_asked_about(tmp_path: Path, clock: FakeClock, word: str) -> None:
    """R467, R468: found, the run goes on; not found, the card is parked and ``effects list`` shows the call."""
    process = python(f"from {__name__} import die; import sys; die(*sys.argv[1:])", str(tmp_path), word)
    _, errors = process.communicate(timeout=90)
    assert process.returncode == -signal.SIGKILL, errors
    clock.advance(60)
    yard = ForgeYard(tmp_path, clock)
    (card,) = [each.id for each in yard.board.list_cards(None).cards]
    yard.tick(2)
    if word == "kill":
        clock.advance(60)
        yard.settled(2)
        assert (yard.column(card), yard.run(card).status) == ("review", RunStatus.FINISHED)
    else:
        yard.settled(3)
        assert yard.run(card).failure_code == FailureCode.AMBIGUOUS_EFFECT
        assert (yard.column(card), yard.reason(card)) == ("awaiting_input", "parked_ambiguous")
        assert yard.rows()[0].id in yard.effects("list").out
    assert len(yard.forge.received) == 1
    yard.close()
