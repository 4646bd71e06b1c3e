"""An emit node: its output is the event that it emits, with the values of its ``with`` line (language.md 5.8)."""

from __future__ import annotations

from engine.dsl.graph import SignalNode
from engine.dsl.rendering import value
from engine.nodes.base import NodeContext
from engine.outcome import Completed, Outcome


def run(context: NodeContext) -> Outcome:
    """The payload. The event exists once this output is stored."""
    node = context.node
    assert isinstance(node, SignalNode)
    return Completed({mapped.key: value(mapped.value, context.scope) for mapped in node.mappings})
