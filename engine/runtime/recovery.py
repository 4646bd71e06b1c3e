"""What to do with a failed node before the run stops: one table of recipes and one pure decision.

Called by ``step`` for every failed outcome. It waits for nothing and writes nothing. Implements engine.md 6.2 and 6.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from engine.dsl.graph import Node, NodeKind, RouterMode, RouterNode, ToolNode
from engine.failures import FailureCode


class Recovery(StrEnum):
    """What recovery chose."""

    RETRY = "retry"
    PAUSE = "pause"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Recipe:
    """Waits in seconds before each retry; ``jitter`` makes half of a wait random; ``pause`` asks a person instead."""

    delays: tuple[float, ...] = ()
    jitter: bool = False
    pause: bool = False


@dataclass(frozen=True, slots=True)
class RecoveryDecision:
    """The choice, its reason for the timeline, and the wait in seconds before a retry."""

    action: Recovery
    reason: str
    delay: float = 0.0


NO_RECIPE = Recipe()

RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        FailureCode.RATE_LIMITED: Recipe((4.0, 8.0, 16.0), jitter=True),
        FailureCode.CONTEXT_LENGTH_EXCEEDED: Recipe((0.1, 0.1)),
        FailureCode.BUDGET_EXCEEDED: Recipe(pause=True),
        FailureCode.TOOL_FAILED_TRANSIENT: Recipe((1.0, 2.0)),
        FailureCode.EXECUTION_FAILED: Recipe((2.0,)),
        FailureCode.NETWORK_TRANSIENT: Recipe((5.0, 10.0, 20.0, 40.0, 60.0, 60.0)),
        FailureCode.AUTH_FAILED: Recipe(pause=True),
    }
)
"""code -> recipe; a code without a row fails at once."""


def runs_command(node: Node) -> bool:
    """Whether the node runs a process of the author's, whose plain failure is never repeated in place."""
    return isinstance(node, ToolNode) and not node.action


def recipe_of(code: str, node: Node) -> Recipe:
    """The recipe of a code at this kind of node: a plain failure is repeated only where a model or a forge answers.

    A child run has had its own recoveries.
    """
    if node.kind is NodeKind.SUBBOT or (code == FailureCode.EXECUTION_FAILED and not _asks_somebody(node)):
        return NO_RECIPE
    return RECIPES.get(code, NO_RECIPE)


def _asks_somebody(node: Node) -> bool:
    if node.kind in (NodeKind.AGENT, NodeKind.JUDGE):
        return True
    if isinstance(node, RouterNode):
        return node.mode is RouterMode.LLM
    return isinstance(node, ToolNode) and bool(node.action)


def decide(recipe: Recipe, count: int, *, retry_after: float = 0.0, roll: float = 1.0) -> RecoveryDecision:
    """Choose, given how often recovery has dealt with this node and code already (the count before it grows).

    ``roll`` is a random number from 0 to 1; ``retry_after`` in seconds is what the remote asked for and wins when it
    is longer.
    """
    if recipe.pause:
        return RecoveryDecision(Recovery.PAUSE, "a person has to look at this")
    if count >= len(recipe.delays):
        reason = f"{count} retries did not help" if recipe.delays else "this failure is not repeated in place"
        return RecoveryDecision(Recovery.FAIL, reason)
    base = recipe.delays[count]
    wait = base / 2 + roll * base / 2 if recipe.jitter else base
    return RecoveryDecision(Recovery.RETRY, f"retry {count + 1} of {len(recipe.delays)}", max(wait, retry_after))
