"""The chain of a run's boundaries: their labels, and what the run changed since one of them. Pure.

Called by ``tracker`` and by a rewind. Implements engine.md 8.5 (labels, the boundary a rewind goes back to) and 8.6
(what a run has produced).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from engine.checkpoint import Mark, MarkFile

State = Mapping[str, MarkFile]
OpenList = Callable[[str], "State | None"]


class Boundary(StrEnum):
    """The kinds of marks; all but the last two are boundaries of a run's own work."""

    PRE = "pre"
    """A node starts."""
    POST = "post"
    """It finished."""
    FAIL = "fail"
    """It failed, or was stopped inside."""
    PAUSE = "pause"
    """It asks a person."""
    RESUME = "resume"
    """A resume goes on."""
    BANK = "rewind-backup"
    """What was there before a rewind restored files."""
    RESTORED = "rewound"
    """What was there after it; the marks that follow belong to the replay."""


_OPENS_A_WAIT = frozenset({Boundary.POST, Boundary.FAIL, Boundary.PAUSE})
_ASIDE = frozenset({Boundary.BANK, Boundary.RESTORED})
_COUNT = re.compile(r"(\d+)(?:-|$)")


def label(kind: Boundary, node: str, number: str) -> str:
    """``<kind>:<node>:<number>``; the number of a boundary is its iteration, that of a bank counts banks."""
    return f"{kind}:{node}:{number or '0'}"


def kind_of(mark: Mark) -> str:
    """The kind of a mark, as text: a newer build may know more."""
    return mark.label.split(":", 1)[0]


def iteration_of(mark: Mark) -> tuple[int, ...]:
    """The iteration of a boundary as counts, outermost loop first."""
    return counts(mark.label.rpartition(":")[2])


def counts(iteration: str) -> tuple[int, ...]:
    """An iteration path as counts: ``2`` or ``outer.1-inner.0``."""
    return tuple(int(found) for found in _COUNT.findall(iteration)) or (0,)


def since_restored(marks: Sequence[Mark]) -> Sequence[Mark]:
    """The marks after the last rewind that restored files: only these keep a node from getting its ``pre``."""
    for place in range(len(marks) - 1, -1, -1):
        if kind_of(marks[place]) == Boundary.RESTORED:
            return marks[place + 1 :]
    return marks


def base_of(marks: Sequence[Mark], node: str, present: tuple[int, ...]) -> Mark | str:
    """The boundary that a rewind to ``node`` goes back to, or why there is none (engine.md 8.5).

    It is the newest ``pre`` of the highest iteration that is not above the present one.
    """
    own = [mark for mark in marks if mark.node_id == node]
    starts = [m for m in own if kind_of(m) == Boundary.PRE and iteration_of(m) <= present]
    if not starts:
        return f"no boundary before node {node} is recorded"
    found = max(starts, key=lambda mark: (iteration_of(mark), mark.seq))
    ends = [m for m in own if kind_of(m) == Boundary.POST and iteration_of(m) > iteration_of(found)]
    if ends:
        return f"the boundary {found.label} is older than the finished {ends[-1].label}"
    return found


@dataclass(slots=True)
class Replay:
    """The state of a workspace while its marks are gone through, oldest first."""

    open_list: OpenList
    state: dict[str, MarkFile] = field(default_factory=dict)
    seq: int = 0

    def advance(self, mark: Mark) -> dict[str, MarkFile | None]:
        """Go on to ``mark``; what stood before at each path that it changed. Raises BrokenChain."""
        if mark.parent != self.seq and not mark.ref:
            raise BrokenChain(f"the boundary {mark.label} follows one that is not recorded")
        files = mark.files if not mark.ref else self._difference(mark)
        self.seq = mark.seq
        before: dict[str, MarkFile | None] = {}
        for each in files:
            before[each.path] = self.state.get(each.path)
            if each.gone:
                self.state.pop(each.path, None)
            else:
                self.state[each.path] = each
        return before

    def _difference(self, mark: Mark) -> Iterable[MarkFile]:
        listed = self.open_list(mark.ref)
        if listed is None:
            raise BrokenChain(f"the files of the boundary {mark.label} cannot be read")
        gone = [MarkFile(path) for path in self.state.keys() - listed.keys()]
        return [*gone, *(each for path, each in listed.items() if self.state.get(path) != each)]


class BrokenChain(Exception):
    """The marks of a run do not follow each other, or one cannot be read; its text says which."""


@dataclass(frozen=True, slots=True)
class Since:
    """A workspace at a boundary, at the last mark, and the paths that the run itself changed in between."""

    base: State
    last: State
    produced: frozenset[str]


def since(marks: Sequence[Mark], base: Mark, open_list: OpenList) -> Since:
    """What the run has changed since ``base``: the union over its intervals, waits and banks left out (8.6).

    Raises BrokenChain.
    """
    listed = [place for place, mark in enumerate(marks) if mark.ref and mark.seq <= base.seq]
    replay = Replay(open_list)
    start: State = {}
    produced: set[str] = set()
    touched: dict[str, MarkFile | None] = {}
    opener = ""
    for mark in marks[listed[-1] if listed else 0 :]:
        for path, before in replay.advance(mark).items():
            touched.setdefault(path, before)
        kind = kind_of(mark)
        if kind in _ASIDE:
            continue
        if mark.seq > base.seq and not (kind == Boundary.RESUME and opener in _OPENS_A_WAIT):
            produced |= {path for path, before in touched.items() if replay.state.get(path) != before}
        touched, opener = {}, kind
        if mark.seq == base.seq:
            start = dict(replay.state)
    return Since(start, dict(replay.state), frozenset(produced))
