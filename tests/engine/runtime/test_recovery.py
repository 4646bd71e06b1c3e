"""Recipes of recovery as a table (engine.md 6.2)."""

from __future__ import annotations

import pytest

from engine.dsl.graph import AgentNode, ComputeNode, Node, NodeKind, ToolNode
from engine.dsl.templates import parse
from engine.failures import FailureCode
from engine.runtime.recovery import Recovery, decide, recipe_of

AGENT = AgentNode(name="a", kind=NodeKind.AGENT)
COMMAND = ToolNode(name="t", kind=NodeKind.TOOL, command=parse("true"))
ACTION = ToolNode(name="t", kind=NodeKind.TOOL, action="native.card.move")
COMPUTE = ComputeNode(name="c", kind=NodeKind.COMPUTE)


def delays(code: str, node: Node, roll: float = 1.0) -> list[float]:
    found, count = [], 0
    while (choice := decide(recipe_of(code, node), count, roll=roll)).action is Recovery.RETRY:
        found.append(choice.delay)
        count += 1
    return found


@pytest.mark.parametrize(
    ("code", "node", "wanted"),
    [
        (FailureCode.RATE_LIMITED, AGENT, [4, 8, 16]),
        (FailureCode.CONTEXT_LENGTH_EXCEEDED, AGENT, [0.1, 0.1]),
        (FailureCode.TOOL_FAILED_TRANSIENT, COMMAND, [1, 2]),
        (FailureCode.EXECUTION_FAILED, AGENT, [2]),
        (FailureCode.EXECUTION_FAILED, ACTION, [2]),
        (FailureCode.EXECUTION_FAILED, COMMAND, []),
        (FailureCode.EXECUTION_FAILED, COMPUTE, []),
        (FailureCode.NETWORK_TRANSIENT, AGENT, [5, 10, 20, 40, 60, 60]),
        (FailureCode.USAGE_LIMIT_BLOCKED, AGENT, []),
        (FailureCode.TOOL_FAILED_PERMANENT, COMMAND, []),
        (FailureCode.AMBIGUOUS_EFFECT, ACTION, []),
        (FailureCode.TIMEOUT, COMMAND, []),
        (FailureCode.SCHEMA_UNUSABLE, AGENT, []),
        ("DECLARED", AGENT, []),
    ],
)
def test_the_retries_of_a_code(code: str, node: Node, wanted: list[float]) -> None:
    """R100, R101, R102, R104, R105: as often, and as long, as the table says."""
    assert delays(code, node) == wanted


def test_half_of_a_throttled_wait_is_random() -> None:
    assert delays(FailureCode.RATE_LIMITED, AGENT, roll=0.0) == [2, 4, 8]


def test_a_longer_retry_after_wins() -> None:
    recipe = recipe_of(FailureCode.RATE_LIMITED, AGENT)
    assert decide(recipe, 0, retry_after=120.0).delay == 120.0
    assert decide(recipe, 0, retry_after=0.5).delay == 4.0


@pytest.mark.parametrize("code", [FailureCode.AUTH_FAILED, FailureCode.BUDGET_EXCEEDED])
def test_a_person_is_asked_for_what_only_a_person_can_mend(code: str) -> None:
    """R106."""
    assert decide(recipe_of(code, AGENT), 0).action is Recovery.PAUSE
