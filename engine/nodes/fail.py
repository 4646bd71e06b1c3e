"""A fail node: its declared code and its message, rendered at the moment when it is reached (engine.md 4.4)."""

from __future__ import annotations

from engine.dsl.graph import FailNode
from engine.dsl.rendering import text
from engine.failures import FailureCode
from engine.nodes.base import NodeContext
from engine.outcome import Failed, Outcome

DEFAULT_TEXT = "workflow reached fail node"


def run(context: NodeContext) -> Outcome:
    """A deliberate failure. An empty rendering falls back to the default text."""
    node = context.node
    assert isinstance(node, FailNode)
    message = text(node.message, context.scope).strip() if node.message else ""
    code = node.code or FailureCode.FAIL_NODE
    return Failed(code, message or f"{DEFAULT_TEXT} {node.name}", deliberate=True, resumable=node.resumable)
