"""Where a cursor stands in a source text: in which block, behind which words, inside which string.

Works on the logical lines of the lexer, so that a half-written line is no obstacle. Rows are counted from 1, columns
from 0; both count characters, as everywhere in ``dsl``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from engine.dsl.diagnostics import Diagnostics
from engine.dsl.lexer import tokenize
from engine.dsl.parser.blocks import NODE_WORDS
from engine.dsl.shapes import SHAPES, Prop, Shape
from engine.dsl.tokens import Kind, Line, Token

STRINGS = frozenset({Kind.QUOTED, Kind.RAW, Kind.BLOCK})
_WORD = re.compile(r"[^\W\d]\w*")
_START = re.compile(r"[ \t]*+[\w.]*+")
ITEMS = {"attachments": "attachment", "secrets": "secret"}


@dataclass(frozen=True, slots=True)
class Header:
    """A line above the cursor whose block the cursor is in: ``agent reviewer:`` or ``budget:``."""

    key: str
    name: str
    line: Line


@dataclass(frozen=True)
class Spot:
    """A place in a text. ``line`` is the logical line that the cursor is on, None on a blank line or a comment.

    ``above`` are the headers around it, outermost first. ``text`` is what stands before the cursor in the string or
    prompt that it is in, None outside of them; ``rest`` is what follows there on the same row.
    """

    row: int
    column: int
    source: str
    line: Line | None
    above: tuple[Header, ...]
    text: str | None
    rest: str

    @property
    def node(self) -> str:
        """The name of the node whose block this is, empty outside of nodes."""
        return next((header.name for header in self.above if header.key in NODE_WORDS), "")

    @property
    def prompt(self) -> str:
        """The name of the prompt whose body this is, or empty."""
        if self.text is None or self.line is None or not self.line.body:
            return ""
        return self.line.tokens[1].value

    @cached_property
    def shape_name(self) -> str:
        """The kind of block that the line stands in: a key of ``SHAPES``, a declaration word, empty at the top."""
        name = ""
        for place, header in enumerate(self.above):
            name = _inner(name, header.key, top=place == 0)
        return name

    @property
    def shape(self) -> Shape | None:
        """The properties that may stand here."""
        return SHAPES.get(self.shape_name)

    @property
    def first_word(self) -> str:
        """The first word of the line."""
        return self.line.tokens[0].value if self.line else ""

    @property
    def at_start(self) -> bool:
        """Whether nothing but the word at the cursor stands before it on a line of its own."""
        continued = self.line is not None and self.line.tokens[0].line < self.row
        return not continued and _START.fullmatch(self.source, 0, self.column) is not None

    @cached_property
    def before(self) -> tuple[Token, ...]:
        """The tokens of the line that end before the cursor or at it."""
        here = (self.row, self.column + 1)
        return tuple(token for token in self.line.tokens if (token.end_line, token.end) <= here) if self.line else ()

    @property
    def key(self) -> str:
        """The property whose value the cursor is in, or empty."""
        tokens = self.line.tokens if self.line else []
        behind = (
            len(tokens) > 1 and tokens[1].value == ":" and (self.row, self.column) >= (tokens[1].line, tokens[1].column)
        )
        return tokens[0].value if behind else ""

    @property
    def prop(self) -> Prop | None:
        """The property whose value the cursor is in, also as an item of a list below it."""
        if self.key:
            return self.shape.known.get(self.key, self.shape.other) if self.shape else None
        if not self.above or not self.source.lstrip().startswith("-"):
            return None
        outer = ""
        for place, header in enumerate(self.above[:-1]):
            outer = _inner(outer, header.key, top=place == 0)
        return SHAPES[outer].known.get(self.above[-1].key) if outer in SHAPES else None

    @property
    def dotted(self) -> str:
        """The dotted word that ends at the cursor."""
        behind = self.source[: self.column] if self.text is None else self.text
        size = 0
        while size < len(behind) and (behind[-1 - size].isalnum() or behind[-1 - size] in "_."):
            size += 1
        return behind[len(behind) - size :]

    @property
    def word(self) -> str:
        """The whole name around the cursor, or empty."""
        for found in _WORD.finditer(self.source):
            if found.start() <= self.column <= found.end():
                return found[0]
        return ""

    @property
    def span(self) -> tuple[int, int]:
        """The columns of ``word``."""
        for found in _WORD.finditer(self.source):
            if found.start() <= self.column <= found.end():
                return found.span()
        return self.column, self.column

    @property
    def in_comment(self) -> bool:
        """Whether the cursor stands in a comment."""
        if self.text is not None:
            return False
        if self.line is None:
            return self.source.lstrip().startswith("#")
        return any(one.line == self.row and one.column - 1 < self.column for one in self.line.trailing)


def _inner(shape_name: str, key: str, *, top: bool) -> str:
    """The kind of block below the header ``key`` that stands in a block of kind ``shape_name``."""
    if top:
        return key
    if shape_name == "group":
        return key if key in NODE_WORDS else ""
    if shape_name in ITEMS:
        return ITEMS[shape_name]
    shape = SHAPES.get(shape_name)
    prop = shape.known.get(key, shape.other) if shape else None
    return prop.shape if prop else ""


class Lines:
    """A source text, tokenized once, for any number of questions about places in it."""

    def __init__(self, text: str) -> None:
        self.rows = text.replace("\r\n", "\n").split("\n")
        self.lines = tokenize("\n".join(self.rows), "", Diagnostics()).lines

    def spot(self, row: int, column: int) -> Spot:
        """The place at ``row`` (from 1) and ``column`` (from 0); a place outside of the text is moved into it."""
        row = min(max(row, 1), len(self.rows))
        source = self.rows[row - 1]
        column = min(max(column, 0), len(source))
        at = self._line_at(row, column)
        line = self.lines[at] if at >= 0 else None
        text, rest = self._inside(line, row, column) if line else (None, "")
        if line is not None and text is None and row > _last_row(line, with_body=False):
            line = None
        return Spot(row, column, source, line, self._above(row, column, line), text, rest)

    def keys_beside(self, spot: Spot) -> frozenset[str]:
        """The keys of the other lines in the block of ``spot``."""
        header = spot.above[-1].line if spot.above else None
        own = spot.line.tokens[0].line if spot.line else spot.row
        found: set[str] = set()
        inside = header is None
        indent = -1
        for line in self.lines:
            first = line.tokens[0]
            if line is header:
                inside = True
                continue
            if not inside or header is None:
                continue
            if first.column <= header.tokens[0].column:
                break
            indent = first.column if indent < 0 else indent
            if first.column == indent and first.line != own:
                found.add(first.value)
        return frozenset(found)

    def _line_at(self, row: int, column: int) -> int:
        """The index of the last line that starts at ``row`` or above it and reaches it, or -1."""
        low, high = 0, len(self.lines)
        while low < high:
            middle = (low + high) // 2
            if self.lines[middle].tokens[0].line <= row:
                low = middle + 1
            else:
                high = middle
        if not low:
            return -1
        line = self.lines[low - 1]
        if row <= _last_row(line):
            return low - 1
        blank = not self.rows[row - 1].strip()
        return low - 1 if blank and line.body is not None and column >= line.body.column - 1 else -1

    def _inside(self, line: Line, row: int, column: int) -> tuple[str | None, str]:
        source = self.rows[row - 1]
        body = line.body
        if body is not None and row > line.tokens[-1].end_line:
            start = (body.rows[0], body.column - 1) if body.rows else (row, 0)
            return self._between(start, row, column), source[column:]
        for token in line.tokens:
            if token.kind not in STRINGS:
                continue
            mark = 0 if token.kind is Kind.BLOCK else 1
            start = (token.line, token.column - 1 + mark)
            last = self.rows[token.end_line - 1]
            closed = mark and last[token.end - 2 : token.end - 1] in ('"', "`")
            end = token.end - 2 if closed else len(last)
            if start <= (row, column) <= (token.end_line, end):
                return self._between(start, row, column), source[column : end if row == token.end_line else None]
        return None, ""

    def _between(self, start: tuple[int, int], row: int, column: int) -> str:
        first, begin = start
        if row <= first:
            return self.rows[row - 1][begin:column] if row == first else ""
        return "\n".join([self.rows[first - 1][begin:], *self.rows[first : row - 1], self.rows[row - 1][:column]])

    def _above(self, row: int, column: int, line: Line | None) -> tuple[Header, ...]:
        """The headers around a place; on a blank line the cursor's column says how deep it is."""
        limit = line.tokens[0].column - 1 if line else self._depth(row, column)
        first = line.tokens[0].line if line else row
        found: list[Header] = []
        for each in reversed(self.lines):
            indent = each.tokens[0].column - 1
            if each.tokens[0].line < first and indent < limit:
                found.append(_header(each))
                limit = indent
                if not limit:
                    break
        return tuple(reversed(found))

    def _depth(self, row: int, column: int) -> int:
        source = self.rows[row - 1]
        return len(source) - len(source.lstrip(" ")) if source.strip() else column


def _header(line: Line) -> Header:
    tokens = line.tokens
    name = tokens[1].value if len(tokens) > 1 and tokens[1].kind is Kind.NAME else ""
    return Header(tokens[0].value, name, line)


def _last_row(line: Line, *, with_body: bool = True) -> int:
    last = line.tokens[-1].end_line
    return max(last, line.body.rows[-1]) if with_body and line.body is not None and line.body.rows else last
