"""The events that a run has emitted, for the ``wait`` nodes of the same run (language.md 5.8).

One per attempt, shared by all its lines. An event is the output row of its ``emit`` node and nothing else: it exists
once that row is committed, a resume reads it back, and a rewind that drops the row withdraws it. Every ``wait`` node of
a line hears every event of its name once, in the order of their commits; how far it has heard is part of the line's
state.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from engine.dsl.graph import Graph, NodeKind, SignalNode
from engine.store.store import Store

Fired = tuple[str, Mapping[str, object]]
"""An event by name, and what it carries."""


class Signals:
    """What was emitted, in order. Thread-safe."""

    def __init__(self, fired: Iterable[Fired] = ()) -> None:
        self._order = threading.Lock()
        self._fired: dict[str, list[Mapping[str, object]]] = {}
        self._add(fired)

    @contextmanager
    def publishing(self, fired: Iterable[Fired]) -> Iterator[None]:
        """Emit what the commit inside the block stores; two such commits have the order of their events."""
        events = tuple(fired)
        if not events:
            yield
            return
        with self._order:
            yield
            self._add(events)

    def _add(self, fired: Iterable[Fired]) -> None:
        for name, payload in fired:
            self._fired.setdefault(name, []).append(payload)

    def after(self, event: str, heard: int) -> Mapping[str, object] | None:
        """The event behind the ``heard`` first ones of that name; None while there is none."""
        fired = self._fired.get(event, [])
        return fired[heard] if heard < len(fired) else None


def recalled(store: Store, graph: Graph, run_id: str) -> Signals:
    """What an earlier attempt emitted and no rewind dropped. Raises StoreError."""
    emits = {node.name: node for node in graph.nodes.values() if _emits(node)}
    if not emits:
        return Signals()
    rows = [each for name in emits for each in store.checkpoints.history(run_id, name) if not each.dropped_by]
    rows.sort(key=lambda each: each.seq)
    return Signals((emits[each.row.node_id].event, each.row.output) for each in rows)  # type: ignore[attr-defined]


def _emits(node: object) -> bool:
    return isinstance(node, SignalNode) and node.kind is NodeKind.EMIT
