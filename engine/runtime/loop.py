"""The walk of a line of control: while there is a node, step, then edge, until the attempt ends.

Called by ``launch`` and ``resume`` with the place to start from. It decides nothing by itself: ``step`` runs a node,
``edges`` picks the way on, ``writing`` makes the last commit. Implements engine.md 3.5 and 9.1.
"""

from __future__ import annotations

from engine.errors import OwnershipLost
from engine.runtime.attempt import Line
from engine.runtime.ending import Ending
from engine.runtime.fan_out import is_fan_out, spread
from engine.runtime.leaving import leave
from engine.runtime.place import Place
from engine.runtime.step import take
from engine.runtime.worktrees import finish, take_away
from engine.runtime.writing import conclude


def run_to_end(line: Line, place: Place) -> Ending:
    """Walk until the attempt ends, and store the ending. Raises StoreError when it cannot be stored at all.

    An attempt whose run has another owner by now ends without a word to the store.
    """
    try:
        ending = walk(line, place)
    except OwnershipLost as lost:
        line.attempt.runlog.alert(lost.message)
        return Ending(place.node, None)
    assert isinstance(ending, Ending)  # the main line is bound for no node
    ending = finish(line, ending)
    conclude(line, ending)
    take_away(line, ending)
    return ending


def walk(line: Line, place: Place, until: str = "") -> Ending | str:
    """Walk until the line ends, or until it reaches the node ``until``; nothing of the ending is stored yet."""
    while place.node != until:
        onward = _one(line, place)
        if isinstance(onward, Ending):
            return onward
        place = Place(onward)
    return until


def _one(line: Line, place: Place) -> str | Ending:
    """One node and its edge: the next node, or how the line ends."""
    if is_fan_out(line.attempt.graph.nodes.get(place.node)):
        return spread(line, place, walk)
    if not place.completed:
        ended = take(line, place.node, announced=place.announced, resumed=place.resumed)
        if ended is not None:
            return ended
    return leave(line, place.node)
