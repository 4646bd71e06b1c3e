"""Keeps what a stream printed within bounds: the head in memory, all of it in a file up to a cap (engine.md 12.4).

Called by ``process.py``, one per stream. Feeding never fails: when the file cannot be written, the rest is counted and
thrown away.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

INLINE = 1024 * 1024
"""Bytes of a stream that are kept in memory."""
CAP = 256 * 1024 * 1024
"""Bytes of a stream that are kept in all, when nothing else is said (``POINTSMAN_OUTPUT_CAP``)."""
_TAIL = 8 * 1024


@dataclass(frozen=True, slots=True)
class OutputPlace:
    """Where output beyond the inline part goes: ``folder/<name>.stdout``; ``cap`` in bytes per stream."""

    folder: Path
    name: str
    cap: int = CAP


@dataclass(frozen=True, slots=True)
class Captured:
    """What is left of a stream. ``head`` are its first bytes, at most ``INLINE``; ``tail`` its last, at most 8 KiB.

    ``total`` counts all bytes printed. ``file`` holds the stream from its start when it was longer than the head;
    ``lost`` counts the bytes that neither holds.
    """

    head: bytes
    tail: bytes
    total: int
    file: Path | None
    lost: int

    @property
    def truncated(self) -> bool:
        """Whether ``head`` is not all of it."""
        return self.total > len(self.head)


class Capture:
    """One stream while it is being read."""

    __slots__ = ("_file", "_head", "_kept", "_path", "_place", "_spilled", "_tail", "_total")

    def __init__(self, place: OutputPlace, stream: str) -> None:
        self._place = place
        self._path = place.folder / f"{place.name}.{stream}"
        self._head = bytearray()
        self._tail = b""
        self._total = 0
        self._kept = 0
        self._spilled = False
        self._file = -1

    def feed(self, block: bytes) -> None:
        """Take the next bytes."""
        self._total += len(block)
        self._tail = block[-_TAIL:] if len(block) >= _TAIL else (self._tail + block)[-_TAIL:]
        room = INLINE - len(self._head)
        if room >= len(block):
            self._head += block
            return
        self._head += block[:room]
        if not self._spilled:
            self._spilled = True
            self._open()
            self._keep(bytes(self._head))
        self._keep(block[room:])

    def end(self) -> Captured:
        """Close the file; what there is."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        head = bytes(self._head)
        kept = max(self._kept, len(head))
        return Captured(head, self._tail, self._total, self._path if self._kept else None, self._total - kept)

    def _open(self) -> None:
        try:
            self._place.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError:
            self._file = -1

    def _keep(self, block: bytes) -> None:
        left = memoryview(block)[: max(0, self._place.cap - self._kept)]
        try:
            while left and self._file >= 0:
                written = os.write(self._file, left)
                self._kept += written
                left = left[written:]
        except OSError:
            os.close(self._file)
            self._file = -1
