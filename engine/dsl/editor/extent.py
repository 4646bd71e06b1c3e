"""Where a finding ends: the compiler says where it starts, an editor underlines a stretch.

Used by ``hover`` and by the language server. Columns count characters from 0.
"""

from __future__ import annotations

import re

from engine.dsl.diagnostics import Diagnostic

_STRETCH = re.compile(r"\{\{[^{}]*+\}\}|[\w.]++|->|\"[^\"]*+\"?+|\S")


def extent(found: Diagnostic, row: str) -> tuple[int, int]:
    """The columns of a finding in its ``row``: a reference with its braces, a dotted word, a string, else one mark."""
    start = min(found.column - 1, len(row))
    stretch = _STRETCH.match(row, start)
    return start, stretch.end() if stretch else max(start, len(row.rstrip()))
