"""Logical lines to the tree of one file (language.md 3).

Called by ``unit`` once per file. Recursive descent, one level of recursion per level of indentation (at most 100).
Nothing is raised for bad source: what makes no sense is reported and left out of the tree.
"""

from __future__ import annotations

from engine.dsl.ast import Declaration, File, Import, Text, Trivia, Use
from engine.dsl.diagnostics import Diagnostics, suggestion
from engine.dsl.graph import Span
from engine.dsl.lexer import tokenize
from engine.dsl.parser.blocks import NODE_WORDS, Lines, trivia_of
from engine.dsl.parser.cursor import Cursor, LineUnclear
from engine.dsl.parser.values import braces
from engine.dsl.tokens import Kind, Line

TOP_BLOCKS = ("vars", "presets", "attachments", "secrets")
EMPTY_ALLOWED = ("schema", "mcp_server", "cursor", "supervisor", "contract", "workflow")
WORDS = (*TOP_BLOCKS, *EMPTY_ALLOWED, *NODE_WORDS, "prompt", "group", "use", "import")

__all__ = ["parse"]


def parse(text: str, path: str, found: Diagnostics) -> File:
    """The tree of the source ``text`` of the file ``path``."""
    lexed = tokenize(text, path, found)
    parser = _Parser(Lines(lexed.lines, path, found))
    parser.run()
    return File(
        path,
        lexed.profile,
        tuple(parser.imports),
        tuple(parser.declarations),
        lexed.comments,
        frozenset(parser.source.unclear),
        () if lexed.declared else tuple(Span(path, line, 1) for line in lexed.differs),
    )


class _Parser:
    def __init__(self, source: Lines) -> None:
        self.source = source
        self.found = source.found
        self.imports: list[Import] = []
        self.declarations: list[Declaration | Use] = []

    def run(self) -> None:
        source = self.source
        while source.at < len(source.lines):
            line = source.lines[source.at]
            source.at += 1
            cursor = Cursor(line, source.file, self.found)
            if line.depth and not (cursor.sees("dsl") and cursor.sees(":", 1)):
                self.found.add("E001", cursor.span(), found="indentation", expected="start it in column 1")
                source.skip_deeper(0)
                continue
            try:
                self._top(line, cursor)
            except LineUnclear:
                source.skip_deeper(line.depth)

    def _top(self, line: Line, cursor: Cursor) -> None:
        first = line.tokens[0]
        trivia = trivia_of(line)
        if first.kind is not Kind.NAME:
            raise cursor.unexpected("a declaration, such as `tool NAME:`")
        word = first.value
        if cursor.sees(":", 1) and word in TOP_BLOCKS:
            self.declarations.append(self._top_block(line, cursor, trivia))
        elif cursor.sees(":", 1) and word == "dsl":
            self.found.add("E041", cursor.span())
        elif word == "import":
            self._import(cursor, trivia)
        elif word == "use":
            self.declarations.append(self._use(cursor, trivia))
        elif word == "prompt":
            self.declarations.append(self._prompt(line, cursor, trivia))
        elif word == "group":
            self.declarations.append(self._group(line, cursor, trivia))
        elif word in NODE_WORDS:
            self.declarations.append(self.source.node(line, trivia))
        elif word in EMPTY_ALLOWED:
            self.declarations.append(self._named(line, cursor, trivia))
        else:
            raise self._unknown(cursor)

    def _unknown(self, cursor: Cursor) -> LineUnclear:
        word = cursor.tokens[0].value
        after = cursor.peek(1)
        if after is not None and after.kind is Kind.NAME:
            self.source.unclear.add(after.value)
        self._forgive_below(cursor.tokens[0].line)
        hint = suggestion(word, WORDS, "a declaration starts with a word such as tool, workflow, schema, prompt")
        self.found.add("E001", cursor.span(), found=f"`{word}`", expected="a declaration", hint=hint)
        return LineUnclear()

    def _forgive_below(self, line: int) -> None:
        """What stands below an unknown header may be no source at all, such as the text of a misspelt prompt."""
        source, at = self.source, self.source.at
        while at < len(source.lines) and source.lines[at].depth:
            at += 1
        last = source.lines[at - 1].tokens[-1].end_line if at > source.at else line
        self.found.forgive(source.file, line + 1, last)

    def _top_block(self, line: Line, cursor: Cursor, trivia: Trivia | None) -> Declaration:
        cursor.at = 2
        cursor.end("the end of the line")
        span = cursor.span(line.tokens[0])
        return Declaration(line.tokens[0].value, "", self.source.block(line.depth), span, span, trivia=trivia)

    def _header(self, line: Line, cursor: Cursor) -> None:
        """The rest of a header behind the name: a colon and the end."""
        try:
            cursor.expect(":")
            cursor.end("the end of the line")
        except LineUnclear:
            self.source.unclear.add(line.tokens[1].value)
            raise

    def _named(self, line: Line, cursor: Cursor, trivia: Trivia | None) -> Declaration:
        cursor.at = 1
        kind, name = line.tokens[0].value, cursor.name(f"the name of the {line.tokens[0].value}")
        self._header(line, cursor)
        self.source.nests = kind == "contract"
        block = self.source.block(line.depth)
        self.source.nests = False
        if block is None:
            self._empty(line, cursor)
        return Declaration(kind, name.value, block, cursor.span(line.tokens[0]), cursor.span(name), trivia=trivia)

    def _empty(self, line: Line, cursor: Cursor) -> None:
        """A header without body is fine before a blank line and at the end of the file (E002)."""
        source = self.source
        if source.at < len(source.lines) and not source.lines[source.at].apart:
            what = f"the body of {line.tokens[0].value} `{line.tokens[1].value}`"
            expected = "it below, indented, or leave a blank line"
            self.found.add("E002", cursor.span(line.tokens[0]), what=what, expected=expected)

    def _prompt(self, line: Line, cursor: Cursor, trivia: Trivia | None) -> Declaration:
        cursor.at = 1
        name = cursor.name("the name of the prompt")
        self._header(line, cursor)
        span, body = cursor.span(line.tokens[0]), line.body
        if body is None:
            if self.source.at < len(self.source.lines) and self.source.lines[self.source.at].depth > line.depth:
                self.source.skip_deeper(line.depth)
            else:
                self._empty(line, cursor)
            text = Text("", span)
        else:
            place = cursor.span(line.tokens[0])
            place = type(place)(place.file, body.rows[0], body.column)
            text = Text(body.text, place, body.rows)
        return Declaration("prompt", name.value, None, span, cursor.span(name), text=text, trivia=trivia)

    def _group(self, line: Line, cursor: Cursor, trivia: Trivia | None) -> Declaration:
        cursor.at = 1
        name = cursor.name("the name of the group")
        parameters: list[str] = []
        if cursor.accept("("):
            while not cursor.accept(")"):
                parameter = cursor.name("the name of a parameter")
                if parameter.value in parameters:
                    where = f"line {line.tokens[0].line}"
                    cursor.found.add(
                        "E010", cursor.span(parameter), what="parameter", name=parameter.value, first=where
                    )
                parameters.append(parameter.value)
                if not cursor.accept(",") and not cursor.sees(")"):
                    raise cursor.missing("`)`", "`,` or `)`")
        self._header(line, cursor)
        block = self.source.block(line.depth, nodes=True)
        if block is None:
            self._empty(line, cursor)
        span = cursor.span(line.tokens[0])
        return Declaration("group", name.value, block, span, cursor.span(name), tuple(parameters), trivia=trivia)

    def _use(self, cursor: Cursor, trivia: Trivia | None) -> Use:
        cursor.at = 1
        group = cursor.name("the name of a group")
        cursor.expect("as", "`use GROUP as PREFIX`")
        prefix = cursor.name("the prefix of the copy")
        bindings = None
        if cursor.accept("with"):
            bindings = braces(cursor)
        cursor.end("`with { … }` or the end of the line")
        return Use(group.value, prefix.value, bindings, cursor.span(cursor.tokens[0]), cursor.span(prefix), trivia)

    def _import(self, cursor: Cursor, trivia: Trivia | None) -> None:
        cursor.at = 1
        path = cursor.string("the path")
        if self.declarations:
            self.found.add("E044", cursor.span(cursor.tokens[0]))
        self.imports.append(Import(path.value, cursor.span(path), trivia))
        cursor.end("the end of the line")
