"""The content pool: bytes of files by their SHA-256, in ``workspace-objects/`` of the store, shared by all runs.

Called by ``record``, ``restore`` and pruning. An object is written beside its place and renamed, without waiting for
the disk: what a power cut damages is noticed when it is read, because its hash says what it must be. Whoever adds
objects holds the pool shared until they stand in a mark; pruning needs it alone.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from types import TracebackType

from engine.checkpoint import MarkFile

FOLDER = "workspace-objects"
STAMP = ".pruned"
"""The file whose stamp says when the pool was pruned last."""


class Pool:
    """The objects below one store folder. Not for two threads at once; each attempt makes its own."""

    def __init__(self, store: Path) -> None:
        self.root = store / FOLDER
        self._text = os.fspath(self.root)
        self._lock = -1
        self._made: set[str] = set()

    def __enter__(self) -> Pool:
        """Hold the pool shared, so that nobody prunes it meanwhile. Raises OSError."""
        self._open(fcntl.LOCK_SH)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let the pool go."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _open(self, how: int) -> None:
        if self._lock < 0:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, how)

    def now_ns(self) -> int:
        """The instant by the clock that stamps files, in nanoseconds."""
        os.utime(self._lock)
        return os.fstat(self._lock).st_mtime_ns

    def put(self, content: bytes) -> str:
        """Keep these bytes; their hash. Raises OSError."""
        name = hashlib.sha256(content).hexdigest()
        place = f"{self._text}/{name[:2]}/{name[2:]}"
        if not os.access(place, os.F_OK):
            if name[:2] not in self._made:
                Path(place).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._made.add(name[:2])
            self._write(place, content)
        return name

    def get(self, name: str) -> bytes | None:
        """The bytes of a hash; None when they are gone or damaged."""
        try:
            content = self._place(name).read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == name else None

    def put_list(self, files: Iterable[MarkFile]) -> str:
        """Keep a list of files as an object of its own; its hash. Raises OSError."""
        rows = [[each.path, each.mode, each.hash, each.skipped] for each in sorted(files, key=lambda each: each.path)]
        return self.put(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape"))

    def get_list(self, name: str) -> Mapping[str, MarkFile] | None:
        """The files of a kept list by path; None when it is gone or damaged."""
        content = self.get(name)
        if content is None:
            return None
        rows = json.loads(content.decode("utf-8", "surrogateescape"))
        return {row[0]: MarkFile(row[0], row[1], row[2], row[3]) for row in rows}

    def write_aside(self, name: str, content: bytes) -> None:
        """Replace a file of the pool's own, such as the index of a workspace. Raises OSError."""
        place = self.root / name
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._write(os.fspath(place), content)

    def _write(self, place: str, content: bytes) -> None:
        aside = f"{self._text}/.{os.getpid()}.{self._lock}"
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            left = memoryview(content)
            while left:
                left = left[file.write(left) :]
        Path(aside).replace(place)

    def _place(self, name: str) -> Path:
        return self.root / name[:2] / name[2:]

    def prune(self, wanted: Callable[[], Collection[str] | None], every: float = 0.0) -> int:
        """Remove every object that is not wanted, and every index; how many objects went.

        ``wanted`` is asked while nobody can add objects; None means that it cannot be told, and nothing is removed.
        Nothing is removed either when somebody adds objects right now, or within ``every`` seconds of the last time.
        Raises OSError.
        """
        if not self.root.exists():
            return 0
        try:
            self._open(fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            return 0
        try:
            if not self._due(every) or (names := wanted()) is None:
                return 0
            (self.root / STAMP).touch()
            return self._sweep(names)
        finally:
            self.close()

    def _due(self, every: float) -> bool:
        try:
            last = (self.root / STAMP).stat().st_mtime_ns
        except FileNotFoundError:
            return True
        return self.now_ns() - last >= every * 1_000_000_000

    def _sweep(self, wanted: Collection[str]) -> int:
        gone = 0
        for place in self.root.glob("[0-9a-f][0-9a-f]/*"):
            if place.parent.name + place.name not in wanted:
                place.unlink(missing_ok=True)
                gone += 1
        for index in self.root.glob("index/*"):
            index.unlink(missing_ok=True)
        return gone
