"""Source bytes -> the same source in the usual form, or why not. For ``pointsman fmt``.

Pure: whoever calls it reads and writes the file. The result says the same, which is proved each time: it is parsed
again, and its tree and comments are compared with those of the source.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from engine.dsl.ast import File
from engine.dsl.diagnostics import Diagnostic, Diagnostics
from engine.dsl.lexer import tokenize
from engine.dsl.parser import parse
from engine.dsl.printer import print_file
from engine.dsl.source import decode
from engine.dsl.spelling import Unprintable


@dataclass(frozen=True, slots=True)
class Formatted:
    """``text`` is the source in the usual form. With ``errors`` or a ``problem`` it is empty and nothing may be
    written: the source could not be read, or not be written down without changing what it says."""

    text: str = ""
    errors: tuple[Diagnostic, ...] = ()
    problem: str = ""


def format_source(data: bytes, name: str) -> Formatted:
    """The usual form of the source file ``name``: UTF-8, no byte-order mark, LF."""
    found = Diagnostics()
    source = decode(data, name, found)
    tree = parse(source, name, found)
    errors = tuple(each for each in found if each.is_error)
    if errors:
        return Formatted(errors=errors)
    try:
        text = print_file(tree, source)
    except Unprintable as problem:
        return Formatted(problem=str(problem))
    return Formatted(text) if _same(tree, source, text) else Formatted(problem="the usual form would say another thing")


def _same(tree: File, source: str, text: str) -> bool:
    found = Diagnostics()
    again = parse(text, tree.path, found)
    unharmed = not any(each.is_error for each in found)
    return unharmed and again == tree and _comments(source) == _comments(text)


def _comments(text: str) -> Counter[str]:
    lexed = tokenize(text, "", Diagnostics())
    lines = [comment.text for line in lexed.lines for comment in (*line.comments, *line.trailing)]
    return Counter([*lines, *(comment.text for comment in lexed.comments)])
