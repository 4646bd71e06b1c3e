"""Patterns of ``[matching: …]``: Python's regular expressions, tried on a value for a bounded time.

Called by ``data`` for defaults and by ``values`` at launch. A pattern comes from a file that anybody may have written:
one that backtracks without end must not hang a compiler, a daemon or an editor (language.md 4.1, 17). The syntax is
judged by ``re``; the search is done by ``regex``, which reads the same syntax and can be stopped.
"""

from __future__ import annotations

import re

LONGEST = 1000
"""Characters of a pattern; a longer one is refused when it is read."""
SECONDS = 0.5
"""How long one search may take; a value on which it takes longer does not match."""


def problem_of(pattern: str) -> str:
    """Why ``pattern`` cannot be used, or nothing."""
    if len(pattern) > LONGEST:
        return f"it has more than {LONGEST} characters"
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as problem:
        return str(problem)
    return ""


def matches(pattern: str, value: str) -> bool:
    """Whether the pattern is found anywhere in ``value``; False as well when the search takes longer than allowed."""
    import regex

    try:
        return regex.search(pattern, value, timeout=SECONDS) is not None
    except (TimeoutError, regex.error):
        return False
