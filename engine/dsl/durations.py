"""Durations: ``90s``, ``1h30m``, ``1.5h`` <-> seconds (language.md 10).

Used by the compiler, by budgets and by the command line. Exact to the nanosecond inside; a sign, blanks and bare
numbers are refused.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

UNITS: Final = {
    "h": 3_600_000_000_000, "m": 60_000_000_000, "s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1,
}  # fmt: skip
_PART: Final = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)(ms|us|ns|h|m|s)")
_WHOLE: Final = re.compile(rf"(?:{_PART.pattern})+")


class DurationError(ValueError):
    """The text is no duration."""


def parse_duration(text: str) -> float:
    """The seconds of ``text``. Raises ``DurationError``."""
    return float(Fraction(parse_nanoseconds(text)) / UNITS["s"])


def parse_nanoseconds(text: str) -> int:
    """The nanoseconds of ``text``, a part of one cut off. Raises ``DurationError``."""
    if not _WHOLE.fullmatch(text):
        raise DurationError(f"'{text[:60]}' is no duration; write it like 90s, 20m or 1h30m")
    return int(sum(Fraction(amount) * UNITS[unit] for amount, unit in _PART.findall(text)))


def format_duration(seconds: float) -> str:
    """Seconds as a duration that reads back: ``1h30m``, ``1.5s``, ``250ms``; to the nanosecond, never negative."""
    left = round(Fraction(max(seconds, 0.0)) * UNITS["s"])
    if left == 0:
        return "0s"
    if left < UNITS["s"]:
        unit = next(name for name in ("ms", "us", "ns") if left >= UNITS[name])
        return f"{_decimal(left, UNITS[unit])}{unit}"
    parts = []
    for unit in ("h", "m"):
        count, left = divmod(left, UNITS[unit])
        parts.append(f"{count}{unit}" if count else "")
    return "".join(parts) + (f"{_decimal(left, UNITS['s'])}s" if left else "")


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    if not rest:
        return str(whole)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0")
