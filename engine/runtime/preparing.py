"""What a node gets before it runs: its input, its time limit, its place in the loops.

Called by ``step``; makes a frozen ``Step`` and, for each execution, the context that the node sees. Implements
language.md 7.8 and engine.md 12.4 (the smallest limit wins).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from engine.checkpoint import interaction_id
from engine.dsl.durations import DurationError, parse_duration
from engine.dsl.environment import expand
from engine.dsl.graph import AgentNode, Edge, Mapped, Node, NodeKind, SignalNode, ToolNode
from engine.dsl.rendering import value
from engine.failures import FailureCode
from engine.nodes.base import Limit, NodeContext, no_questions
from engine.outcome import Question
from engine.runtime.attempt import Line
from engine.runtime.budget import remaining_duration
from engine.runtime.classify import NodeFailure
from engine.runtime.gates import grace_of
from engine.runtime.inputs import build_input, participating
from engine.runtime.loops import iterations


@dataclass(frozen=True, slots=True)
class Leased:
    """What a node holds while it runs: resource -> place, and the descriptors of the locks."""

    places: Mapping[str, str] = field(default_factory=dict)
    descriptors: tuple[int, ...] = ()


NOTHING = Leased()


@dataclass(frozen=True, slots=True)
class Step:
    """One execution of a node: what goes in, where in the loops, since when (monotonic seconds).

    ``resumed`` marks the node at which a resume starts again; ``leased`` is what it holds (engine.md 9.5).
    """

    node: Node
    input: Mapping[str, object]
    loops: tuple[tuple[str, int], ...]
    started: float
    resumed: bool = False
    leased: Leased = NOTHING

    @property
    def iteration(self) -> int:
        """Crossings of the innermost loop around the node."""
        return self.loops[-1][1] if self.loops else 0

    @property
    def path(self) -> str:
        """The iteration as text: empty outside loops, a number in one loop, an encoded path in several."""
        return iteration_path(self.loops)


def iteration_path(loops: tuple[tuple[str, int], ...]) -> str:
    """The iteration as text: empty outside loops, a number in one loop, an encoded path in several."""
    if len(loops) <= 1:
        return str(loops[0][1]) if loops else ""
    return "-".join(f"{name}.{count}" for name, count in loops)


def prepare(line: Line, node: Node, *, resumed: bool = False) -> Step:
    """The step of ``node`` at this moment. Raises EvaluationError when a mapping cannot be computed."""
    attempt, state = line.attempt, line.state
    edges = participating(
        attempt.graph.incoming.get(node.name, ()), state.incoming.get(node.name, ()), state.outputs.__contains__
    )
    base = state.vars if node.name == attempt.graph.entry else {}

    def render(mapped: Mapped, edge: Edge) -> object:
        return value(mapped.value, line.scopes.at(state.outputs.get(edge.source, {})))

    loops = iterations(attempt.loops.loops_of(node.name), state.loops)
    input_ = build_input(base, edges, render)
    if told := state.failed.get(node.name):
        input_["_failed_branches"] = told
    return Step(node, input_, loops, attempt.clock.monotonic(), resumed)


def question_id(line: Line, step: Step) -> str:
    """The id of the question that the step may ask."""
    identity = interaction_id(line.attempt.run_id, step.node.name, step.loops)
    return f"{identity}_{line.branch.replace('/', '_')}" if line.branch else identity


def context_of(line: Line, step: Step, ask: Callable[[Question], str] = no_questions) -> NodeContext:
    """What the node sees of the run in this execution; ``ask`` as in ``NodeContext``."""
    attempt = line.attempt
    places = _places(line, step)
    return NodeContext(
        run_id=attempt.run_id,
        graph=attempt.graph,
        node=step.node,
        input=step.input,
        scope=line.scopes.at(step.input),
        folders=attempt.folders,
        limit=limit_of(line, step.node),
        stop=attempt.stop,
        watcher=attempt.stop.signs,
        clock=attempt.clock,
        lock_fd=attempt.lock_fd,
        environment={**attempt.environment, **places} if places else attempt.environment,
        label=f"{step.node.name}{'-' + step.path if step.path else ''}",
        warn=attempt.runlog.alert,
        log=attempt.runlog.block,
        output_cap=attempt.settings.output_cap,
        answered=_answered(line, step),
        held=(*step.leased.descriptors, *(each.descriptor for each in attempt.lent.values())) if places else (),
        ask=ask,
        clean=attempt.settings.clean,
    )


def _places(line: Line, step: Step) -> dict[str, str]:
    """The places that a process of the node may use, by the names of their variables."""
    if not line.attempt.lent and not step.leased.places:
        return {}
    places = {**{name: each.place for name, each in line.attempt.lent.items()}, **step.leased.places}
    return {f"{PLACE_VARIABLE}{name.upper()}": place for name, place in places.items()}


def _answered(line: Line, step: Step) -> Mapping[str, object] | None:
    """Answers recorded for this very iteration before the run stopped (engine.md 7.5, "answered earlier")."""
    if not step.resumed or step.node.kind is not NodeKind.HUMAN:
        return None
    found = line.attempt.store.interactions.get(line.attempt.run_id, step.node.name, question_id(line, step))
    if found is None or found.answers is None or found.retired_at is not None:
        return None
    return found.answers


PLACE_VARIABLE = "POINTSMAN_RESOURCE_"
"""Start of the variable that tells a process which place of a resource its node holds."""


def limit_of(line: Line, node: Node) -> Limit:
    """The smallest of the node's own timeout, the attempt's rest, the budget's rest and the ceiling of one process."""
    outer, own = run_limit(line), own_timeout(node, line.attempt.environment)
    if own and own < outer.seconds:
        return Limit(own, FailureCode.TIMEOUT, f"the node's timeout of {own:g} s")
    return outer


def run_limit(line: Line) -> Limit:
    """The smallest limit that is not the node's own."""
    attempt = line.attempt
    ceiling = _ceiling(attempt.settings.process_timeout)
    if attempt.deadline is None and not attempt.caps.duration:
        return ceiling
    limits = [ceiling]
    if attempt.deadline is not None:
        rest = max(0.001, attempt.deadline - attempt.clock.monotonic())
        limits.append(Limit(rest, FailureCode.TIMEOUT, "--timeout"))
    rest_of_budget = remaining_duration(line.state.spent(), attempt.caps, grace_of(line))
    if rest_of_budget is not None:
        text = f"max_duration of {attempt.caps.duration:g} s"
        limits.append(Limit(max(0.001, rest_of_budget), FailureCode.BUDGET_EXCEEDED, text))
    return min(limits, key=lambda limit: limit.seconds)


@cache
def _ceiling(seconds: float) -> Limit:
    return Limit(seconds, FailureCode.TIMEOUT, "the ceiling of one process")


def own_timeout(node: Node, environment: Mapping[str, str]) -> float:
    """The node's own limit in seconds, 0 for none; an environment form is read now (language.md 2.6).

    Raises NodeFailure where it gives no duration: a node that is to have a limit never runs without one.
    """
    if not isinstance(node, ToolNode | AgentNode | SignalNode):
        return 0.0
    if node.timeout or not node.timeout_text:
        return node.timeout
    text = expand(node.timeout_text, environment)
    if not text and not isinstance(node, SignalNode):
        return 0.0
    try:
        return parse_duration(text)
    except DurationError as problem:
        told = f'the timeout of node {node.name}, {node.timeout_text}, is "{text}" here, which is no duration'
        raise NodeFailure(FailureCode.EXPRESSION_FAILED, f"{told}; give one such as 20m") from problem
