"""Values of the tree as source text: names, strings in their four forms, lists, types (language.md 2.3 to 2.5).

Used by ``printer``. A string keeps the form in which it was written wherever that form can say it, since the author
chose it; otherwise the first form that can. Text that no form can hold raises ``Unprintable``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from engine.dsl.ast import Constraint, ListValue, Scalar, ScalarKind, Style, TypeValue
from engine.dsl.textform import float_text

_NAME: Final = re.compile(r"[^\W\d]\w*")
_DOTTED: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(\.\*)?")
_AS_WRITTEN: Final = re.compile(r'(?:[^"\\\n]|\\[^\n])*')
_ESCAPE: Final = re.compile(r'["\\\n\t\r\0]')
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
_BOOLS: Final = frozenset({"true", "false"})


class Unprintable(ValueError):
    """No form of a string can hold this text."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How strings are written in one file; ``decodes`` says whether ``"…"`` decodes escapes there."""

    decodes: bool

    def name(self, text: str) -> str:
        """A key: bare when it is a name, else in quotes or backticks."""
        return text if is_name(text) else self.string(text)

    def string(self, text: str, style: Style = Style.QUOTED) -> str:
        """A string on the rest of the line, in ``style`` when that can hold it. Raises ``Unprintable``."""
        for form in (style, Style.QUOTED, Style.RAW):
            if form in _INLINE and (written := _INLINE[form](text, self.decodes)) is not None:
                return written
        raise Unprintable(f"no string can hold {text[:40]!r} here; move it into a prompt or use `dsl: 2`")

    def block(self, scalar: Scalar) -> list[str] | None:
        """The lines of a ``|`` scalar when that is the form to take, else None."""
        if scalar.style is Style.NESTED or not isinstance(scalar.value, str) or not is_block(scalar.value):
            return None
        if scalar.style is not Style.BLOCK and self._has_inline(scalar.value, scalar.style):
            return None
        return scalar.value[:-1].split("\n")

    def _has_inline(self, text: str, style: Style) -> bool:
        return any(_INLINE[form](text, self.decodes) is not None for form in (style, Style.QUOTED, Style.RAW))

    def scalar(self, scalar: Scalar) -> str:
        """A literal or word on the rest of the line."""
        if isinstance(scalar.value, str):
            if scalar.style is Style.NESTED:
                return scalar.value
            return self.string(scalar.value, scalar.style)
        return scalar.spelling or _literal(scalar)

    def items(self, found: ListValue) -> str:
        """``[a, b]``."""
        return f"[{', '.join(map(self.scalar, found.items))}]"

    def type(self, found: TypeValue) -> str:
        """A type with its constraints and default."""
        parts = [found.name + ("?" if found.optional and not found.constraints else "")]
        parts += map(self._constraint, found.constraints)
        if found.optional and found.constraints:
            parts.append("?")
        if found.default is not None:
            default = found.default
            parts += ("=", self.items(default) if isinstance(default, ListValue) else self.scalar(default))
        return " ".join(parts)

    def _constraint(self, found: Constraint) -> str:
        return f"[{found.name}: {', '.join(map(self.string, found.values))}]"


def is_name(text: str) -> bool:
    """Whether the lexer reads ``text`` as one name."""
    return _NAME.fullmatch(text) is not None and (text[0].isalpha() or text[0] == "_")


def is_block(text: str) -> bool:
    """Whether a ``|`` scalar can hold ``text``."""
    if not text.endswith("\n") or "\0" in text or "\r" in text:
        return False
    lines = text[:-1].split("\n")
    return bool(lines[0]) and lines[0][0] != " " and all(not line or line.strip(" \t") for line in lines)


def _bare(text: str, _decodes: bool) -> str | None:
    return text if is_name(text) and text not in _BOOLS else None


def _dotted(text: str, _decodes: bool) -> str | None:
    names = text.removesuffix(".*").split(".")
    return text if "." in text and _DOTTED.fullmatch(text) and all(map(is_name, names)) else None


def _quoted(text: str, decodes: bool) -> str | None:
    if decodes:
        return f'"{_ESCAPE.sub(lambda found: _ESCAPES[found.group()], text)}"'
    return f'"{text}"' if "\0" not in text and _AS_WRITTEN.fullmatch(text) else None


def _raw(text: str, _decodes: bool) -> str | None:
    return None if "`" in text or "\0" in text or "\r\n" in text else f"`{text}`"


_INLINE: Final[dict[Style, Callable[[str, bool], str | None]]] = {
    Style.BARE: _bare, Style.DOTTED: _dotted, Style.QUOTED: _quoted, Style.RAW: _raw,
}  # fmt: skip


def _literal(scalar: Scalar) -> str:
    if scalar.kind is ScalarKind.BOOL:
        return "true" if scalar.value else "false"
    if scalar.kind is ScalarKind.FLOAT:
        text = float_text(float(scalar.value))
        return text if "." in text else text + ".0"
    return str(scalar.value)
