"""Blocks: the indented lines below a header (language.md 3).

``Lines`` walks the logical lines of a file. A line that makes no sense is reported once and left behind together with
everything that is indented below it.
"""

from __future__ import annotations

from engine.dsl.ast import Block, BlockEntry, Declaration, ListValue, Property, Scalar, Trivia, Value, WithLine
from engine.dsl.diagnostics import Diagnostics, suggestion
from engine.dsl.graph import Span
from engine.dsl.parser.cursor import LINE_END, STRING_KINDS, Cursor, LineUnclear
from engine.dsl.parser.edges import edge
from engine.dsl.parser.nested import is_nested, nested
from engine.dsl.parser.values import braces, item, scalar_of, value
from engine.dsl.tokens import Kind, Line

NODE_WORDS = ("agent", "judge", "router", "human", "tool", "compute", "subbot", "fail", "emit", "wait", "await_answers")


class Lines:
    """The logical lines of one file and the place in them. ``nests``: values may hold lists and maps in one another."""

    def __init__(self, lines: list[Line], file: str, found: Diagnostics) -> None:
        self.lines = lines
        self.file = file
        self.found = found
        self.at = 0
        self.unclear: set[str] = set()
        self.nests = False

    def skip_deeper(self, depth: int) -> None:
        """Step over all lines below ``depth``."""
        lines, at = self.lines, self.at
        while at < len(lines) and lines[at].depth > depth:
            at += 1
        self.at = at

    def block(self, depth: int, *, nodes: bool = False) -> Block | None:
        """The block of lines deeper than ``depth``, None when there is none. ``nodes``: declarations are welcome."""
        lines = self.lines
        if self.at >= len(lines) or lines[self.at].depth <= depth:
            return None
        inner = lines[self.at].depth
        span = self._span(lines[self.at])
        entries: list[BlockEntry] = []
        unclear = False
        while self.at < len(lines) and (line := lines[self.at]).depth > depth:
            if line.depth != inner:
                self.found.add("E001", self._span(line), found="indentation", expected="return to the column above")
                self.skip_deeper(inner)
                continue
            self.at += 1
            try:
                entries.append(self._entry(line, nodes))
            except LineUnclear:
                unclear = True
                self.skip_deeper(inner)
        return Block(tuple(entries), span, unclear=unclear)

    def _span(self, line: Line) -> Span:
        first = line.tokens[0]
        return Span(self.file, first.line, first.column)

    def _entry(self, line: Line, nodes: bool) -> BlockEntry:
        tokens = line.tokens
        first = tokens[0]
        second = tokens[1].value if len(tokens) > 1 and tokens[1].kind not in STRING_KINDS else ""
        trivia = trivia_of(line)
        if second == ":" and (first.kind is Kind.NAME or first.kind in STRING_KINDS):
            return self._property(line, trivia)
        cursor = Cursor(line, self.file, self.found)
        if first.kind is Kind.NAME:
            if second in ("->", "."):
                entry = edge(cursor, trivia)
                return self._closed(entry, line)
            if first.value == "with" and second == "{":
                cursor.at = 1
                found = WithLine(braces(cursor), self._span(line), trivia)
                cursor.end(LINE_END)
                return self._closed(found, line)
            if nodes and first.value in NODE_WORDS:
                return self.node(line, trivia)
        raise self._no_entry(cursor, nodes)

    def _closed(self, entry: BlockEntry, line: Line) -> BlockEntry:
        """``entry``, which has no block of its own."""
        if self.at < len(self.lines) and self.lines[self.at].depth > line.depth:
            place = self._span(self.lines[self.at])
            self.found.add("E001", place, found="indentation", expected="return to the column of the line above")
            self.skip_deeper(line.depth)
        return entry

    def _no_entry(self, cursor: Cursor, nodes: bool) -> LineUnclear:
        first = cursor.tokens[0]
        if first.kind is not Kind.NAME:
            return cursor.unexpected("a line `key: value`")
        after = cursor.peek(1)
        if nodes and after is not None and after.kind is Kind.NAME:
            hint = suggestion(first.value, NODE_WORDS)
            self.unclear.add(after.value)
            self.found.add("E001", cursor.span(), found=f"`{first.value}`", expected="a node", hint=hint)
            return LineUnclear()
        cursor.at = 1
        return cursor.missing(f"`:` after `{first.value}`", f"`{first.value}: …`")

    def _property(self, line: Line, trivia: Trivia | None) -> Property:
        tokens, first = line.tokens, line.tokens[0]
        span = Span(self.file, first.line, first.column)
        found: Value | None = None
        try:
            if len(tokens) > 2:
                cursor = Cursor(line, self.file, self.found, 2)
                found = (scalar_of(tokens[2], cursor) if len(tokens) == 3 else None) or self._value(cursor)
                if len(tokens) > 3:
                    cursor.end(LINE_END)
        except LineUnclear:
            self.skip_deeper(line.depth)
            return Property(first.value, None, None, span, trivia, broken=True)
        lines = self.lines
        if self.at >= len(lines) or lines[self.at].depth <= line.depth:
            return Property(first.value, found, None, span, trivia)
        dash = lines[self.at].tokens[0]
        if found is None and dash.value == "-" and dash.kind is Kind.PUNCT:
            return Property(first.value, self._dashes(line.depth), None, span, trivia)
        return Property(first.value, found, self.block(line.depth), span, trivia)

    def _value(self, cursor: Cursor) -> Value:
        return nested(cursor) if self.nests and is_nested(cursor) else value(cursor)

    def _dashes(self, depth: int) -> ListValue:
        items: list[Scalar] = []
        trivia: list[Trivia | None] = []
        span = self._span(self.lines[self.at])
        inner = self.lines[self.at].depth
        while self.at < len(self.lines) and (line := self.lines[self.at]).depth > depth:
            self.at += 1
            cursor = Cursor(line, self.file, self.found)
            try:
                if line.depth != inner or not cursor.accept("-"):
                    raise cursor.unexpected("`- item`")
                items.append(item(cursor))
                trivia.append(trivia_of(line))
                cursor.end(LINE_END)
            except LineUnclear:
                self.skip_deeper(inner)
        return ListValue(tuple(items), span, dashes=True, trivia=tuple(trivia))

    def node(self, line: Line, trivia: Trivia | None) -> Declaration:
        """``KIND NAME:`` with its block, at the top level or in a group; a node needs a body."""
        cursor = Cursor(line, self.file, self.found, 1)
        kind, name = line.tokens[0].value, cursor.name("the name of the node")
        name_span = cursor.span(name)
        try:
            cursor.expect(":")
            cursor.end(LINE_END)
        except LineUnclear:
            self.unclear.add(name.value)
            raise
        if name.value in ("done", "fail"):
            self.found.add("E011", name_span, kind=kind, name=name.value)
        block = self.block(line.depth)
        if block is None:
            what = f"the body of {kind} `{name.value}`"
            self.found.add("E002", cursor.span(line.tokens[0]), what=what, expected="its properties below, indented")
        return Declaration(kind, name.value, block, self._span(line), name_span, trivia=trivia)


def trivia_of(line: Line) -> Trivia | None:
    """The comments around a line, None when there is nothing to keep."""
    if line.comments or line.trailing or line.apart:
        return Trivia(line.comments, line.trailing, line.apart)
    return None
