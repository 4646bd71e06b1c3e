"""Leaving a finished node: the edge is chosen, its loops move, and the target says whether the line goes on.

Called by ``loop`` after a step, and first of all by a resume from a completed anchor: the same stored values lead to
the same choice (engine.md 3.5). Implements engine.md 4.4 and 9.1 and language.md 7.3 to 7.5.
"""

from __future__ import annotations

from engine.dsl.expressions import EvaluationError, evaluate
from engine.dsl.graph import DONE, FAIL, TERMINALS, Edge, FailNode, Graph, RouterMode, RouterNode
from engine.dsl.textform import truthy
from engine.events import EventType
from engine.failures import FailureCode
from engine.nodes.fail import DEFAULT_TEXT
from engine.outcome import Failed
from engine.runtime.attempt import Line
from engine.runtime.budget import affordable
from engine.runtime.edges import Choice, PassedOver, choose
from engine.runtime.ending import Ending, failed, failed_resumable, finished
from engine.runtime.gates import check_overrun
from engine.runtime.loops import SpentReason, cross, entered, spent_because
from engine.runtime.preparing import context_of, prepare


def leave(line: Line, node: str) -> str | Ending:
    """The next node, or how the line ends after ``node``, whose output is recorded."""
    router = line.attempt.graph.nodes.get(node)
    if router is None:
        return failed_resumable(node, FailureCode.NODE_NOT_FOUND, f"node {node} is not in the graph")
    if isinstance(router, RouterNode) and (overrun := check_overrun(line, node)):
        return overrun
    try:
        choice = _turned(line, node) if _by_turns(router) else _chosen(line, node)
    except EvaluationError as problem:
        return failed_resumable(node, FailureCode.EXPRESSION_FAILED, f"after node {node}: {problem.message}")
    for passed in choice.passed_over:
        _note_passed(line, passed)
    if choice.edge is None:
        return failed_resumable(node, str(choice.code), choice.reason)
    follow(line, choice.edge)
    return arrive(line, choice.edge)


def _by_turns(node: object) -> bool:
    return isinstance(node, RouterNode) and node.mode is RouterMode.ROUND_ROBIN


def _chosen(line: Line, node: str) -> Choice:
    graph, scopes = line.attempt.graph, line.scopes
    output = line.state.outputs.get(node, {})

    def holds(edge: Edge) -> bool:
        if edge.when_expression is not None:
            return truthy(evaluate(edge.when_expression, scopes.at(output)))
        value = output.get(edge.when_field, False)
        if not isinstance(value, bool) and edge.when_field in output:
            line.attempt.runlog.alert(
                f"edge {edge.source} -> {edge.target}: field {edge.when_field} is no bool; its truth counts"
            )
        return truthy(value) is not edge.negated

    def spent(edge: Edge) -> SpentReason:
        loop = graph.loops[edge.loop]
        state = line.state.loop(edge.loop)
        bound = scopes.bound(loop, output)
        return spent_because(loop, state, bound, output, affordable=_affordable(line, edge.loop))

    return choose(node, graph.outgoing(node), holds, spent)


def _affordable(line: Line, loop: str) -> bool:
    caps = line.attempt.caps
    if not caps.limited or not line.attempt.graph.loop_budget_guard:
        return True
    return affordable(line.state.spent(), line.state.loop(loop).mark, caps)


def _turned(line: Line, node: str) -> Choice:
    """The choice that a round-robin router has stored: its counter has moved on already (engine.md 3.5)."""
    edges = tuple(edge for edge in line.attempt.graph.outgoing(node) if not edge.conditional)
    if not edges:
        return choose(node, (), lambda _: False, lambda _: SpentReason.NO)
    position = max(0, line.state.round_robin.get(node, 1) - 1) % len(edges)
    return Choice(edges[position], reason=f"its turn, position {position}")


def _note_passed(line: Line, passed: PassedOver) -> None:
    if passed.reason is SpentReason.BUDGET:
        data = {"reason": "loop_budget_guard", "loop": passed.edge.loop}
        line.state.note(EventType.BUDGET_WARNING, passed.edge.source, **data)
    elif passed.reason is SpentReason.STANDSTILL:
        line.state.note(EventType.LIVENESS_STALL, passed.edge.source, loop=passed.edge.loop)


def follow(line: Line, edge: Edge) -> None:
    """Take the edge: move its loop or enter loops anew, and put it on record for the input of its target."""
    state = line.state
    output = state.outputs.get(edge.source, {})
    if edge.loop:
        state.loops = {**state.loops, edge.loop: cross(state.loop(edge.loop), output, state.spent())}
    for name in line.attempt.loops.reset_by(edge.index):
        state.loops = {**state.loops, name: entered(state.spent())}
    came_from = state.incoming.get(edge.source)
    state.incoming = {edge.source: came_from} if came_from else {}
    state.incoming[edge.target] = (edge.index,)
    state.note(EventType.EDGE_SELECTED, edge.source, **_edge_data(line, edge))


def _edge_data(line: Line, edge: Edge) -> dict[str, object]:
    data: dict[str, object] = {"from": edge.source, "to": edge.target}
    if edge.when_field:
        data["condition"] = edge.when_field
        data["negated"] = edge.negated
    if edge.when_expression is not None:
        data["expression"] = edge.when_text or edge.when_expression.text
    if edge.loop:
        data["loop"] = edge.loop
        data["iteration"] = line.state.loop(edge.loop).crossings
    return data


def arrive(line: Line, edge: Edge) -> str | Ending:
    """What the target of a taken edge means: a node to run, or the end at ``done``, ``fail`` or a fail node."""
    if edge.target == DONE:
        return finished(edge.source)
    if edge.target == FAIL:
        return failed(FAIL, str(FailureCode.FAIL_NODE), DEFAULT_TEXT)
    target = line.attempt.graph.nodes.get(edge.target)
    return reach_fail(line, target) if isinstance(target, FailNode) else edge.target


def reach_fail(line: Line, node: FailNode) -> Ending:
    """The ending at a named fail node: resumable at its guard where there is exactly one (engine.md 4.4)."""
    run = line.attempt.nodes[node.kind]
    assert run is not None
    outcome = run(context_of(line, prepare(line, node)))
    assert isinstance(outcome, Failed)
    code = str(outcome.code)
    if not outcome.resumable:
        return failed(node.name, code, outcome.message)
    guard, why = guard_of(line.attempt.graph, line.state.incoming.get(node.name, ()), node.name)
    if guard:
        return failed_resumable(guard, code, outcome.message)
    text = f"fail node {node.name} is resumable, but {why}: the run has failed for good"
    line.attempt.runlog.alert(text)
    return failed(node.name, code, outcome.message)


def guard_of(graph: Graph, taken: tuple[int, ...], node: str) -> tuple[str, str]:
    """The node whose edge led into a fail node, or an empty name and why there is none to anchor on. Pure.

    ``taken`` are the indexes of the edges on record for the present visit.
    """
    sources = [edge.source for edge in graph.incoming.get(node, ()) if edge.index in taken]
    if not taken:
        return "", "no edge led into it"
    if len(taken) > 1:
        return "", f"{len(taken)} edges led into it"
    if not sources:
        return "", "its guard is unknown"
    if sources[0] in TERMINALS or isinstance(graph.nodes.get(sources[0]), FailNode):
        return "", f"its guard {sources[0]} is terminal itself"
    return sources[0], ""
