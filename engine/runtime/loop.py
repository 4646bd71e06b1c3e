"""The walk of a line of control: while there is a node, step, then edge, until the attempt ends.

Called by ``launch`` and ``resume`` with the place to start from. It decides nothing by itself: ``step`` runs a node,
``edges`` picks the way on, ``writing`` makes the last commit. Implements engine.md 3.5 and 9.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.attempt import Line
from engine.runtime.ending import Ending
from engine.runtime.leaving import leave
from engine.runtime.step import take
from engine.runtime.writing import conclude


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line starts: a node, and whether it is finished already and only its edge has to be chosen.

    ``announced``: its start is stored; ``resumed``: a resume starts at it.
    """

    node: str
    completed: bool = False
    announced: bool = False
    resumed: bool = False


def run_to_end(line: Line, place: Place) -> Ending:
    """Walk until the attempt ends, and store the ending. Raises StoreError when it cannot be stored at all."""
    ending = walk(line, place)
    conclude(line, ending)
    return ending


def walk(line: Line, place: Place) -> Ending:
    """Walk until the line ends; nothing of the ending is stored yet."""
    while True:
        if not place.completed:
            ended = take(line, place.node, announced=place.announced, resumed=place.resumed)
            if ended is not None:
                return ended
        onward = leave(line, place.node)
        if isinstance(onward, Ending):
            return onward
        place = Place(onward)
