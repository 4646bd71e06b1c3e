"""The table of node kinds: which function executes which kind."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from engine.dsl.graph import NodeKind
from engine.nodes import compute, emit, fail, human, router, tool
from engine.nodes.base import Execute

NODE_KINDS: Mapping[NodeKind, Execute | None] = MappingProxyType(
    {
        NodeKind.TOOL: tool.run,
        NodeKind.COMPUTE: compute.run,
        NodeKind.HUMAN: human.run,
        NodeKind.ROUTER: router.run,
        NodeKind.FAIL: fail.run,
        NodeKind.AGENT: None,
        NodeKind.JUDGE: None,
        NodeKind.SUBBOT: None,
        NodeKind.EMIT: emit.run,
        NodeKind.WAIT: None,
        NodeKind.AWAIT_ANSWERS: None,
    }
)
"""kind -> function, total over the kinds. None: nothing on this floor runs it (others: ``runtime/executing.py``)."""
