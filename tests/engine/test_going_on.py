"""What a stopped run goes on with: guards, elements, values, logs, and what never happens twice (engine.md 3, 4, 7)."""

from __future__ import annotations

import pytest

from engine.errors import RunConflict
from engine.events import EventType, NewEvent
from engine.outcome import Completed
from engine.run import BudgetAsk
from engine.states import RunStatus
from engine.store.changes import Transition
from engine.store.rewinds import Rewinding
from engine.store.store import Store
from tests.kit.clock import FakeClock
from tests.kit.engine import Rig, Script, scripted
from tests.kit.runs import ended, launched

FR = RunStatus.FAILED_RESUMABLE
DAY = 86_400

GUARDED = """
tool before:
  command: `echo before >> trace`
compute guard:
  expr:
    cap: "run.max_cost_usd"
fail refuse:
  code: TOO_LITTLE
  message: "{{outputs.guard.cap}} is too little"
  resumable: true
workflow w:
  entry: before
  before -> guard
  guard -> done when "cap >= 10"
  guard -> refuse else
"""

WALK = """
vars:
  items: json = `["a", "b", "c", "d", "e"]`
tool work:
  command: `echo {{each.walk.index}} {{each.walk.item}} >> trace; [ {{each.walk.index}} -ne 3 ] || test -e ok`
workflow w:
  entry: work
  work -> work as foreach walk(it in "{{vars.items}}")
  work -> done
"""

ASKS = """
schema answer:
  ok: bool
tool before:
  command: `echo before >> trace`
human gate:
  output: answer
tool after:
  command: `echo after >> trace`
workflow w:
  entry: before
  before -> gate
  gate -> after
  after -> done
"""


def test_a_guard_is_asked_again_and_a_raised_cap_takes_the_other_edge(engine: Rig) -> None:
    """R036, R037, R038: nothing before the guard runs again."""
    record = engine.run(GUARDED)
    assert (record.status, record.failure_code, record.error) == (FR, "TOO_LITTLE", "0 is too little")
    assert (engine.head().node_id, engine.head().completed) == ("guard", False)
    assert engine.resume(ask={"max_cost_usd": 10.0}).status == RunStatus.FINISHED
    assert engine.outputs()["guard"] == {"cap": 10}
    assert engine.trace() == ["before"]


def test_a_guard_that_finds_nothing_changed_refuses_again(engine: Rig) -> None:
    """R039: failed_resumable again, a new outcome of the same run."""
    first = engine.run(GUARDED)
    second = engine.resume()
    assert (second.status, second.failure_code, second.error) == (first.status, first.failure_code, first.error)
    assert second.outcome_seq == first.outcome_seq + 1
    assert engine.trace() == ["before"]


def test_a_walk_goes_on_with_the_element_at_which_it_stopped(engine: Rig) -> None:
    """R166."""
    assert engine.run(WALK).status == FR
    engine.write("ok")
    assert engine.resume().status == RunStatus.FINISHED
    assert engine.trace() == ["0 a", "1 b", "2 c", "3 d", "3 d", "4 e"]


def test_values_come_from_the_inputs_that_the_run_keeps(engine: Rig) -> None:
    """R169: given ones, and the defaults of those that were not given."""
    text = """
vars:
  given: string
  plain: int = 7
tool t:
  command: `echo {{vars.given}} {{vars.plain}} >> trace; test -e ok`
workflow w:
  entry: t
  t -> done
"""
    engine.run(text, vars={"given": "$HOME {{x}}"})
    engine.write("ok")
    assert engine.other().resume().status == RunStatus.FINISHED
    assert engine.trace() == ["$HOME {{x}} 7"] * 2


def test_an_answer_after_days_goes_on_where_it_asked(engine: Rig, clock: FakeClock) -> None:
    """R021, R356: the same run, nothing earlier again, no active time for the wait."""
    assert engine.run(ASKS).status == RunStatus.PAUSED_WAITING_HUMAN
    clock.advance(5 * DAY)
    record = engine.other().resume(texts={"ok": "yes"})
    assert (record.id, record.status) == ("r1", RunStatus.FINISHED)
    assert engine.trace() == ["before", "after"]
    assert engine.head().spent.elapsed_ns < 60 * 1_000_000_000
    assert (record.finished_at - record.created_at).days == 5 if record.finished_at else False


def test_the_log_of_a_run_holds_its_attempts_one_after_another(engine: Rig) -> None:
    """R359."""
    text = (
        "tool t:\n  command: `echo try >> trace; wc -l < trace >&2; test -e ok`\nworkflow w:\n  entry: t\n  t -> done\n"
    )
    engine.run(text)
    log = engine.store.root / "runs" / "r1" / "run.log"
    first = log.read_text()
    engine.write("ok")
    engine.resume()
    assert log.read_text().startswith(first)
    assert len(log.read_text()) > len(first) > 0


def test_a_cancel_wins_over_a_pause_at_the_same_boundary(engine: Rig) -> None:
    """R358, 1.7: in either order."""
    parts = [f'compute {name}:\n  expr:\n    x: "1"\n' for name in "ab"]
    text = "".join(parts) + "workflow w:\n  entry: a\n  a -> b\n  b -> done\n"
    rigs: list[Rig] = []

    def both(order: str) -> None:
        for word in order.split():
            if word == "pause":
                rigs[0].engine.pause(order.replace(" ", "-"))
            else:
                rigs[0].engine.cancel_all("enough")

    for order in ("pause cancel", "cancel pause"):
        script = Script(Completed({"x": 1}), then=lambda _, order=order: both(order))  # type: ignore[misc]
        rigs[:] = [engine.other(**scripted(script))]
        record = rigs[0].run(text, order.replace(" ", "-"))
        assert (record.status, script.calls) == (RunStatus.CANCELLED, 1)


def test_an_old_record_cannot_be_saved_over_a_newer_one(store: Store) -> None:
    """R035, 1.5: a conflict; the cancel that came meanwhile stands."""
    launched(store)
    ended(store, "r1", FR, failure_code="TIMEOUT", error="too slow")
    loaded, head = store.runs.get("r1"), store.checkpoints.head("r1")
    assert head is not None
    assert store.runs.transition("r1", Transition(RunStatus.CANCELLED, frozenset({FR}), error="enough"))
    before = store.runs.get("r1")
    change = Rewinding(loaded.version, head, frozenset({"entry"}), frozenset(), NewEvent(EventType.RUN_REWOUND))
    with pytest.raises(RunConflict):
        store.rewinds.save("r1", change)
    assert store.runs.get("r1") == before
    assert (before.status, before.error) == (RunStatus.CANCELLED, "enough")


def test_a_negated_condition_over_an_absent_field_holds(engine: Rig) -> None:
    """R486."""
    text = """
tool t:
  command: `echo '{"other": true}'`
tool taken:
  command: `echo taken >> trace`
workflow w:
  entry: t
  t -> taken when not f
  t -> fail else
  taken -> done
"""
    assert engine.run(text).status == RunStatus.FINISHED
    assert engine.trace() == ["taken"]
    told = next(event.data for event in engine.events("edge_selected") if event.node_id == "t")
    assert (told["condition"], told["negated"]) == ("f", True)


def test_a_raise_is_merged_field_by_field() -> None:
    older = BudgetAsk(max_cost_usd=5.0, max_tokens=100)
    assert BudgetAsk(max_tokens=200).merged_over(older) == BudgetAsk(max_cost_usd=5.0, max_tokens=200)
