"""Does a card wait for itself? Pure search over links (dispatcher.md 19).

Called by the boards before they store blockers, and by the dispatcher's gate for links that a forge named.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable


def find_cycle(
    start: str, blockers: Iterable[str], links: Callable[[Collection[str]], dict[str, tuple[str, ...]]]
) -> tuple[str, ...]:
    """The chain from ``start`` back to ``start`` if it got these ``blockers``, or nothing.

    ``links`` answers for many ids at once what each waits for; it is asked once per layer.
    """
    came_from: dict[str, str] = {}
    layer = []
    for blocker in blockers:
        if blocker == start:
            return (start, start)
        came_from.setdefault(blocker, start)
        layer.append(blocker)
    while layer:
        found = links(layer)
        following: list[str] = []
        for card_id in layer:
            for blocker in found.get(card_id, ()):
                if blocker == start:
                    return _chain(start, card_id, came_from)
                if blocker not in came_from:
                    came_from[blocker] = card_id
                    following.append(blocker)
        layer = following
    return ()


def _chain(start: str, last: str, came_from: dict[str, str]) -> tuple[str, ...]:
    chain = [start, last]
    while chain[-1] != start:
        chain.append(came_from[chain[-1]])
    return tuple(reversed(chain))
