"""Running a node and its recovery in place: from a prepared step to an outcome.

Called by ``step``. Holds one of the two broad excepts of the system: whatever a node raises becomes a failed outcome.
Waiting between two tries can be woken by a stop. Implements engine.md 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from engine.dsl.graph import NodeKind, ToolNode, ValueType
from engine.dsl.values import check_output
from engine.events import EventType
from engine.failures import FailureCode
from engine.nodes.base import NodeContext
from engine.outcome import RECOVERY, Completed, Failed, Outcome, Paused, Question
from engine.ports import as_it_is
from engine.runtime.async_questions import Asked, collect
from engine.runtime.attempt import Line
from engine.runtime.budget import REFUSE_AT, Axis, readings
from engine.runtime.classify import classify
from engine.runtime.hearing import hear
from engine.runtime.holding import leased
from engine.runtime.performing import perform, with_row
from engine.runtime.preparing import Step, context_of
from engine.runtime.recovery import Recovery, RecoveryDecision, decide, recipe_of
from engine.runtime.subbot import run_child
from engine.runtime.writing import save_recovery

LOOK = 1.0
"""Seconds between two signs of life of a run that waits before its next try."""
ACKNOWLEDGE = "acknowledge_recovery"
"""The field that answers a recovery pause (engine.md 6.5)."""

RUN_HERE: Mapping[NodeKind, Callable[[Line, Step], Outcome]] = MappingProxyType(
    {NodeKind.SUBBOT: run_child, NodeKind.WAIT: hear, NodeKind.AWAIT_ANSWERS: collect}
)
"""Kinds of nodes that need more than a ``NodeContext``: a run of their own, the events of the run."""


def execute(line: Line, step: Step) -> Outcome:
    """The outcome of the node after its recipe has ended. Never raises for what the node does."""
    while True:
        outcome = _once(line, step)
        if isinstance(outcome, Failed):
            _book(line, outcome)
            outcome = with_row(line, step, outcome)
        if not isinstance(outcome, Failed) or line.attempt.stop.is_set():
            return outcome
        decision = _recover(line, step, outcome)
        if decision.action is Recovery.FAIL:
            return outcome
        if decision.action is Recovery.PAUSE:
            return Paused(_recovery_question(step, outcome, decision.reason))
        if _stopped_within(line, decision.delay):
            return outcome


def _stopped_within(line: Line, seconds: float) -> bool:
    """Wait before the next try; whether a stop ended it. However long a forge asks to wait, that is no stall."""
    clock, stop = line.attempt.clock, line.attempt.stop
    until = clock.monotonic() + seconds
    while (left := until - clock.monotonic()) > 0:
        stop.signs.seen()
        if clock.wait(stop.event, min(left, LOOK)):
            return True
    return stop.event.is_set()


def _once(line: Line, step: Step) -> Outcome:
    return _without_secrets(line, _tried(line, step))


def _without_secrets(line: Line, outcome: Outcome) -> Outcome:
    """What the node gave back, as it may be stored, shown and handed on (connectors.md 17)."""
    clean = cast("Callable[[Any], Any]", line.attempt.settings.clean)
    if clean is as_it_is:
        return outcome
    if isinstance(outcome, Completed):
        return replace(outcome, output=clean(outcome.output), warnings=tuple(clean(outcome.warnings)))
    if isinstance(outcome, Failed):
        return replace(outcome, message=clean(outcome.message))
    asked = outcome.question
    shown = replace(asked, questions=clean(asked.questions), instructions=clean(asked.instructions))
    return replace(outcome, question=shown)


def _tried(line: Line, step: Step) -> Outcome:
    try:
        if not step.node.needs:
            return _run(line, step)
        with leased(line, step) as held:
            return _run(line, replace(step, leased=held))
    except Exception as problem:  # noqa: BLE001 - nodes never raise past here; everything becomes an outcome
        return classify(problem)


def _run(line: Line, step: Step) -> Outcome:
    run, here = line.attempt.nodes[step.node.kind], RUN_HERE.get(step.node.kind)
    if run is not None:
        return run(_context(line, step))
    if here is not None:
        return here(line, step)
    return Failed(FailureCode.CAPABILITY_UNSUPPORTED, f"this build does not run {step.node.kind} nodes")


def _context(line: Line, step: Step) -> NodeContext:
    """What the node sees; a connector's operation also gets the way to make its call."""
    context = context_of(line, step, Asked(line, step).ask_later)
    if not isinstance(step.node, ToolNode) or not step.node.action:
        return context
    known = line.attempt.settings.around.catalogue or {}
    return replace(context, operations=known, perform=partial(perform, line, step))


def check_schema(line: Line, step: Step, outcome: Outcome) -> Outcome:
    """A completed output against the node's declared schema, normalised; a misfit names its fields.

    It is SCHEMA_VALIDATION, of a compute node EXPRESSION_FAILED (language.md 5.3). Answers were checked before.
    """
    schema = line.attempt.graph.schema_of(step.node.output)
    if schema is None or not isinstance(outcome, Completed) or step.node.kind is NodeKind.HUMAN:
        return outcome
    computed = step.node.kind is NodeKind.COMPUTE
    checked = check_output(schema.fields, outcome.output, computed=computed)
    if not checked.problems:
        return replace(outcome, output=checked.value)
    code = FailureCode.EXPRESSION_FAILED if computed else FailureCode.SCHEMA_VALIDATION
    text = f"the output of node {step.node.name} does not fit schema {schema.name}: {checked.problem}"
    return Failed(code, text)


def _book(line: Line, failed: Failed) -> None:
    """The spend of a failed try: to the run's budget and to the day, with whatever is written next."""
    if failed.tokens or failed.cost_usd:
        line.state.meter.charge(failed.tokens, failed.cost_usd, executions=0)
        line.state.owed.spend = ((line.attempt.run_id, line.state.base.cost_usd),)


def _recover(line: Line, step: Step, failed: Failed) -> RecoveryDecision:
    """Choose by the recipe, count, and put the choice on the timeline before anything waits."""
    code, name = str(failed.code), step.node.name
    if failed.deliberate or _cut_off(line, code):
        return RecoveryDecision(Recovery.FAIL, "not repeated in place")
    counts = line.state.recovery_counts.get(name, {})
    count = counts.get(code, 0)
    roll = int(line.attempt.ids.new()[-6:], 16) / 0xFFFFFF
    decision = decide(recipe_of(code, step.node), count, retry_after=failed.retry_after, roll=roll)
    if decision.action is Recovery.FAIL:
        return decision
    line.state.recovery_counts[name] = {**counts, code: count + 1}
    data: dict[str, object] = {"code": code, "reason": decision.reason, "attempt": count + 1, "error": failed.message}
    if decision.action is Recovery.RETRY:
        data["delay_ms"] = int(decision.delay * 1000)
        if code == FailureCode.CONTEXT_LENGTH_EXCEEDED:
            line.attempt.runlog.alert(f"the backend of node {name} cannot compact; it is tried again as it is")
    line.state.note(EventType.NODE_RECOVERY, name, **data)
    save_recovery(line, name)
    return decision


def _cut_off(line: Line, code: str) -> bool:
    """Whether a budget failure is the deadline of ``max_duration``: no recipe, the run stops (engine.md 6.3)."""
    if code != FailureCode.BUDGET_EXCEEDED:
        return False
    found = readings(line.state.spent(), line.attempt.caps)
    return any(reading.axis is Axis.DURATION and reading.ratio >= REFUSE_AT for reading in found)


def _recovery_question(step: Step, failed: Failed, reason: str) -> Question:
    """What a recovery pause asks (engine.md 6.5)."""
    questions: dict[str, object] = {
        "recovery_code": str(failed.code),
        "recovery_reason": reason,
        "last_error": failed.message,
        "last_error_details": {"code": str(failed.code), "message": failed.message, "node_id": step.node.name},
    }
    field = {"name": ACKNOWLEDGE, "type": str(ValueType.STRING)}
    return Question(RECOVERY, questions, (field,), f"Node {step.node.name} failed: {failed.message}")
