"""Where ``rewind --auto`` lands: the earliest executed node that an edit of the source affects. Pure.

Called by ``rewinding`` with what ``dsl.diff`` found. Naming too many nodes is preferred to too few, and a choice that
is not clear is refused with its reason (engine.md 8.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.dsl.graph import Graph
from engine.runtime.rewind import reachable


def pivot_of(graph: Graph, affected: Mapping[str, str], executed: Iterable[str]) -> tuple[str, str]:
    """The pivot, or an empty name and why there is none. ``affected`` maps nodes to what differs.

    The pivot is the candidate that no other candidate reaches; candidates of one cycle count as one, and of those the
    one nearest to the entry is taken.
    """
    if not affected:
        return "", "nothing that counts differs from the recorded source"
    ran = set(executed)
    candidates = [name for name in affected if name in ran and name in graph.nodes]
    if not candidates:
        return "", f"only nodes that never ran differ ({', '.join(sorted(affected))})"
    reach = {name: reachable(graph, name) for name in candidates}
    first = [
        name
        for name in candidates
        if not any(name in reach[other] and other not in reach[name] for other in candidates if other != name)
    ]
    head = first[0]
    if all(name == head or (name in reach[head] and head in reach[name]) for name in first):
        return min(first, key=lambda name: (_distance(graph, name), name)), ""
    return "", f"independent branches differ ({', '.join(sorted(first))})"


def _distance(graph: Graph, node: str) -> int:
    """Edges from the entry to the node at least."""
    distance = {graph.entry: 0}
    order = [graph.entry]
    for name in order:
        for edge in graph.outgoing(name):
            if edge.target not in distance:
                distance[edge.target] = distance[name] + 1
                order.append(edge.target)
    return distance.get(node, len(distance))
