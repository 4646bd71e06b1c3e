"""Source text to logical lines (language.md 2).

Called by ``unit`` once per file. Hand-written: it walks the physical lines once, keeps the stack of indentations, and
never looks back. Words are not judged here, with one exception that the language makes: ``prompt NAME:`` opens a body
of raw text. Every problem is reported and stepped over, so that the rest of the file still makes sense.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from engine.dsl.diagnostics import Diagnostics
from engine.dsl.graph import Span
from engine.dsl.source import scan_head
from engine.dsl.tokens import Body, Comment, Kind, Line, Token

MOST_LEVELS = 100
DECLARATIONS = frozenset(
    [
        "vars",
        "presets",
        "attachments",
        "secrets",
        "schema",
        "mcp_server",
        "cursor",
        "supervisor",
        "contract",
        "workflow",
        "agent",
        "judge",
        "router",
        "human",
        "tool",
        "compute",
        "subbot",
        "fail",
        "emit",
        "wait",
        "await_answers",
        "prompt",
        "group",
        "use",
        "import",
    ]
)
ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t", "r": "\r", "0": "\0"}

# Possessive throughout: no alternative is tried twice at one place.
_TOKEN = re.compile(
    r"""[ \t]*+(?:
    (string\[\])
    |([^\W\d]\w*+)
    |([0-9]++(?:\.[0-9]++)?+)
    |"([^"\\\n]*+)"
    |(->)
    |([:=,\[\](){}.*-])
    |(\#.*+)
    |(`)
    |(")
    |(\|[ \t]*+(?:\#.*+)?+$)
    |([^ \t])
    )""",
    re.VERBOSE,
)
_STRINGS, _NAME, _NUMBER, _PLAIN, _ARROW, _PUNCT, _COMMENT, _RAW, _QUOTE, _PIPE, _BAD = range(1, 12)


class Lexed(NamedTuple):
    """The logical lines of a file, the comments after the last of them, its profile, whether a ``dsl:`` line says so,
    and the source lines of texts that profile 2 would read differently (C144)."""

    lines: list[Line]
    comments: tuple[Comment, ...]
    profile: int
    declared: bool
    differs: tuple[int, ...]


def tokenize(text: str, file: str, found: Diagnostics) -> Lexed:
    """The logical lines of ``text``."""
    rows = text.split("\n")
    head = scan_head(rows, file, found)
    lexer = _Lexer(rows, file, found, decodes=head.decodes, keeps_blank=head.profile == 2)
    lexer.run(head.row)
    return Lexed(lexer.lines, tuple(lexer.comments), head.profile, head.row >= 0, tuple(lexer.differs))


class _Lexer:
    def __init__(self, rows: list[str], file: str, found: Diagnostics, *, decodes: bool, keeps_blank: bool) -> None:
        self.rows = rows
        self.file = file
        self.found = found
        self.decodes = decodes
        self.keeps_blank = keeps_blank
        self.lines: list[Line] = []
        self.comments: list[Comment] = []
        self.stack = [0]
        self.row = 0
        self.tab_seen = False
        self.deep_seen = False
        self.differs: list[int] = []

    def run(self, skip: int) -> None:
        """Walk all rows; ``skip`` is the row of the ``dsl:`` header, which is read already."""
        rows, apart = self.rows, False
        while self.row < len(rows):
            text = rows[self.row]
            bare = text.lstrip(" ")
            if not bare.strip(" \t"):
                apart = True
                self.row += 1
                continue
            if bare[0] == "#" or self.row == skip:
                if bare[0] == "#":
                    self.comments.append(Comment(bare.rstrip(), self.row + 1, len(text) - len(bare) + 1))
                self.row += 1
                continue
            if bare[0] == "\t" and bare.lstrip(" \t")[0] == "#":
                self.comments.append(Comment(bare.strip(" \t"), self.row + 1, text.index("#") + 1))
                self.row += 1
                continue
            self._line(text, len(text) - len(bare), apart)
            apart = False

    def _line(self, text: str, indent: int, apart: bool) -> None:
        start = indent
        if text[indent] == "\t":
            start = len(text) - len(text.lstrip(" \t"))
            self._tab(indent)
            indent = len(text[:start].expandtabs(8))
        depth = self._depth(indent, start)
        first = self.row
        tokens: list[Token] = []
        trailing: list[Comment] = []
        self._tokens(tokens, trailing, start)
        body = None
        if len(tokens) == 3 and tokens[0].value == "prompt" and tokens[2].value == ":" and self.row == first + 1:
            body = self._body(indent) if tokens[1].kind is Kind.NAME else None
        before = tuple(self.comments)
        if before:
            self.comments = []
        self.lines.append(Line(depth, tokens, before, tuple(trailing), apart, body))

    def _tab(self, at: int) -> None:
        if not self.tab_seen:
            self.tab_seen = True
            self._report("E003", self.row, at, what="a tab stands in the indentation")

    def _depth(self, indent: int, column: int) -> int:
        stack = self.stack
        if indent > stack[-1]:
            if len(stack) > MOST_LEVELS:
                if not self.deep_seen:
                    self.deep_seen = True
                    self._report("E003", self.row, column, what=f"more than {MOST_LEVELS} levels of indentation")
                return len(stack) - 1
            stack.append(indent)
        elif indent < stack[-1]:
            while len(stack) > 1 and stack[-2] >= indent:
                stack.pop()
            if stack[-1] != indent and not self.tab_seen:
                above = f"columns {stack[-2] + 1} and {stack[-1] + 1}"
                self._report("E003", self.row, column, what=f"this line stands between two levels ({above})")
        return len(stack) - 1

    def _tokens(self, tokens: list[Token], trailing: list[Comment], at: int) -> None:
        """The tokens of the logical line that starts at ``self.row``; leaves ``self.row`` behind it."""
        match, append, braces = _TOKEN.match, tokens.append, 0
        opened: Token | None = None
        text, number = self.rows[self.row], self.row + 1
        while True:
            hit = match(text, at)
            if hit is None:
                self.row += 1
                if braces and self._continues(opened):
                    text, number, at = self.rows[self.row], self.row + 1, 0
                    continue
                return
            which = hit.lastindex or 0
            start, at = hit.span(which)
            value = hit[which]
            if which == _NAME:
                append(Token(Kind.NAME, value, number, start + 1, number, at + 1))
                if not value.isascii():
                    self._check_name(tokens)
            elif which == _PUNCT:
                append(Token(Kind.PUNCT, value, number, start + 1, number, at + 1))
                if value == "{":
                    braces += 1
                    opened = opened or tokens[-1]
                elif value == "}":
                    braces = max(0, braces - 1)
                    opened = opened if braces else None
            elif which == _PLAIN:
                at += 1
                append(Token(Kind.QUOTED, value, number, start, number, at + 1))
            elif which == _COMMENT:
                trailing.append(Comment(value.rstrip(), number, start + 1))
            elif which == _PIPE and not braces and tokens and tokens[-1].value == ":":
                self._comment_of_pipe(value, number, start, trailing)
                self._block_scalar(tokens, number, start)
                return
            else:
                at = self._rare(tokens, which, value, start, at)
                text, number = self.rows[self.row], self.row + 1

    def _continues(self, opened: Token | None) -> bool:
        """Whether the next row may belong to an open brace; an unclosed one is reported where a declaration starts."""
        if self.row < len(self.rows):
            words = self.rows[self.row].split(None, 2)
            declares = len(words) > 1 and words[0] in DECLARATIONS and words[1].rstrip().endswith((":", ")"))
            if not (declares and self.rows[self.row][0] == words[0][0]):
                return True
        if opened is not None:
            place = Span(self.file, opened.line, opened.column)
            self.found.add("E002", place, what="the `}` for this `{`", expected="`}`")
        return False

    def _rare(self, tokens: list[Token], which: int, value: str, start: int, at: int) -> int:
        number = self.row + 1
        if which == _ARROW:
            tokens.append(Token(Kind.ARROW, value, number, start + 1, number, at + 1))
        elif which == _NUMBER:
            kind = Kind.FLOAT if "." in value else Kind.INT
            tokens.append(Token(kind, value, number, start + 1, number, at + 1))
        elif which == _STRINGS:
            tokens.append(Token(Kind.STRINGS, value, number, start + 1, number, at + 1))
        elif which == _RAW:
            return self._raw(tokens, start)
        elif which == _QUOTE:
            return self._quoted(tokens, start)
        else:
            tokens.append(Token(Kind.BAD, value[0], number, start + 1, number, start + 2))
            return start + 1
        return at

    def _check_name(self, tokens: list[Token]) -> None:
        name = tokens[-1]
        if not (name.value[0].isalpha() or name.value[0] == "_"):
            tokens[-1] = name._replace(kind=Kind.BAD)

    def _raw(self, tokens: list[Token], start: int) -> int:
        """A raw string from the backtick at ``start``, over any number of rows."""
        first, text = self.row, self.rows[self.row]
        end = text.find("`", start + 1)
        if end >= 0:
            tokens.append(Token(Kind.RAW, text[start + 1 : end], first + 1, start + 1, first + 1, end + 2))
            return end + 1
        parts = [text[start + 1 :]]
        for row in range(first + 1, len(self.rows)):
            text = self.rows[row]
            end = text.find("`")
            if end >= 0:
                parts.append(text[:end])
                self.row = row
                tokens.append(Token(Kind.RAW, "\n".join(parts), first + 1, start + 1, row + 1, end + 2))
                return end + 1
            parts.append(text)
        self._report("E004", first, start, quote="a backtick")
        self.row = self._next_declaration(first + 1) - 1
        text = self.rows[self.row]
        tokens.append(Token(Kind.RAW, parts[0], first + 1, start + 1, self.row + 1, len(text) + 1))
        return len(text)

    def _next_declaration(self, row: int) -> int:
        """The first row from ``row`` on that looks like a declaration, or the number of rows."""
        while row < len(self.rows):
            word = self.rows[row].split(":", 1)[0].split(None, 1)
            if word and word[0] in DECLARATIONS and self.rows[row][0] == word[0][0]:
                return row
            row += 1
        return row

    def _quoted(self, tokens: list[Token], start: int) -> int:
        """A string with a backslash, or without its end."""
        text, parts, at = self.rows[self.row], [], start + 1
        while at < len(text) and text[at] != '"':
            if text[at] != "\\":
                parts.append(text[at])
                at += 1
                continue
            pair = text[at : at + 2]
            if not self.decodes:
                if not self.differs or self.differs[-1] != self.row + 1:
                    self.differs.append(self.row + 1)
                parts.append(pair)
            elif pair[1:] in ESCAPES:
                parts.append(ESCAPES[pair[1:]])
            else:
                parts.append(pair)
                if len(pair) == 2:
                    self._report("E005", self.row, at, escape=pair)
            at += 2
        number = self.row + 1
        if at >= len(text):
            self._report("E004", self.row, start, quote='`"` on the same line')
            at = len(text) - 1
        tokens.append(Token(Kind.QUOTED, "".join(parts), number, start + 1, number, at + 2))
        return at + 1

    def _comment_of_pipe(self, value: str, number: int, start: int, trailing: list[Comment]) -> None:
        mark = value.find("#")
        if mark >= 0:
            trailing.append(Comment(value[mark:].rstrip(), number, start + mark + 1))

    def _block_scalar(self, tokens: list[Token], number: int, start: int) -> None:
        """The text below a ``|``: from the first line that is not blank on, as long as lines reach its column."""
        rows, row = self.rows, self.row + 1
        while row < len(rows) and not rows[row].strip(" \t"):
            row += 1
        base = len(rows[row]) - len(rows[row].lstrip(" ")) if row < len(rows) else 0
        if base <= self.stack[-1]:
            self._report("E002", number - 1, start, what="the text of `|`", expected="it below, indented deeper")
            tokens.append(Token(Kind.BLOCK, "", number, start + 1, number, start + 2))
            self.row += 1
            return
        first, parts, margin = row, [], " " * base
        while row < len(rows):
            text = rows[row]
            if not text.strip(" \t"):
                parts.append("")
            elif text.startswith(margin):
                parts.append(text[base:])
            else:
                break
            row += 1
        if row == len(rows) and parts and not parts[-1]:
            parts.pop()
        value = "\n".join(parts) + "\n"
        tokens.append(Token(Kind.BLOCK, value, first + 1, base + 1, row, len(rows[row - 1]) + 1))
        self.row = row

    def _body(self, indent: int) -> Body | None:
        """The body of a prompt whose header stands at column ``indent``, None when no deeper line follows."""
        rows, row = self.rows, self.row
        while row < len(rows) and not rows[row].strip(" \t"):
            row += 1
        base = len(rows[row]) - len(rows[row].lstrip(" ")) if row < len(rows) else 0
        if base <= indent:
            return None
        parts: list[str] = []
        places: list[int] = []
        margin, blank = " " * base, 0
        while row < len(rows):
            text = rows[row]
            if not text.strip(" \t"):
                blank += 1
            elif text.startswith(margin):
                if self.keeps_blank and parts:
                    parts.extend([""] * blank)
                    places.extend(range(row - blank + 1, row + 1))
                elif blank and parts:
                    self.differs.append(row)
                blank = 0
                parts.append(text[base:])
                places.append(row + 1)
            else:
                break
            row += 1
        after = self._after_body(row, indent)
        self.row = after if after > row else row - blank
        return Body("\n".join(parts), tuple(places), base + 1)

    def _after_body(self, row: int, indent: int) -> int:
        """Skip what is neither body nor back at the header's column, with one word about it."""
        rows, first = self.rows, row
        while row < len(rows):
            text = rows[row]
            start = len(text) - len(text.lstrip(" "))
            if text.strip(" \t") and start <= indent:
                break
            if row == first:
                self._report("E003", row, start, what="this line is indented less than the text of the prompt above")
            row += 1
        return row

    def _report(self, code: str, row: int, at: int, **fields: str) -> None:
        self.found.add(code, Span(self.file, row + 1, at + 1), **fields)


def describe(value: str) -> str:
    """An unexpected character in words."""
    if value in ("“", "”", "‘", "’"):
        return f"quotation mark `{value}`"
    if value.isprintable() and value.isascii():
        return f"character `{value}`"
    name = unicodedata.name(value[0], "control character")
    return f"character U+{ord(value[0]):04X} ({name.lower()})"
