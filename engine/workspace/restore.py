"""Bringing a workspace back to a boundary: what is to be done, decided; then done (engine.md 8.6).

Called by a rewind, which has banked the present state before. Nothing outside the workspace is touched: a path whose
folder has become a symbolic link is left. All content is read before the first file changes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from engine.checkpoint import MarkFile
from engine.errors import RestoreFailed
from engine.workspace.chain import Since, State
from engine.workspace.pool import Pool


class Scope(StrEnum):
    """What a rewind restores."""

    PRODUCED = "produced"
    """Paths that the run itself changed since the boundary."""
    FULL = "full"
    """Every captured path."""
    NONE = "none"
    """Nothing."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a restore does: files to write and paths to remove, and what has to be told.

    ``overwritten`` held neither the target nor the run's last boundary; ``left`` changed since that boundary and stays.
    """

    writes: tuple[MarkFile, ...] = ()
    removes: tuple[str, ...] = ()
    overwritten: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    in_scope: int = 0

    @property
    def empty(self) -> bool:
        """Whether no file changes."""
        return not self.writes and not self.removes

    @property
    def changed(self) -> int:
        """How many files change."""
        return len(self.writes) + len(self.removes)


@dataclass(slots=True)
class _Tally:
    writes: list[MarkFile] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    overwritten: list[str] = field(default_factory=list)
    settled: set[str] = field(default_factory=set)


def plan(scope: Scope, run: Since, present: State, untouchable: Callable[[str], bool]) -> Plan:
    """Decide what a restore does. ``present`` is the banked state. Pure, except for what ``untouchable`` looks at."""
    paths = {Scope.PRODUCED: run.produced, Scope.FULL: run.base.keys() | present.keys(), Scope.NONE: frozenset()}[scope]
    tally = _Tally()
    for path in sorted(paths):
        _decide(path, run, present, untouchable, tally)
    changed = (path for path in present.keys() | run.last.keys() if present.get(path) != run.last.get(path))
    left = tuple(sorted(path for path in changed if path not in tally.settled))
    return Plan(tuple(tally.writes), tuple(tally.removes), tuple(tally.overwritten), left, len(paths))


def _decide(path: str, run: Since, present: State, untouchable: Callable[[str], bool], tally: _Tally) -> None:
    want, have = run.base.get(path), present.get(path)
    if want == have:
        tally.settled.add(path)
        return
    if (want and want.skipped) or (have and have.skipped) or untouchable(path):
        return
    tally.settled.add(path)
    if want is None:
        tally.removes.append(path)
    else:
        tally.writes.append(want)
    if have != run.last.get(path):
        tally.overwritten.append(path)


def within(root: Path, path: str) -> bool:
    """Whether ``path`` is a regular file of the workspace, or may become one, over real folders alone."""
    place = root
    *folders, name = path.split("/")
    for folder in folders:
        place = place / folder
        found = _mode(place)
        if found is None:
            return True
        if not stat.S_ISDIR(found):
            return False
    found = _mode(place / name)
    return found is None or stat.S_ISREG(found)


def _mode(place: Path) -> int | None:
    try:
        return place.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def apply(root: Path, pool: Pool, planned: Plan) -> None:
    """Carry the plan out. Raises RestoreFailed: before any change when content is missing, else in the middle."""
    missing = [each.path for each in planned.writes if pool.get(each.hash) is None]
    if missing:
        named = ", ".join(missing[:5])
        raise RestoreFailed(f"the kept content of {named} is gone; no file was changed", "rewind with --keep-files")
    try:
        _remove(root, planned.removes)
        for each in planned.writes:
            _write(root / each.path, pool.get(each.hash) or b"", each.mode)
    except OSError as problem:
        raise RestoreFailed(
            f"the workspace was restored in part: {problem}", "make room, then rewind again"
        ) from problem


def _write(place: Path, content: bytes, mode: int) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    aside = place.with_name(f".{place.name[:80]}.rewind-{os.getpid()}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
        aside.replace(place)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def _remove(root: Path, paths: Iterable[str]) -> None:
    """Remove files, and the folders that this empties."""
    for path in paths:
        place = root / path
        place.unlink(missing_ok=True)
        for folder in place.parents:
            if folder == root:
                break
            try:
                folder.rmdir()
            except OSError:
                break
