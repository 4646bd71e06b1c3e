"""The process groups that a run started, so that a dead daemon's children can be named and ended (dispatcher.md 10).

A watcher for ``engine/process.py``, one per attempt; read by the dispatcher when an owner is gone. One line per start
and end in ``runs/<id>/groups``, without a flush: the death of a process does not lose it, and a new boot ends every
group. A refused write is forgotten; the group is then merely not named.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from engine.run import check_run_id
from engine.store.owners import boot_id, start_ticks


@dataclass(frozen=True, slots=True)
class Group:
    """A process group by its leader, whose start tells it from a later process of the same number."""

    leader: int
    start_ticks: int
    boot: str

    @property
    def alive(self) -> bool:
        """Whether the leader still is the process that was recorded."""
        return self.boot == boot_id() and self.start_ticks != 0 and start_ticks(self.leader) == self.start_ticks


class Groups:
    """The groups of one run."""

    def __init__(self, root: Path, run_id: str) -> None:
        self._path = root / "runs" / check_run_id(run_id) / "groups"

    def begin(self) -> None:
        """Forget the groups of earlier attempts; the caller holds the run's lock."""
        self._path.unlink(missing_ok=True)

    def started(self, pid: int) -> None:
        """Record a group."""
        self._append(f"+ {pid} {start_ticks(pid)} {boot_id()}\n")

    def output(self) -> None:
        """Nothing is recorded for output."""

    def ended(self, pid: int) -> None:
        """Record that a group's leader ended."""
        self._append(f"- {pid}\n")

    def alive(self) -> tuple[Group, ...]:
        """The recorded groups whose leader lives, in the order of their start."""
        return tuple(group for group in self.recorded() if group.alive)

    def recorded(self) -> tuple[Group, ...]:
        """The recorded groups whose end was not recorded; a damaged line is passed over."""
        try:
            lines = self._path.read_text().splitlines()
        except OSError:
            return ()
        found: dict[int, Group] = {}
        for line in lines:
            mark, *rest = line.split(" ")
            if mark == "-" and rest and rest[0].isdigit():
                found.pop(int(rest[0]), None)
            elif mark == "+" and len(rest) == 3 and rest[0].isdigit() and rest[1].isdigit():
                found[int(rest[0])] = Group(int(rest[0]), int(rest[1]), rest[2])
        return tuple(found.values())

    def _append(self, line: str) -> None:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)
        except OSError:
            return
