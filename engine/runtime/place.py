"""Where a line of control starts: a node, and what is known about it. Used by ``loop``, ``fan_out`` and ``resume``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A node, and whether it is finished already and only its edge has to be chosen.

    ``announced``: its start is stored; ``resumed``: a resume starts at it.
    """

    node: str
    completed: bool = False
    announced: bool = False
    resumed: bool = False
