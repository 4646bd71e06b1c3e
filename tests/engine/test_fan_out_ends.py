"""Fan-outs that end out of the ordinary: fail nodes, missing edges and joins, writers, stragglers, no elements
(engine.md 4.4, 9.2 to 9.5)."""

from __future__ import annotations

import threading
from typing import Any

from engine.dsl.graph import NodeKind
from engine.dsl.load import load_text
from engine.failures import FailureCode
from engine.nodes.base import NodeContext
from engine.outcome import Completed, Failed, Outcome
from engine.states import RunStatus
from engine.store.store import Store
from tests.kit.engine import Rig, Script, real_rig, scripted

FR = RunStatus.FAILED_RESUMABLE

REFUSES = """
router split:
  mode: fan_out_all
compute guard:
  expr:
    ok: "vars.ok"
compute other:
  expr:
    x: "1"
fail refuse:
  code: NOT_TODAY
  message: "no {{outputs.guard.ok}}"
  resumable: true
compute join:
  await: {strategy}
  expr:
    told: "length(input._failed_branches)"
vars:
  ok: bool = false
workflow w:
  entry: split
  split -> guard
  split -> other
  guard -> join when ok
  guard -> refuse else
  other -> join
  join -> done
"""

EACH = """
vars:
  items: json = `{items}`
router spread:
  mode: fan_out_each
  over: "{{vars.items}}"
compute guard:
  expr:
    n: "outputs.spread.item"
fail refuse:
  code: NOT_TODAY
  message: "no {{outputs.guard.n}}"
compute join:
  await: {strategy}
  expr:
    n: "length(input._failed_branches)"
workflow w:
  entry: spread
  spread -> guard
  guard -> refuse when "n > 1"
  guard -> join else
  join -> done
"""

WRITERS = """
router split:
  mode: fan_out_all
tool left:
  command: `echo left >> trace`{safe}
tool right:
  command: `echo right >> trace`{safe}
compute join:
  await: wait_all
  expr:
    x: "1"
workflow w:
  entry: split
  split -> left
  split -> right
  left -> join
  right -> join
  join -> done
"""


def put(text: str, **values: str) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def test_a_fail_node_in_a_branch_is_that_branchs_error(engine: Rig) -> None:
    """R044, 4.4: its error carries code and message; alone it gives its code to the run; a resume asks its guard."""
    record = engine.run(put(REFUSES, strategy="wait_all"))
    assert (record.status, record.failure_code, engine.head().node_id) == (FR, "NOT_TODAY", "split")
    assert "branch_split_guard: NOT_TODAY: no false" in record.error
    errors = [event.data["error"] for event in engine.events("branch_finished") if event.data.get("error")]
    assert errors == ["NOT_TODAY: no false"]
    assert engine.resume().failure_code == "NOT_TODAY"


def test_a_fail_node_in_a_branch_of_best_effort_is_told_to_the_join(engine: Rig) -> None:
    """R044, R046."""
    assert engine.run(put(REFUSES, strategy="best_effort")).status == RunStatus.FINISHED
    told = engine.outputs()["join"]
    assert told["told"] == 1
    assert told["_failed_branches"] == [{"branch_id": "branch_split_guard", "error": "NOT_TODAY: no false"}]


def test_a_fail_node_of_some_elements(engine: Rig) -> None:
    """R045: one branch per element, with the code that all failed ones share."""
    record = engine.run(put(EACH, items="[1, 2, 3]", strategy="wait_all"))
    assert (record.status, record.failure_code, engine.head().node_id) == (FR, "NOT_TODAY", "spread")
    best = engine.run(put(EACH, items="[1, 2, 3]", strategy="best_effort"), "r2")
    assert best.status == RunStatus.FINISHED
    told = engine.outputs("r2")["join"]["_failed_branches"]
    assert [each["error"] for each in told] == ["NOT_TODAY: no 2", "NOT_TODAY: no 3"]


def test_no_elements_go_straight_to_the_join(engine: Rig) -> None:
    """R224: no branch starts."""
    assert engine.run(put(EACH, items="[]", strategy="wait_all")).status == RunStatus.FINISHED
    assert set(engine.outputs()) == {"spread", "join"}
    assert not engine.events("branch_started")


def test_a_router_without_edges_fails_at_the_router(engine: Rig) -> None:
    """R211."""
    record = engine.run("router split:\n  mode: fan_out_all\nworkflow w:\n  entry: split\n")
    assert (record.status, record.failure_code) == (FR, FailureCode.NO_OUTGOING_EDGE)
    assert engine.head().node_id == "split"


def test_branches_that_meet_nowhere_and_do_not_all_end_well_fail_at_the_router(engine: Rig) -> None:
    """R213: without a join the run finishes only when every branch ended at done."""
    text = put(REFUSES, strategy="wait_all").replace("-> join", "-> done").replace("  join -> done\n", "")
    text = text[: text.index("compute join")] + text[text.index("vars:") :]
    record = engine.run(text)
    assert (record.status, record.failure_code, engine.head().node_id) == (FR, "NOT_TODAY", "split")
    fine = engine.run(text, "r2", vars={"ok": "true"})
    assert fine.status == RunStatus.FINISHED
    assert {"guard", "other"} <= set(engine.outputs("r2"))


def test_two_writers_are_named_and_stopped_until_they_are_safe(engine: Rig) -> None:
    """R212, R485: a warning that names both, a stop at the router; none of it once they are marked."""
    text = put(WRITERS, safe="")
    warned = [each for each in load_text(text).diagnostics if each.code == "X008"]
    assert [("left" in each.message, "right" in each.message) for each in warned] == [(True, True)]
    record = engine.run(text)
    assert (record.status, record.failure_code) == (FR, FailureCode.WORKSPACE_SAFETY)
    assert (engine.head().node_id, engine.trace()) == ("split", [])
    safe = put(WRITERS, safe="\n  parallel_safe: true")
    assert not [each for each in load_text(safe).diagnostics if each.code == "X008"]
    assert engine.run(safe, "r2").status == RunStatus.FINISHED
    assert sorted(engine.trace()) == ["left", "right"]


def test_a_branch_that_ignores_its_cancel_is_left_behind(store: Store, tmp_path: Any) -> None:
    """R219: told with its branch and its grace; what it does later is written nowhere."""
    text = """
router split:
  mode: fan_out_all
compute quick:
  expr:
    x: "1"
human stubborn:
  instructions: "x"
compute join:
  await: wait_all
  expr:
    x: "1"
workflow w:
  entry: split
  split -> quick
  split -> stubborn
  quick -> join
  stubborn -> join
  join -> done
"""
    inside, go, over = threading.Event(), threading.Event(), threading.Event()

    def stubborn(context: NodeContext) -> Outcome:
        inside.set()
        go.wait(30)
        over.set()
        return Completed({"late": True})

    def once_inside(_: NodeContext) -> None:
        inside.wait(30)

    settings = scripted(Script(Failed(FailureCode.EXECUTION_FAILED, "no"), then=once_inside))
    settings["nodes"][NodeKind.HUMAN] = stubborn
    rig = real_rig(store, tmp_path, branch_cancel_grace=0.2, **settings)
    record = rig.run(text)
    assert (record.status, record.failure_code, rig.head().node_id) == (FR, "EXECUTION_FAILED", "split")
    left = rig.events("branch_abandoned")
    assert [event.data["branch_id"] for event in left] == ["branch_split_stubborn"]
    assert {"router", "mode", "grace_period", "reason"} <= set(left[0].data)
    before = rig.events()
    go.set()
    assert over.wait(30)
    assert rig.events() == before
    assert "stubborn" not in rig.outputs()
