"""Durations as people write them: ``90s``, ``1h30m``, ``1.5h``, ``250ms`` (interface.md 1). Seconds inside.

Read by the settings and by the options of the command line. A number without a unit is refused, because nobody can
tell whether 15 means seconds or minutes; a bare 0 is the one exception.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.ASCII)
PATTERN: Final = r"^(0|(\d+(\.\d+)?(ms|s|m|h|d))+)$"
LONGEST: Final = 3650 * 86400.0
HOW: Final = "Write it like 90s, 1h30m, 1.5h or 250ms."


def parse_duration(text: str) -> float:
    """Seconds of ``text``; raises ``ValueError`` with a sentence for people."""
    cleaned = text.strip()
    if cleaned == "0":
        return 0.0
    if not re.fullmatch(PATTERN, cleaned, re.ASCII):
        raise ValueError(f'"{text}" is not a duration')
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(cleaned))
    if seconds > LONGEST:
        raise ValueError(f'"{text}" is longer than ten years')
    return seconds


def format_duration(seconds: float) -> str:
    """The shortest usual spelling: 90.0 is ``1m30s``, 0.25 is ``250ms``, 0 is ``0s``."""
    milliseconds = round(seconds * 1000)
    if milliseconds == 0:
        return "0s"
    text = ""
    for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, milliseconds = divmod(milliseconds, size)
        if count:
            text += f"{count}{unit}"
    return text


def _seconds(value: object) -> float:
    if isinstance(value, str):
        return parse_duration(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value == 0:
            return 0.0
        raise ValueError(f"{value} has no unit")
    raise ValueError("not a duration")


Seconds = Annotated[
    float,
    BeforeValidator(_seconds),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": PATTERN, "examples": ["90s", "1h30m", "1.5h", "250ms"]}),
]
"""A length of time in a setting: text in the file, seconds in the program."""
