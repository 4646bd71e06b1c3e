"""A router that passes its input on: modes ``condition`` and ``round_robin`` (language.md 5.2).

Which edge is taken afterwards is the business of ``runtime/loop.py``; the modes that start branches run elsewhere.
"""

from __future__ import annotations

from engine.nodes.base import NodeContext
from engine.outcome import Completed, Outcome


def run(context: NodeContext) -> Outcome:
    """The output is the input."""
    return Completed(dict(context.input))
