"""Keeps what a stream printed within bounds: the head in memory, all of it in a file up to a cap (engine.md 12.4).

Called by ``process.py``, one per stream. Feeding never fails: when the file cannot be written, the rest is counted and
thrown away. ``rewritten`` takes secrets out afterwards.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

INLINE = 1024 * 1024
"""Bytes of a stream that are kept in memory."""
CAP = 256 * 1024 * 1024
"""Bytes of a stream that are kept in all, when nothing else is said (``POINTSMAN_OUTPUT_CAP``)."""
_TAIL = 8 * 1024
_WINDOW, _OVERLAP, _BACK = 1024 * 1024, 64 * 1024, 997


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


def rewritten(stream: Captured, clean: Callable[[str], str]) -> Captured:
    """The stream with its file cleaned, window by window, and head and tail as they are there; bytes that are no text
    stay. Raises OSError."""
    assert stream.file is not None
    partial = stream.file.with_name(f"{stream.file.name}.clean")
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with stream.file.open("rb") as source, os.fdopen(descriptor, "w+b") as target:
        text = ""
        while block := source.read(_WINDOW):
            text += decoder.decode(block)
            cut = _cut(text, clean)
            target.write(clean(text[:cut]).encode("utf-8", "surrogateescape"))
            text = text[cut:]
        text += decoder.decode(b"", final=True)
        target.write(clean(text).encode("utf-8", "surrogateescape"))
        target.seek(0)
        head = target.read(INLINE)
        target.seek(max(0, target.seek(0, os.SEEK_END) - _TAIL))
        tail = stream.tail if stream.lost else target.read()
    partial.replace(stream.file)
    return replace(stream, head=head, tail=tail)


def _cut(text: str, clean: Callable[[str], str]) -> int:
    """Where the window may end: far enough before its end, and through nothing that is to be cleaned."""
    cut, whole = max(0, len(text) - _OVERLAP), clean(text)
    while cut and clean(text[:cut]) + clean(text[cut:]) != whole:
        cut = max(0, cut - _BACK)
    return cut
