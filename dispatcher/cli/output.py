"""Writing for people and programs: one JSON document or people's text, and never a traceback for a closed pipe.

Used through ``session``. When the reader of stdout went away, the rest is dropped and the verb goes on, so that a run
does not die with its viewer; its exit code stays its own. A full disk behind stdout is told at the end.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path, PurePath
from typing import Final, TextIO

_STANDARD_DESCRIPTORS = (0, 1, 2)
_COMMANDS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069]")
"""Control characters but for line ends and tabs, and the marks that turn the direction of letters."""


def rfc3339(moment: datetime) -> str:
    """An aware instant as ``2026-11-02T10:00:00.123Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


LINE_ENDS: Final = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"})
"""What ends a line for some readers, though not for JSON, as JSON writes it: a document stays on its line."""


def json_text(document: object, *, indent: int | None = None) -> str:
    """``document`` as JSON; instants as RFC 3339, sets sorted, paths as text."""
    text = json.dumps(document, ensure_ascii=False, indent=indent, default=_plain, allow_nan=False)
    return text if text.isascii() else text.translate(LINE_ENDS)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Aligned columns under their headings; the last column is never padded."""
    cells = [[str(cell).replace("\n", " ") for cell in row] for row in [headings, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)
    return "\n".join(lines)


def visible(text: str) -> str:
    """The text for a terminal: what would move its cursor, colour it or turn its letters round is shown, not done.

    Titles, bodies and errors come from whoever could write a card or a tool's output. Line ends and tabs stay.
    """
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


def ensure_streams() -> None:
    """Give descriptors 0 to 2 something to stand on, so that no later file takes their place; write UTF-8."""
    for descriptor in _STANDARD_DESCRIPTORS:
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or _discard()
    sys.stderr = sys.stderr or _discard()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _discard() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


class Output:
    """The two streams of a verb."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out, self._err = out, err
        self.closed = False
        """Whether the reader of stdout went away."""
        self.broken = ""
        """Why stdout could not be written, when it was not merely closed."""

    @property
    def out(self) -> TextIO:
        """Where documents and people's text go."""
        return self._out or sys.stdout

    @property
    def err(self) -> TextIO:
        """Where refusals, logs and, with ``--json``, people's text go."""
        return self._err or sys.stderr

    def on_terminal(self) -> bool:
        """Whether a person looks at stdout."""
        return _is_terminal(self.out)

    def say(self, text: str) -> None:
        """People's text on stdout: whole in a pipe, without what would command a terminal on one."""
        self.line(visible(text) if self.on_terminal() else text)

    def warn(self, text: str) -> None:
        """The same on stderr."""
        self.note(visible(text) if _is_terminal(self.err) else text)

    def line(self, text: str) -> None:
        """One line on stdout, written at once."""
        if self.closed or self.broken:
            return
        try:
            self.out.write(f"{text}\n")
            self.out.flush()
        except BrokenPipeError:
            self.closed = True
            self._abandon()
        except (OSError, ValueError) as error:
            self.broken = getattr(error, "strerror", None) or str(error)
            self._abandon()

    def note(self, text: str) -> None:
        """One line on stderr; lost when nobody can read it."""
        try:
            self.err.write(f"{text}\n")
            self.err.flush()
        except (OSError, ValueError):
            return

    def _abandon(self) -> None:
        """Let what is still buffered go nowhere, so that the interpreter's own last flush stays silent."""
        if self.out is sys.stdout:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.close(nowhere)
