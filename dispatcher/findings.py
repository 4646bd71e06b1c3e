"""What a check of ``pointsman doctor`` found: its id, how grave it is, one sentence, one remedy (connectors.md 22).

Made by ``checkup`` and the checks of forges; shown by ``cli/doctor.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How grave a finding is."""

    PASS = "pass"  # noqa: S105  # a level, not a password
    WARN = "warn"
    """It works, yet somebody should know."""
    FAIL = "fail"
    """Something that was promised will not work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor: which check, how grave, what was found, what to do about it."""

    id: str
    level: Level
    text: str
    remedy: str = ""


def passed(check: str, text: str) -> Finding:
    """All is well."""
    return Finding(check, Level.PASS, text)


def warned(check: str, text: str, remedy: str) -> Finding:
    """Somebody should know."""
    return Finding(check, Level.WARN, text, remedy)


def failed(check: str, text: str, remedy: str) -> Finding:
    """Something will not work."""
    return Finding(check, Level.FAIL, text, remedy)
