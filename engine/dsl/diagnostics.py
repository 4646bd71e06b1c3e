"""Diagnostics: the record, the collector that every phase writes to, and the picture for a terminal.

Every phase of ``dsl`` reports through ``Diagnostics.add``; severity, sentence and default hint come from the one table
``CODES`` (``codes.py``). A diagnostic never stops anything by itself: that no graph is handed out when one is an error
is ``load``'s decision. Implements language.md 14.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from engine.dsl.codes import CODES, RESERVED, Code, Severity
from engine.dsl.graph import Span

__all__ = ["CODES", "RESERVED", "Code", "Diagnostic", "Diagnostics", "Located", "Severity", "nearest", "render"]

MOST_PER_CODE_AND_FILE = 50
LONGEST_LINE = 400
LEXICAL = frozenset({"E001", "E002", "E003", "E004", "E005"})


class Located(Protocol):
    """Anything that has a place: every node of the tree."""

    @property
    def span(self) -> Span:
        """The place."""
        ...


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. ``line`` and ``column`` are 1-based; ``hint`` is one line that says what to write instead.

    ``node`` names the node and ``edge`` the edge (``a -> b``) that it is about, both may be empty.
    """

    code: str
    severity: Severity
    file: str
    line: int
    column: int
    message: str
    hint: str
    node: str = ""
    edge: str = ""

    @property
    def is_error(self) -> bool:
        """Whether it keeps the workflow from running."""
        return self.severity is Severity.ERROR


class Diagnostics:
    """Collects findings, each place and sentence once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, int, int, str], Diagnostic] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, code: str, at: Located | Span, *, node: str = "", edge: str = "", **fields: object) -> None:
        """Report ``code`` at a place. ``fields`` fill the sentence and the hint of the table.

        A field ``hint`` replaces the table's hint, ``severity`` its severity. The same code is reported at most fifty
        times per file: more of it helps nobody.
        """
        row = CODES[code]
        span = at if isinstance(at, Span) else at.span
        seen = self._counts.get((code, span.file), 0)
        if seen >= MOST_PER_CODE_AND_FILE:
            return
        severity = fields.pop("severity", row.severity)
        hint = fields.pop("hint", None) or row.hint.format(**fields)
        message = one_line(row.message.format(**fields))
        place = (span.file, span.line, span.column)
        found = Diagnostic(code, Severity(str(severity)), *place, message, one_line(str(hint)), node, edge)
        key = (code, span.file, span.line, span.column, message)
        if key not in self._found:
            self._found[key] = found
            self._counts[(code, span.file)] = seen + 1

    def forgive(self, file: str, first: int, last: int) -> None:
        """Drop what the lexer found on the lines from ``first`` to ``last``: they turned out to be no source."""
        for key in [key for key in self._found if key[1] == file and first <= key[2] <= last]:
            if key[0] in LEXICAL:
                del self._found[key]

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self._found.values())

    @property
    def has_errors(self) -> bool:
        """Whether anything found so far is an error."""
        return any(found.is_error for found in self._found.values())

    def ordered(self, files: Iterable[str]) -> tuple[Diagnostic, ...]:
        """Everything found, by file in the order of ``files``, then by place."""
        rank = {name: place for place, name in enumerate(files)}
        last = len(rank)

        def place(found: Diagnostic) -> tuple[int, str, int, int, str]:
            return (rank.get(found.file, last), found.file, found.line, found.column, found.code)

        return tuple(sorted(self._found.values(), key=place))


def one_line(text: str) -> str:
    """``text`` on one line, of at most 400 characters."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that ``word`` most likely means, or the empty text."""
    candidates = list(known)
    folded = {name.casefold().replace("-", "_"): name for name in candidates}
    wanted = word.casefold().replace("-", "_")
    if wanted in folded:
        return folded[wanted]
    if len(candidates) > 2000 or len(word) > 100:
        return ""
    from difflib import get_close_matches

    close = get_close_matches(wanted, list(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else ""


def suggestion(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """A hint for an unknown word: the nearest known one, else the whole list when it is short, else ``otherwise``."""
    names = list(known)
    close = nearest(word, names)
    if close:
        return f"did you mean `{close}`?"
    if names and len(names) <= 12:
        return f"known here: {', '.join(sorted(names))}" + (f"; {otherwise}" if otherwise else "")
    return otherwise


def render(found: Diagnostic, source: str) -> str:
    """The diagnostic as a terminal shows it: place, sentence, the line of ``source`` with a caret, the hint."""
    head = f"{found.file}:{found.line}:{found.column}: {found.severity.value} {found.code}: {found.message}"
    rows = source.split("\n") if source else []
    parts = [head]
    if 1 <= found.line <= len(rows):
        text = rows[found.line - 1].rstrip("\r")
        start = max(0, found.column - 1 - 60)
        shown = text[start : start + 120].replace("\t", " ")
        number = str(found.line)
        caret = " " * (min(found.column - 1, len(text)) - start) + "^"
        parts += [f" {number} | {shown}", f" {' ' * len(number)} | {caret}"]
    if found.hint:
        parts.append(f"   = {found.hint}")
    return "\n".join(parts)
