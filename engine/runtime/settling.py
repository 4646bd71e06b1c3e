"""From an outcome to what the line owes the store, or to the ending of the attempt.

Called by ``step`` as its last verb. It changes the state and describes endings; the commit itself is ``writing``.
Implements engine.md 3.4, 4.4, 6.5 and 10.2.
"""

from __future__ import annotations

from dataclasses import replace

from engine.checkpoint import ArtifactVersion, Interaction, OutputRow, PendingQuestion
from engine.dsl.graph import NodeKind, RouterMode, RouterNode, SignalNode
from engine.events import EventType, NewEvent
from engine.outcome import CHILD_WAITING, RECOVERY, Completed, Failed, Outcome, Paused, Question
from engine.runtime.attempt import Line
from engine.runtime.budget import to_warn
from engine.runtime.ending import Ending, asked, failed_resumable, paused_operator, stopped
from engine.runtime.preparing import Step, question_id
from engine.runtime.state import FAN_OUT


def settle(line: Line, step: Step, outcome: Outcome) -> Ending | None:
    """None when the node completed and the line goes on; otherwise how the attempt ends."""
    if isinstance(outcome, Completed):
        complete(line, step, outcome)
        return None
    cause = line.attempt.stop.cause
    if cause is not None:
        return stopped(step.node.name, cause)
    if isinstance(outcome, Paused):
        return pause(line, step, outcome.question)
    return _fail(step, outcome)


def complete(line: Line, step: Step, outcome: Completed, *, answered: bool = False) -> None:
    """Record the output, book the spend, publish, warn; the head of this boundary is taken before any edge is."""
    state, name = line.state, step.node.name
    duration_ms = int((line.attempt.clock.monotonic() - step.started) * 1000)
    state.recovery_counts.pop(name, None)
    if told := state.failed.pop(name, None):
        outcome = replace(outcome, output={**outcome.output, "_failed_branches": told})
    state.record(name, outcome.output)
    state.meter.charge(outcome.tokens, outcome.cost_usd)
    state.owed.outputs.append(
        OutputRow(
            name,
            outcome.output,
            line.branch,
            step.path,
            step.iteration,
            outcome.tokens,
            outcome.cost_usd,
            duration_ms,
        )
    )
    data: dict[str, object] = {"output": outcome.output, "duration_ms": duration_ms}
    if outcome.tokens or outcome.cost_usd:
        data |= {"tokens": outcome.tokens, "cost_usd": outcome.cost_usd}
        state.owed.spend = ((line.attempt.run_id, state.base.cost_usd),)
    if answered:
        data["answered"] = True
    state.note(EventType.NODE_FINISHED, name, **data)
    for warning in outcome.warnings:
        line.attempt.runlog.alert(warning)
    if step.node.publish:
        _publish(line, step, outcome)
    if isinstance(step.node, SignalNode):
        _signal(line, step.node, outcome)
    _warn(line, name)
    spreads = isinstance(step.node, RouterNode) and step.node.mode in FAN_OUT
    if isinstance(step.node, RouterNode) and step.node.mode is RouterMode.ROUND_ROBIN:
        _turn(line, name)
    state.owed.head = state.head(name, completed=not spreads)


def _signal(line: Line, node: SignalNode, outcome: Completed) -> None:
    """An event is emitted with the commit of its node; a ``wait`` has heard one more."""
    if node.kind is NodeKind.EMIT:
        line.state.owed.fired.append((node.event, outcome.output))
    elif node.kind is NodeKind.WAIT:
        line.state.heard[node.name] = line.state.heard.get(node.name, 0) + 1


def _publish(line: Line, step: Step, outcome: Completed) -> None:
    state, name = line.state, step.node.publish
    before = state.artifacts.get(name)
    version = state.meter.next_version(name, before.version if before else -1)
    made = ArtifactVersion(name, step.node.name, version, outcome.output, step.node.artifact_labels)
    state.artifacts[name] = made
    state.published[name] = outcome.output
    state.owed.artifacts.append(made)
    data = {"publish": name, "version": version, "labels": list(made.labels)}
    state.note(EventType.ARTIFACT_WRITTEN, step.node.name, **data)


def _warn(line: Line, node: str) -> None:
    """``budget_warning``, once per axis from 80 percent on, and once for the advisory token count."""
    state, caps = line.state, line.attempt.caps
    if caps.limited:
        for reading in to_warn(state.spent(), caps, state.warned):
            state.warned = (*state.warned, str(reading.axis))
            data = {"dimension": str(reading.axis), "used": reading.used, "limit": reading.limit}
            state.note(EventType.BUDGET_WARNING, node, **data)
    if caps.warn_tokens and state.base.tokens >= caps.warn_tokens and "warn_tokens" not in state.warned:
        state.warned = (*state.warned, "warn_tokens")
        data = {"dimension": "tokens", "advisory": True, "used": state.base.tokens, "limit": caps.warn_tokens}
        state.note(EventType.BUDGET_WARNING, node, **data)


def _turn(line: Line, router: str) -> None:
    """Move a round-robin router on and drop the recorded outputs of the targets that it did not choose."""
    state = line.state
    edges = [edge for edge in line.attempt.graph.outgoing(router) if not edge.conditional]
    if not edges:
        return
    position = state.round_robin.get(router, 0)
    state.round_robin[router] = position + 1
    chosen = edges[position % len(edges)].target
    state.hide(frozenset(edge.target for edge in edges if edge.target != chosen))


def pause(line: Line, step: Step, question: Question) -> Ending:
    """The question, its interaction and the head of the paused node in one commit."""
    attempt, name = line.attempt, step.node.name
    if question.kind == CHILD_WAITING:
        return paused_operator(name, {"reason": CHILD_WAITING, **question.questions})
    identity = question_id(line, step)
    form = (question.fields, question.instructions, question.min_answers)
    pending = PendingQuestion(identity, name, question.kind, question.questions, *form)
    stored = Interaction(
        id=identity,
        run_id=attempt.run_id,
        node_id=name,
        kind=question.kind,
        questions=question.questions,
        fields=question.fields,
        answers=None,
        asked_at=attempt.clock.now(),
        answered_at=None,
        retired_at=None,
    )
    data: dict[str, object] = {
        "interaction_id": identity,
        "questions": dict(question.questions),
        "source": question.kind,
    }
    if question.instructions:
        data["instructions"] = question.instructions
    if question.min_answers:
        data["min_answers"] = question.min_answers
    events = [NewEvent(EventType.HUMAN_INPUT_REQUESTED, name, data=data)]
    head: dict[str, object] = {}
    if question.kind == RECOVERY:
        code = str(question.questions.get("recovery_code", ""))
        head = {"recovery_pause": True, "recovery_code": code}
        reason = question.questions.get("recovery_reason", "")
        started = {"kind": "recovery_pause", "iteration": step.iteration, "recovery_code": code}
        started["recovery_reason"] = str(reason)
        events.insert(0, NewEvent(EventType.NODE_STARTED, name, data=started))
    return replace(asked(name, pending, tuple(events), **head), question=stored)


def _fail(step: Step, outcome: Failed) -> Ending:
    ending = failed_resumable(step.node.name, str(outcome.code), outcome.message)
    return replace(ending, retry_after=outcome.retry_after)
