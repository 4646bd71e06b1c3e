"""Fan-out: branches, join, merge, failure, pause and crash inside branches (engine.md 3.3, 9.2 to 9.5)."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from sqlalchemy import text as sql

from engine.dsl.expressions import EvaluationError
from engine.dsl.graph import Edge, NodeKind, RouterMode, RouterNode
from engine.failures import FailureCode
from engine.outcome import Completed, Failed
from engine.runtime.fan_plan import branches_of, in_a_row
from engine.states import RunStatus
from engine.store.store import Store
from tests.kit.engine import Rig, Script, real_rig, scripted

EACH = RouterNode(
    name="r", kind=NodeKind.ROUTER, mode=RouterMode.FAN_OUT_EACH, element="it", key="id", depends_on="needs"
)
EDGE = Edge(0, "r", "work")

BOTH = """
router split:
  mode: fan_out_all
tool left:
  parallel_safe: true
  command: `echo left >> trace; {left}`
tool right:
  parallel_safe: true
  command: `echo right >> trace; {right}`
compute join:
  await: {strategy}
  expr:
    told: "length(input._failed_branches)"
workflow w:
  entry: split
  split -> left
  split -> right
  left -> join
  right -> join
  join -> done
"""


def both(left: str = "true", right: str = "true", strategy: str = "wait_all") -> str:
    return BOTH.replace("{left}", left).replace("{right}", right).replace("{strategy}", strategy)


def element(key: Any, *needs: str) -> dict[str, object]:
    return {"id": key, "needs": list(needs)}


@pytest.mark.parametrize(
    ("elements", "said"),
    [
        ([element("a", "b"), element("b", "a")], "wait for each other"),
        ([element("a", "a")], "waits for itself"),
        ([element("a", "z")], "no element"),
        ([element("a"), element("a")], "two elements"),
        ([element("a"), {"needs": []}], "no key"),
        ([element("")], "no key"),
        (["text"], "no key"),
        ([{"id": "a", "needs": "b"}], "no list"),
    ],
)
def test_a_bad_graph_of_elements_is_refused_before_any_branch(elements: list[object], said: str) -> None:
    """R225."""
    with pytest.raises(EvaluationError, match=said):
        branches_of(EACH, (EDGE,), elements)


@pytest.mark.parametrize(
    ("elements", "alone"),
    [
        ([element("a"), element("b", "a"), element("c", "b")], True),
        ([element("c", "a", "b"), element("b", "a"), element("a")], True),
        ([element("a"), element("b", "a"), element("c", "a")], False),
        ([element("a"), element("b")], False),
        ([element("a")], True),
        ([], True),
    ],
)
def test_elements_that_wait_for_each_other_one_by_one_never_run_at_once(elements: list[object], alone: bool) -> None:
    """9.5, language.md 7.7: such branches may write the workspace."""
    assert in_a_row(branches_of(EACH, (EDGE,), elements)) is alone


def test_a_chain_of_elements_may_write_the_workspace(engine: Rig) -> None:
    """9.5: nothing is marked; a fork in the chain is WORKSPACE_SAFETY before any branch starts."""
    text = """
vars:
  items: json
router spread:
  mode: fan_out_each
  over: "{{vars.items}}"
  as: it
  key: id
  depends_on: needs
tool work:
  command: `echo {{outputs.spread.it.id}} >> trace`
compute join:
  await: wait_all
  expr:
    x: "1"
workflow w:
  entry: spread
  spread -> work -> join -> done
"""
    chain = [element("b", "a"), element("a"), element("c", "b")]
    assert engine.run(text, typed_vars={"items": chain}).status == RunStatus.FINISHED
    assert engine.trace() == ["a", "b", "c"]
    fork = [*chain, element("d", "a")]
    assert engine.run(text, "r2", typed_vars={"items": fork}).failure_code == FailureCode.WORKSPACE_SAFETY
    assert engine.trace() == ["a", "b", "c"]


def test_branches_are_named_by_target_or_by_place() -> None:
    assert [each.id for each in branches_of(EACH, (EDGE,), [element("x"), element("y", "x")])] == [
        "branch_r_0",
        "branch_r_1",
    ]
    all_ = RouterNode(name="r", kind=NodeKind.ROUTER)
    assert [each.id for each in branches_of(all_, (EDGE,), None)] == ["branch_r_work"]


def test_both_branches_run_and_the_join_once(engine: Rig) -> None:
    """R484: outputs at the join; events in pairs, each with its branch."""
    assert engine.run(both()).status == RunStatus.FINISHED
    assert sorted(engine.trace()) == ["left", "right"]
    assert len(engine.events("branch_started")) == len(engine.events("branch_finished")) == 2
    branches = {event.branch_id for event in engine.events("node_finished") if event.node_id in ("left", "right")}
    assert branches == {"branch_split_left", "branch_split_right"}
    assert set(engine.outputs()) == {"split", "left", "right", "join"}
    assert engine.head().parallel == {}


def test_one_failure_fails_the_run_at_the_router(store: Store, engine: Rig) -> None:
    """R214, R221: the shared code is kept; a resume leaves the finished branch alone."""
    record = engine.run(both(right="test -e ok"))
    assert (record.status, record.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.EXECUTION_FAILED)
    assert (engine.head().node_id, engine.head().completed) == ("split", False)
    assert "branch_split_right" in record.error
    engine.write("ok")
    assert engine.resume().status == RunStatus.FINISHED
    assert sorted(engine.trace()) == ["left", "right", "right"]
    assert len(engine.events("branch_started")) == len(engine.events("branch_finished"))


def test_failures_of_two_kinds_are_a_plain_failure(engine: Rig) -> None:
    record = engine.run(both("exit 127", "exit 3", "wait_all"))
    codes = {event.data.get("error") for event in engine.events("branch_finished")}
    assert record.failure_code in (FailureCode.EXECUTION_FAILED, FailureCode.TOOL_FAILED_PERMANENT)
    assert codes


def test_an_ambiguous_branch_makes_the_run_ambiguous(engine: Rig) -> None:
    """9.4: whatever else failed."""
    script = Script(Failed(FailureCode.AMBIGUOUS_EFFECT, "lost"))
    rig = engine.other(**scripted(script, NodeKind.TOOL))
    assert rig.run(both()).failure_code == FailureCode.AMBIGUOUS_EFFECT


def test_best_effort_goes_on_and_tells_the_join(engine: Rig) -> None:
    """R220, R046."""
    assert engine.run(both(right="exit 4", strategy="best_effort")).status == RunStatus.FINISHED
    join = engine.outputs()["join"]
    assert join["told"] == 1
    assert join["_failed_branches"][0]["branch_id"] == "branch_split_right"
    assert engine.events("join_ready")[0].data["strategy"] == "best_effort"


def test_a_budget_in_a_branch_has_no_grace_and_stops_at_the_router(engine: Rig) -> None:
    """R197."""
    script = Script(Completed({"x": 1}, cost_usd=1.0))
    rig = engine.other(**scripted(script, NodeKind.TOOL))
    text = both().replace("  left -> join", "  left -> more\n  more -> join") + (
        "tool more:\n  parallel_safe: true\n  command: `true`\n"
    )
    record = rig.run(text, ask={"max_cost_usd": 1.0})
    assert (record.status, record.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.BUDGET_EXCEEDED)
    assert rig.head().node_id == "split"
    assert not rig.events("budget_exit_grace")


def test_a_question_in_a_branch_pauses_the_run_and_only_that_branch_goes_on(engine: Rig) -> None:
    """R223."""
    text = """
schema answer:
  text: string
router split:
  mode: fan_out_all
tool left:
  parallel_safe: true
  command: `echo left >> trace`
human gate:
  output: answer
tool after:
  parallel_safe: true
  command: `echo after {{outputs.gate.text}} >> trace`
compute join:
  await: wait_all
  expr:
    t: "outputs.gate.text"
workflow w:
  entry: split
  split -> left
  split -> gate
  gate -> after
  left -> join
  after -> join
  join -> done
"""
    record = engine.run(text)
    pending = engine.head().pending
    assert record.status == RunStatus.PAUSED_WAITING_HUMAN
    assert (engine.head().node_id, pending and pending.node_id) == ("split", "gate")
    assert engine.resume(texts={"text": "fine"}).status == RunStatus.FINISHED
    assert engine.trace() == ["left", "after fine"]
    assert engine.outputs()["join"] == {"t": "fine"}


def test_questions_of_two_branches_are_asked_one_after_the_other(engine: Rig) -> None:
    """9.4: one question is open at a time; no two branches share one."""
    text = """
schema answer:
  text: string
vars:
  items: json = `["a", "b"]`
router spread:
  mode: fan_out_each
  over: "{{vars.items}}"
human gate:
  output: answer
compute join:
  await: wait_all
  expr:
    t: "outputs.gate.text"
workflow w:
  entry: spread
  spread -> gate
  gate -> join
  join -> done
"""
    assert engine.run(text).status == RunStatus.PAUSED_WAITING_HUMAN
    first = engine.head().pending
    assert engine.resume(texts={"text": "one"}).status == RunStatus.PAUSED_WAITING_HUMAN
    second = engine.head().pending
    assert first is not None
    assert second is not None
    assert first.interaction_id != second.interaction_id
    assert engine.resume(texts={"text": "two"}).status == RunStatus.FINISHED
    assert engine.outputs()["join"] == {"t": "two"}


def test_artifacts_of_branches_never_share_a_version(engine: Rig) -> None:
    text = """
vars:
  items: json = `[1, 2, 3]`
router spread:
  mode: fan_out_each
  over: "{{vars.items}}"
compute make:
  publish: plan
  expr:
    n: "outputs.spread.item"
compute join:
  await: wait_all
  expr:
    n: "artifacts.plan.n"
workflow w:
  entry: spread
  spread -> make
  make -> join
  join -> done
"""
    assert engine.run(text).status == RunStatus.FINISHED
    versions = engine.store.artifacts.versions("r1")
    assert sorted(each.version for each in versions) == [0, 1, 2]


def test_a_cancel_while_branches_work_is_anchored_at_the_router(store: Store, tmp_path: Any) -> None:
    """R215: the groups are gone, the run resumes."""
    rig = real_rig(store, tmp_path)

    def cancel_when_started() -> None:
        never = threading.Event()
        while len(rig.trace()) < 2:
            never.wait(0.02)
        rig.engine.cancel("r1", "enough")

    killer = threading.Thread(target=cancel_when_started)
    killer.start()
    record = rig.run(both("test -e ok || sleep 30", "test -e ok || sleep 30"))
    killer.join()
    assert (record.status, rig.head().node_id) == (RunStatus.CANCELLED, "split")
    rig.write("ok")
    assert rig.resume().status == RunStatus.FINISHED


CHILD = """
vars:
  n: int
tool work:
  command: `echo child {{vars.n}} >> trace; test -e ok`
compute out:
  expr:
    double: "vars.n * 2"
workflow child:
  entry: work
  work -> out
  out -> done
"""
PARENT = """
tool first:
  command: `echo first >> trace`
subbot call:
  source: "child.bot"
  with { n: "4" }
workflow parent:
  entry: first
  first -> call
  call -> done
"""


def test_a_childs_output_is_its_nodes(engine: Rig) -> None:
    """9.6: a run of its own, its output taken, its pointer cleared."""
    engine.bot(CHILD, "child.bot")
    engine.write("ok")
    assert engine.run(PARENT).status == RunStatus.FINISHED
    assert engine.outputs()["call"] == {"double": 8}
    child = next(each for each in engine.store.runs.list().records if each.parent_id == "r1")
    assert (child.status, child.workflow) == (RunStatus.FINISHED, "child")
    assert engine.store.runs.get("r1").children == {}


def test_a_failed_child_is_replaced_by_a_fresh_one(engine: Rig) -> None:
    """R227."""
    engine.bot(CHILD, "child.bot")
    record = engine.run(PARENT)
    assert (record.status, record.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.EXECUTION_FAILED)
    assert engine.head().node_id == "call"
    engine.write("ok")
    assert engine.resume().status == RunStatus.FINISHED
    assert engine.trace() == ["first", "child 4", "child 4"]
    assert len([each for each in engine.store.runs.list().records if each.parent_id == "r1"]) == 2


@pytest.mark.parametrize("code", [FailureCode.PROCESS_ORPHANED, FailureCode.INTERRUPTED])
def test_a_child_that_only_lost_its_place_goes_on_as_itself(engine: Rig, code: FailureCode) -> None:
    """Decision 7: promoted or interrupted with its parent, it repeats no finished node, whoever found it first."""
    _stopped_at_late(engine, code)
    assert engine.resume().status == RunStatus.FINISHED
    assert engine.trace() == ["first", "child 4"]
    assert engine.outputs()["call"] == {"double": 8}


def test_a_child_that_lost_its_place_and_its_program_is_replaced(engine: Rig) -> None:
    """Nothing says that the work of another program is of use."""
    _stopped_at_late(engine, FailureCode.PROCESS_ORPHANED)
    engine.bot(CHILD, "child.bot")
    assert engine.resume().status == RunStatus.FINISHED
    assert engine.trace() == ["first", "child 4", "child 4"]


def _stopped_at_late(engine: Rig, code: FailureCode) -> None:
    """Run until the child fails at its second node, then let its record say that only its place was lost."""
    child = CHILD.replace("; test -e ok`", "`").replace("work -> out", "work -> late -> out")
    engine.bot(child + "tool late:\n  command: `test -e ok`\n", "child.bot")
    assert engine.run(PARENT).status == RunStatus.FAILED_RESUMABLE
    with engine.store.database.write() as connection:
        connection.execute(sql("UPDATE run SET failure_code = :code WHERE parent_id = 'r1'"), {"code": str(code)})
    engine.write("ok")


def test_a_waiting_child_parks_its_parent_and_is_adopted(engine: Rig) -> None:
    """R226: no second child."""
    engine.bot(
        'vars:\n  n: int\nhuman gate:\n  description: "x"\nworkflow child:\n  entry: gate\n  gate -> done\n',
        "child.bot",
    )
    assert engine.run(PARENT).status == RunStatus.PAUSED_OPERATOR
    told = engine.events("run_paused")[0].data
    assert told["reason"] == "child_waiting"
    assert engine.resume().status == RunStatus.PAUSED_OPERATOR
    child = str(told["child_run_id"])
    assert engine.resume(child, answers={"double": 21}).status == RunStatus.FINISHED
    assert engine.resume().status == RunStatus.FINISHED
    assert engine.outputs()["call"] == {"double": 21}
    assert len(engine.store.runs.list().records) == 2
