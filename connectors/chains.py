"""Does a card wait for itself? Pure search over links (dispatcher.md 19).

Called by the boards before they store blockers, and by the dispatcher's gate for links that a forge or an import named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def cycles(links: Mapping[Node, Collection[Node]]) -> dict[Node, tuple[Node, ...]]:
    """For each node that waits for itself, the chain from it back to it. What merely waits for a cycle is no member.

    Nodes that wait for nothing are taken away until none is left to take, which is all there is to do in a world
    without cycles; only what remains is searched.
    """
    rest = _without_leaves(links)
    inner = {node: [each for each in links[node] if each in rest] for node in rest}

    def waits(nodes: Collection[Node]) -> dict[Node, tuple[Node, ...]]:
        return {node: tuple(inner[node]) for node in nodes}

    found = {node: find_cycle(node, inner[node], waits) for node in rest}
    return {node: chain for node, chain in found.items() if chain}


def _without_leaves(links: Mapping[Node, Collection[Node]]) -> set[Node]:
    """The nodes that wait for each other, or for some that do."""
    open_ones = Counter({node: len(set(blockers)) for node, blockers in links.items()})
    waiting: dict[Node, list[Node]] = {}
    for node, blockers in links.items():
        for blocker in set(blockers):
            waiting.setdefault(blocker, []).append(node)
    free = [node for node in {*waiting, *links} if not open_ones[node]]
    while free:
        for node in waiting.get(free.pop(), ()):
            open_ones[node] -= 1
            if not open_ones[node]:
                free.append(node)
    return {node for node, n in open_ones.items() if n > 0}


def find_cycle(
    start: Node, blockers: Iterable[Node], links: Callable[[Collection[Node]], dict[Node, tuple[Node, ...]]]
) -> tuple[Node, ...]:
    """The chain from ``start`` back to ``start`` if it got these ``blockers``, or nothing.

    ``links`` answers for many ids at once what each waits for; it is asked once per layer.
    """
    came_from: dict[Node, Node] = {}
    layer = []
    for blocker in blockers:
        if blocker == start:
            return (start, start)
        came_from.setdefault(blocker, start)
        layer.append(blocker)
    while layer:
        found = links(layer)
        following: list[Node] = []
        for card_id in layer:
            for blocker in found.get(card_id, ()):
                if blocker == start:
                    return _chain(start, card_id, came_from)
                if blocker not in came_from:
                    came_from[blocker] = card_id
                    following.append(blocker)
        layer = following
    return ()


def _chain(start: Node, last: Node, came_from: Mapping[Node, Node]) -> tuple[Node, ...]:
    chain = [start, last]
    while chain[-1] != start:
        chain.append(came_from[chain[-1]])
    return tuple(reversed(chain))
