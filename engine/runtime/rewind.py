"""What a rewind drops, where it lands, and what the checkpoint says afterwards. Pure.

Called by ``rewinding``, which carries it out. Implements engine.md 8.3 and 8.4: everything that can only have come
from the pivot goes; what leads back to it stays, and so do budget, counters, loop copies and the timeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from engine.checkpoint import (
    HEARD,
    HIDDEN,
    PLACES,
    REWOUND,
    ArtifactVersion,
    Head,
    StoredOutput,
    heard_of,
    hidden_of,
    in_force,
    places_of,
)
from engine.dsl.graph import Graph, RouterNode
from engine.runtime.state import FAILED, FAN_OUT

T = TypeVar("T")


def dropped_set(graph: Graph, pivot: str) -> frozenset[str]:
    """The pivot, and what it reaches that does not reach it, over all edges."""
    forward = reachable(graph, pivot)
    backward = _closure(pivot, lambda name: [edge.source for edge in graph.incoming.get(name, ())])
    return frozenset({pivot} | {name for name in forward - backward if name in graph.nodes})


def reachable(graph: Graph, node: str) -> set[str]:
    """What the node reaches over one edge or more, itself included when a cycle leads back."""
    return _closure(node, lambda name: [edge.target for edge in graph.outgoing(name)])


def _closure(start: str, onward: Callable[[str], Iterable[str]]) -> set[str]:
    """What ``start`` leads to in one step or more."""
    found: set[str] = set()
    ahead = [start]
    while ahead:
        for name in onward(ahead.pop()):
            if name not in found:
                found.add(name)
                ahead.append(name)
    return found


def promoted(graph: Graph, node: str) -> str:
    """The outermost fan-out router around ``node``, or ``node`` itself outside any (engine.md 8.3)."""
    bodies = {
        router.name: _body(graph, router.name)
        for router in graph.nodes.values()
        if isinstance(router, RouterNode) and router.mode in FAN_OUT
    }
    seen = {node}
    while around := sorted(name for name, body in bodies.items() if node in body and name not in seen):
        node = around[0]
        seen.add(node)
    return node


def _body(graph: Graph, router: str) -> set[str]:
    """The nodes of a router's branches: what its edges lead to before the join and without the router itself."""
    outside = {router, graph.convergence.get(router, "")}

    def onward(name: str) -> list[str]:
        return [edge.target for edge in graph.outgoing(name) if edge.target not in outside]

    return {name for name in _closure(router, onward) if name in graph.nodes}


def reached(outputs: Iterable[StoredOutput], head: Head) -> tuple[str, ...]:
    """The nodes that a rewind may land on, in the order of their newest output; the anchor is one of them."""
    names = dict.fromkeys(each.row.node_id for each in outputs)
    return tuple(dict.fromkeys([*names, head.node_id]))


def rewound_head(head: Head, pivot: str, dropped: frozenset[str]) -> Head:
    """The checkpoint anchored at the pivot, which is to run."""
    failed = head.extra.get(FAILED)
    extra: dict[str, object] = {
        **head.extra,
        HIDDEN: sorted(hidden_of(head) - dropped),
        PLACES: _without(places_of(head), dropped),
        FAILED: _without(failed, dropped) if isinstance(failed, Mapping) else {},
        HEARD: _without(heard_of(head), dropped),
    }
    return replace(
        head,
        node_id=pivot,
        completed=False,
        pending=None,
        recovery_pause=False,
        recovery_code="",
        recovery_counts=_without(head.recovery_counts, dropped),
        selected_incoming=_without(head.selected_incoming, dropped),
        parallel={},
        extra={name: value for name, value in extra.items() if value},
    )


def _without(mapping: Mapping[str, T], dropped: frozenset[str]) -> dict[str, T]:
    return {name: value for name, value in mapping.items() if name not in dropped}


def artifact_marks(versions: Iterable[ArtifactVersion], dropped: frozenset[str]) -> tuple[ArtifactVersion, ...]:
    """A mark for each artifact that a dropped node published and that counts now; it takes the next version."""
    known = tuple(versions)
    newest = {each.name: max(v.version for v in known if v.name == each.name) for each in known}
    return tuple(
        ArtifactVersion(each.name, each.node_id, newest[each.name] + 1, None, (REWOUND,))
        for each in in_force(known).values()
        if each.node_id in dropped
    )


def released(children: Mapping[str, str], dropped: frozenset[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The pointers to child runs that stay, and the runs whose pointer goes (keys: ``node[@path][#branch]``)."""
    stay = {key: run for key, run in children.items() if key.split("#")[0].split("@")[0] not in dropped}
    return stay, tuple(run for key, run in children.items() if key not in stay)
