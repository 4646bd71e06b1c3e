"""What a workspace holds, kept up from look to look: only files whose stat has changed are read.

Made by ``tracker`` for an attempt and by a rewind; remembers stats in an index beside the pool, so that the next run in
the same workspace reads nothing that it knows. A file whose stamps are as young as the look itself is read again at
the next one: its stamps would not tell a change within the same instant.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from engine.checkpoint import MarkFile
from engine.errors import WorkspaceUnrecorded
from engine.workspace.ignore import Rules, ignore_text, read_rules
from engine.workspace.pool import Pool
from engine.workspace.scan import Ground, Limits, Stat, walk

_YOUNG = 20_000_000
"""Nanoseconds within which two writes may get the same stamp."""
_PERMISSIONS = 0o777


class Record:
    """The captured files of one workspace. ``files`` is the state at the last look, by path."""

    def __init__(self, root: Path, store: Path, limits: Limits) -> None:
        self.root, self.store, self.limits = root.resolve(), store.resolve(), limits
        self._text = os.fspath(self.root)
        self.pool = Pool(self.store)
        self.files: dict[str, MarkFile] = {}
        self._stats: dict[str, Stat] = {}
        self._known: dict[str, tuple[Stat, MarkFile]] = {}
        self._young: set[str] = set()
        self._ignore = ""
        self.rules = Rules()
        self._dirty = False
        self._index = "index/" + hashlib.sha256(os.fsencode(self.root)).hexdigest()[:32]

    def open(self) -> None:
        """Hold the pool and recall what is known of the workspace. Raises WorkspaceUnrecorded."""
        if not self.root.is_dir():
            raise WorkspaceUnrecorded(f"the workspace {self.root} is not there", "make it again, or choose another")
        if self.root == self.store:
            raise WorkspaceUnrecorded(f"the workspace {self.root} is the store's own folder", "choose another one")
        try:
            self.pool.__enter__()
        except OSError as problem:
            raise _unwritable(problem) from problem
        self._recall()

    def look(self) -> tuple[MarkFile, ...]:
        """What changed since the last look, new content kept in the pool. Raises WorkspaceUnrecorded."""
        text = ignore_text(self.root)
        if text != self._ignore:
            self._ignore, self.rules = text, read_rules(text)
        try:
            since = self.pool.now_ns() - _YOUNG
            stats = walk(Ground(self.root, self.store, self.rules, self.limits))
            known = self._stats
            fresh = {path for path, stat in stats.items() if known.get(path) != stat} | (self._young & stats.keys())
            changed = [self._read(path, stats[path]) for path in sorted(fresh)]
        except OSError as problem:
            raise _unwritable(problem) from problem
        changed += [MarkFile(path) for path in self.files.keys() - stats.keys()]
        self._stats = stats
        self._young = {path for path in fresh if max(stats[path][:2]) >= since}
        return tuple(each for each in changed if self._take(each))

    def _take(self, seen: MarkFile) -> bool:
        """Whether it is news; the state is kept up."""
        if self.files.get(seen.path) == seen or (seen.gone and seen.path not in self.files):
            return False
        if seen.gone:
            del self.files[seen.path]
        else:
            self.files[seen.path] = seen
        return True

    def _read(self, path: str, stat: Stat) -> MarkFile:
        known = self._known.get(path)
        if known is not None and known[0] == stat:
            return known[1]
        mode = stat[3] & _PERMISSIONS
        if stat[2] > self.limits.max_file:
            return MarkFile(path, mode, skipped=f"too large: {stat[2]} bytes at {stat[0]}")
        try:
            content = self._content(path)
        except (FileNotFoundError, NotADirectoryError):
            return MarkFile(path)
        except OSError:
            return MarkFile(path, mode, skipped="cannot be read")
        self._dirty = True
        return MarkFile(path, mode, self.pool.put(content))

    def _content(self, path: str) -> bytes:
        """The bytes of a file that is no link and does not make the reader wait."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(f"{self._text}/{path}", flags)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            return file.readall()

    def close(self) -> None:
        """Remember what is known for the next run, and let the pool go."""
        try:
            if self._dirty:
                self._remember()
        finally:
            self.pool.close()

    def _recall(self) -> None:
        try:
            rows = json.loads((self.pool.root / self._index).read_bytes())
            self._known = {row[0]: (tuple(row[1]), MarkFile(row[0], row[2], row[3])) for row in rows}
        except (OSError, ValueError, IndexError, TypeError):
            self._known = {}

    def _remember(self) -> None:
        """Only files whose stamps are old enough to be believed."""
        rows = [
            [path, stat, found.mode, found.hash]
            for path, stat in self._stats.items()
            if path not in self._young and (found := self.files.get(path)) and found.hash
        ]
        try:
            self.pool.write_aside(self._index, json.dumps(rows, separators=(",", ":")).encode())
        except OSError:
            return  # it is a memory, not a record


def _unwritable(problem: OSError) -> WorkspaceUnrecorded:
    return WorkspaceUnrecorded(f"the workspace cannot be recorded: {problem}", "make room in the store's folder")
