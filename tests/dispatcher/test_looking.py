"""Who only looks sees what the daemon would do: ``explain`` and ``--dry-run`` count its runs (dispatcher.md 4, 5)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatcher.explaining import explain
from tests.kit.clock import FakeClock
from tests.kit.yard import CONFIG, Yard, waits

CAPS = "concurrency: {max: 3, by_column: {ready: 2}, by_assignee: {ann: 1}}\n"


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock, CONFIG + CAPS)
    made.bot(waits(tmp_path))
    yield made
    (tmp_path / "go").touch()
    made.close()


def decisions(yard: Yard) -> list[tuple[int, str, str]]:
    """What a dry tick prints."""
    decided = yard.tick(dry=True, wait=False).decided
    return [(each.number, each.decision.action.value, str(each.decision.reason or "")) for each in decided]


def test_a_dry_run_counts_what_it_would_have_started(yard: Yard) -> None:
    """D195: the caps hold in a rehearsal, and nothing is left behind by it."""
    for title, assignee in (("one", "ann"), ("two", "ann"), ("three", ""), ("four", "")):
        yard.make(title, assignee=assignee)
    told = [(1, "fresh", ""), (2, "hold", "cap_assignee"), (3, "fresh", ""), (4, "hold", "cap_column")]
    assert decisions(yard) == told
    assert decisions(yard) == told
    assert yard.runs() == ()


def test_explain_counts_the_runs_of_the_daemon(yard: Yard) -> None:
    first, second = yard.make("one", assignee="ann"), yard.make("two", assignee="ann")
    third, fourth = yard.make("three"), yard.make("four")
    yard.tick(2, wait=False)
    for card, held in ((second, {"cap_column", "cap_assignee"}), (fourth, {"cap_column"})):
        judged = explain(yard.wiring, yard.environment, card).judgement
        assert {each.code for each in judged.gates if each.verdict == "hold"} == held
        told = judged.decision
        idle = yard.view(card).idle
        assert idle is not None
        assert (told.reason, told.text) == (idle.code, idle.text)
    for card in (first, third):
        told = explain(yard.wiring, yard.environment, card).judgement.decision
        assert (told.reason, "–" in told.text) == ("run_alive", False)
    assert [each for each in decisions(yard) if each[0] in (2, 4)] == [
        (2, "hold", "cap_column"),
        (4, "hold", "cap_column"),
    ]
