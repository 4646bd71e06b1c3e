"""The tree of a file -> its text in the usual form, comments kept (language.md 16).

Called by ``pointsman fmt``. Printing and parsing gives an equal tree, and printing twice gives the same text: two
spaces per level, one blank line between declarations, one space around arrows, clauses in the order condition, loop,
mapping. Order, wording, quoting and the choice between lines and brackets stay the author's. It looks at no meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from engine.dsl.ast import (
    Block,
    BlockEntry,
    Declaration,
    EdgeLine,
    File,
    Import,
    ListValue,
    MapValue,
    Property,
    Scalar,
    Style,
    Text,
    Trivia,
    TypeValue,
    Use,
    WithLine,
)
from engine.dsl.graph import Span
from engine.dsl.source import DIRECTIVE_LINES, DIRECTIVES
from engine.dsl.spelling import Spelling
from engine.dsl.tokens import Comment

STEP: Final = "  "
WIDTH: Final = 110
EMPTY: Final = Trivia()


class _Gap(Enum):
    """Whether a blank line stands before a construct."""

    NONE = "none"
    KEPT = "kept"
    ONE = "one"


def print_file(file: File, source: str = "") -> str:
    """The text of ``file``. ``source`` is the text it was read from: it tells where blank lines and ``dsl:`` stood.

    Raises ``spelling.Unprintable`` for a string that no form can hold, which no tree that was parsed has.
    """
    printer = _Printer(file, source.split("\n") if source else [])
    printer.run()
    return "\n".join(printer.lines) + "\n" if printer.lines else ""


class _Printer:
    def __init__(self, file: File, rows: list[str]) -> None:
        self.file = file
        self.rows = rows
        self.lines: list[str] = []
        self.open: list[tuple[int, int]] = []
        self.spelling = Spelling(decodes=file.profile == 2 or _has_directive(file))
        self.glued = False

    def run(self) -> None:
        header = _header_row(self.rows)
        first = _first_comments(self.file)
        head = [comment for comment in first if comment.line <= header]
        self._comments(head, 0)
        if header or self.file.profile == 2:
            self._gap(header)
            self._line(f"dsl: {self.file.profile}{_header_comment(self.rows, header)}", 0)
        previous: Import | Declaration | Use | None = None
        for entry in (*self.file.imports, *self.file.declarations):
            trivia = entry.trivia or EMPTY
            if previous is None:
                trivia = Trivia(trivia.before[len(head) :], trivia.trailing, trivia.apart)
            tight = isinstance(entry, Import | Use) and isinstance(previous, Import | Use)
            self._lead(trivia, 0, entry.span, _Gap.KEPT if tight or previous is None else _Gap.ONE)
            self._top(entry, trivia)
            previous = entry
        rest = self.file.comments[len(head) :] if previous is None else self.file.comments
        self._lead(Trivia(tuple(rest)), 0, None, _Gap.KEPT if previous is None else _Gap.ONE)

    # Declarations.

    def _top(self, entry: Import | Declaration | Use, trivia: Trivia) -> None:
        if isinstance(entry, Import):
            self._line(f"import {self.spelling.string(entry.path)}", 0, trivia.trailing)
        elif isinstance(entry, Use):
            head = f"use {entry.group} as {entry.prefix}"
            self._with(head, entry.bindings, 0, trivia)
        else:
            self._declaration(entry, 0, trivia)

    def _declaration(self, entry: Declaration, depth: int, trivia: Trivia) -> None:
        head = " ".join(filter(None, (entry.kind, entry.name)))
        parameters = f"({', '.join(entry.parameters)})" if entry.parameters else ""
        self._line(f"{head}{parameters}:", depth, trivia.trailing)
        if entry.text is not None:
            self._body(entry.text, depth + 1)
        if entry.block is not None:
            self._block(entry.block, depth + 1)

    def _body(self, text: Text, depth: int) -> None:
        if not text.value:
            return
        last = 0
        for place, line in enumerate(text.value.split("\n")):
            row = text.rows[place] if place < len(text.rows) else 0
            if last and row > last + 1:
                self.lines.extend([""] * (row - last - 1))
            self.lines.append(STEP * depth + line if line else "")
            last = row

    def _block(self, block: Block, depth: int) -> None:
        for place, entry in enumerate(block.entries):
            trivia = entry.trivia or EMPTY
            gap = _Gap.ONE if isinstance(entry, Declaration) else _Gap.KEPT
            self._lead(trivia, depth, entry.span, gap if place else _Gap.NONE)
            self._entry(entry, depth, trivia)
        self._comments(block.comments, depth)

    def _entry(self, entry: BlockEntry, depth: int, trivia: Trivia) -> None:
        if isinstance(entry, Declaration):
            self._declaration(entry, depth, trivia)
        elif isinstance(entry, EdgeLine):
            self._with(self._edge(entry), entry.mapping, depth, trivia)
        elif isinstance(entry, WithLine):
            self._with("", entry.map, depth, trivia)
        else:
            self._property(entry, depth, trivia)

    def _property(self, entry: Property, depth: int, trivia: Trivia) -> None:
        head, value = f"{self.spelling.name(entry.key)}:", entry.value
        if isinstance(value, ListValue) and value.dashes and value.items:
            self._line(head, depth, trivia.trailing)
            self._dashes(value, depth + 1)
        elif isinstance(value, MapValue):
            self._map(head, value, depth, trivia)
        elif isinstance(value, Scalar) and (lines := self.spelling.block(value)) is not None:
            self._line(f"{head} |", depth, trivia.trailing)
            self.lines.extend(STEP * (depth + 1) + line if line else "" for line in lines)
            self.glued = True
        elif value is None:
            self._line(head, depth, trivia.trailing)
        else:
            self._line(f"{head} {self._value(value)}", depth, trivia.trailing)
        if entry.block is not None:
            self._block(entry.block, depth + 1)

    def _value(self, value: Scalar | ListValue | TypeValue) -> str:
        if isinstance(value, TypeValue):
            return self.spelling.type(value)
        return self.spelling.items(value) if isinstance(value, ListValue) else self.spelling.scalar(value)

    def _dashes(self, found: ListValue, depth: int) -> None:
        for place, item in enumerate(found.items):
            trivia = (found.trivia[place] if place < len(found.trivia) else None) or EMPTY
            self._lead(trivia, depth, item.span, _Gap.KEPT if place else _Gap.NONE)
            self._line(f"- {self.spelling.scalar(item)}", depth, trivia.trailing)

    # Edges and maps.

    def _edge(self, edge: EdgeLine) -> str:
        parts = [" -> ".join(node.name for node in edge.nodes)]
        if edge.when is not None:
            negation = "not " if edge.when.negated else ""
            found = edge.when.expression
            parts.append(f"when {negation}{edge.when.field if found is None else _text(self.spelling, found)}")
        if edge.otherwise:
            parts.append("else")
        if edge.loop is not None:
            words = ["unbounded"] if edge.loop.unbounded else []
            if edge.loop.cap is not None:
                words.append(_text(self.spelling, edge.loop.cap))
            parts.append(f"as {edge.loop.name}({' '.join(words)})")
        if edge.foreach is not None:
            items = _text(self.spelling, edge.foreach.items)
            parts.append(f"as foreach {edge.foreach.name}({edge.foreach.element} in {items})")
        return " ".join(parts)

    def _with(self, head: str, found: MapValue | None, depth: int, trivia: Trivia) -> None:
        if found is None:
            self._line(head, depth, trivia.trailing)
        else:
            self._map(f"{head} with".lstrip(), found, depth, trivia)

    def _map(self, head: str, found: MapValue, depth: int, trivia: Trivia) -> None:
        pairs = [f"{self.spelling.name(entry.key)}: {self.spelling.scalar(entry.value)}" for entry in found.entries]
        inline = f"{head} {{ {', '.join(pairs)} }}" if pairs else f"{head} {{}}"
        ends = [_end_row(entry.value) for entry in found.entries]
        inside = [comment for comment in trivia.trailing if not (set(ends) <= {found.span.line} == {comment.line})]
        spread = any(entry.span.line != found.span.line for entry in found.entries) or "\n" in "".join(pairs[:-1])
        if not inside and not (spread or (pairs and len(STEP * depth + inline.split("\n", 1)[0]) > WIDTH)):
            self._line(inline, depth, trivia.trailing)
            return
        comments = list(trivia.trailing)
        opening = [comment for comment in comments if comment.line <= found.span.line and found.span.line not in ends]
        self._line(f"{head} {{", depth, opening)
        comments = comments[len(opening) :]
        for pair, entry, end in zip(pairs, found.entries, ends, strict=True):
            self._comments(_taken(comments, entry.span.line - 1), depth + 1)
            self._line(f"{pair},", depth + 1, _taken(comments, end))
        self._comments(comments, depth + 1)
        self._line("}", depth)

    # Lines, comments and blank lines.

    def _line(self, text: str, depth: int, trailing: Sequence[Comment] = ()) -> None:
        notes = "".join(f"  {comment.text}" for comment in trailing[:1])
        for comment in trailing[1:]:
            notes += f" {comment.text}"
        self.lines.extend(f"{STEP * depth}{text}{notes}".split("\n"))
        self.glued = False

    def _comments(self, comments: Sequence[Comment], depth: int) -> None:
        for comment in comments:
            self._gap(comment.line)
            self._line(comment.text, depth)

    def _lead(self, trivia: Trivia, depth: int, span: Span | None, gap: _Gap) -> None:
        """What stands before a construct: comments of the block above it, a blank line, its own comments.

        ``span`` is None at the end of the file.
        """
        column = span.column if span else 1
        comments = list(trivia.before)
        while comments and (inner := self._depth_of(comments[0].column, column, depth)) > depth:
            self._comments([comments.pop(0)], inner)
        if gap is _Gap.ONE and (comments or span is not None):
            self._separate()
        elif gap is _Gap.NONE and comments:
            self._line(comments.pop(0).text, depth)
        self._comments(comments, depth)
        if span is not None:
            if gap is not _Gap.NONE or trivia.before:
                self._gap(span.line, known=trivia.apart and not trivia.before)
            del self.open[_place(self.open, depth) :]
            self.open.append((column, depth))

    def _depth_of(self, column: int, own: int, depth: int) -> int:
        """How deep a comment at ``column`` belongs, before a construct at column ``own``: by what is open above it."""
        if column <= own:
            return depth
        return max((level for place, level in self.open if place <= column), default=depth)

    def _gap(self, row: int, *, known: bool = False) -> None:
        """Keep a blank line that stood above ``row``; ``known`` tells of one where there is no source to look at."""
        above = self.rows[row - 2] if 2 <= row <= len(self.rows) + 1 else None
        if known if above is None else not above.strip():
            self._separate()

    def _separate(self) -> None:
        if self.lines and self.lines[-1] and not self.glued:
            self.lines.append("")


def _text(spelling: Spelling, scalar: Scalar) -> str:
    """A scalar that stands where a bare word would mean something else."""
    if isinstance(scalar.value, str) and scalar.style in (Style.BARE, Style.DOTTED, Style.BLOCK):
        return spelling.string(scalar.value)
    return spelling.scalar(scalar)


def _end_row(scalar: Scalar) -> int:
    raw = scalar.style is Style.RAW and isinstance(scalar.value, str)
    return scalar.span.line + (str(scalar.value).count("\n") if raw else 0)


def _taken(comments: list[Comment], row: int) -> list[Comment]:
    """Remove and return the comments up to ``row``."""
    count = sum(1 for comment in comments if comment.line <= row)
    taken, comments[:] = comments[:count], comments[count:]
    return taken


def _place(levels: list[tuple[int, int]], depth: int) -> int:
    return next((place for place, (_, level) in enumerate(levels) if level >= depth), len(levels))


def _first_comments(file: File) -> tuple[Comment, ...]:
    entries = (*file.imports, *file.declarations)
    return (entries[0].trivia or EMPTY).before if entries else file.comments


def _has_directive(file: File) -> bool:
    found = (comment for comment in _first_comments(file) if comment.line <= DIRECTIVE_LINES)
    return any(comment.text.lstrip("#").strip() in DIRECTIVES for comment in found)


def _header_row(rows: list[str]) -> int:
    """The line of the ``dsl:`` header, 0 without one: the first line that is neither blank nor a comment."""
    for row, text in enumerate(rows):
        bare = text.strip(" \t")
        if bare and not bare.startswith("#"):
            return row + 1 if text[:3] == "dsl" and text[3:].lstrip(" \t").startswith(":") else 0
    return 0


def _header_comment(rows: list[str], header: int) -> str:
    _, mark, comment = rows[header - 1].partition("#") if header else ("", "", "")
    return f"  #{comment.rstrip()}" if mark else ""
