"""The two ways in which an expression goes wrong: its text cannot be read, or its value cannot be computed.

Raised by the ``expression_*`` modules and by the renderers of templates; callers import them from ``expressions``.
A syntax error is found once, by the compiler (C040); an evaluation error fails a node (language.md 7.2, 8.2).
"""

from __future__ import annotations


class ExpressionSyntaxError(ValueError):
    """The text is no expression. ``offset`` counts characters from 0; ``expected`` says what to write, or is empty."""

    def __init__(self, message: str, offset: int, expected: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.expected = expected


class EvaluationError(ValueError):
    """The value cannot be computed: what was found, in one sentence."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
