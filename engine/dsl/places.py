"""Where in the source a character of a text stands, for diagnostics about the inside of strings and prompts.

Exact for raw strings, block scalars, prompt bodies and quoted strings without decoded escapes; elsewhere close to it.
"""

from __future__ import annotations

from engine.dsl.ast import Scalar, Style, Text
from engine.dsl.graph import Span


def inside(scalar: Scalar, offset: int) -> Span:
    """The place of character ``offset`` (from 0) of a literal's text."""
    span, before = scalar.span, scalar.text[: max(0, offset)]
    rows = before.count("\n") if scalar.style in (Style.RAW, Style.BLOCK) else 0
    in_row = len(before) - (before.rfind("\n") + 1) if rows else len(before)
    if scalar.style is Style.BLOCK:
        return Span(span.file, span.line + rows, span.column + in_row)
    if scalar.style is Style.RAW and rows:
        return Span(span.file, span.line + rows, in_row + 1)
    quote = 0 if scalar.style in (Style.BARE, Style.DOTTED) else 1
    return Span(span.file, span.line, span.column + quote + in_row)


def inside_text(text: Text, offset: int) -> Span:
    """The place of character ``offset`` of a prompt; of the prompt itself when its text is not that of the source."""
    before = text.value[: max(0, offset)]
    row = before.count("\n")
    if row >= len(text.rows):
        return text.span
    return Span(text.span.file, text.rows[row], text.span.column + len(before) - (before.rfind("\n") + 1))
