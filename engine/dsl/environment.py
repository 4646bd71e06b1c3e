"""Environment forms in the values of properties: ``$NAME``, ``${NAME}``, ``${NAME:-default}`` (language.md 2.6).

Pure: the caller gives the environment, without the names that the configuration declares secret, and knows which
properties are expanded. Commands and scripts of tools never are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

MAX_NESTING: Final = 100
_FORM: Final = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)(\}|:-))")
_BRACE: Final = re.compile(r"[{}]")


def has_forms(text: str) -> bool:
    """Whether ``text`` holds an environment form, so that its value is known at launch only."""
    return "$" in text and _FORM.search(text) is not None


def expand(text: str, environ: Mapping[str, str]) -> str:
    """``text`` with every form replaced, in one pass.

    The default applies when the name is unset or empty and may hold forms itself; unset without default is empty. Any
    other ``$``, an unclosed brace, and forms nested deeper than a hundred levels stay as they are.
    """
    return _expand(text, environ, MAX_NESTING) if "$" in text else text


def _expand(text: str, environ: Mapping[str, str], levels: int) -> str:
    parts: list[str] = []
    done = 0
    while levels and (found := _FORM.search(text, done)):
        name = found.group(1) or found.group(2)
        end = found.end()
        filled = environ.get(name, "")
        if found.group(3) == ":-":
            close = _closing_brace(text, end)
            if close < 0:
                parts.append(text[done:end])
                done = end
                continue
            filled = filled or _expand(text[end:close], environ, levels - 1)
            end = close + 1
        parts += (text[done : found.start()], filled)
        done = end
    parts.append(text[done:])
    return "".join(parts)


def _closing_brace(text: str, start: int) -> int:
    """Where the brace closes that was opened before ``start``, counting those between; -1 when nowhere."""
    depth = 1
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.start()
    return -1
