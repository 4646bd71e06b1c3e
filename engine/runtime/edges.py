"""The choice of an edge after a node: pure, over two questions that the caller answers.

Called by ``loop`` after every node but a fan-out, a round-robin or a model router. Implements language.md 7.2 and 7.3
and engine.md 9.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.dsl.graph import Edge
from engine.failures import FailureCode
from engine.runtime.loops import SpentReason


@dataclass(frozen=True, slots=True)
class PassedOver:
    """An edge that held but whose loop is spent."""

    edge: Edge
    reason: SpentReason


@dataclass(frozen=True, slots=True)
class Choice:
    """The edge taken, or the code and the reason why there is none."""

    edge: Edge | None
    code: FailureCode | None = None
    reason: str = ""
    passed_over: tuple[PassedOver, ...] = ()


def choose(
    node: str, edges: tuple[Edge, ...], holds: Callable[[Edge], bool], spent: Callable[[Edge], SpentReason]
) -> Choice:
    """The first conditional edge that holds and is not spent, else the first edge without condition that is not spent.

    ``holds`` is asked about conditional edges only, ``spent`` about edges with a loop clause that hold; each at most
    once per edge and in declaration order. What they raise passes through.
    """
    passed: list[PassedOver] = []
    for conditional in (True, False):
        for edge in edges:
            if edge.conditional is not conditional or (conditional and not holds(edge)):
                continue
            reason = spent(edge) if edge.loop else SpentReason.NO
            if reason is SpentReason.NO:
                return Choice(edge, reason=_taken(edge), passed_over=tuple(passed))
            passed.append(PassedOver(edge, reason))
    return _nothing(node, edges, tuple(passed))


def _taken(edge: Edge) -> str:
    if edge.conditional:
        return "its condition holds"
    return "it is the else edge" if edge.otherwise else "it has no condition"


def _nothing(node: str, edges: tuple[Edge, ...], passed: tuple[PassedOver, ...]) -> Choice:
    if passed:
        names = ", ".join(sorted({each.edge.loop for each in passed}))
        text = f"after node {node} only a spent loop matched ({names}) and no other edge leads on"
        return Choice(None, FailureCode.LOOP_EXHAUSTED, text, passed)
    if not edges:
        return Choice(None, FailureCode.NO_OUTGOING_EDGE, f"node {node} has no outgoing edge")
    return Choice(None, FailureCode.NO_OUTGOING_EDGE, f"no edge matches after node {node} ({len(edges)} looked at)")
