"""What can be wrong with a configuration, as data, and the one exception that carries all of it.

Raised by ``load``; printed by the command line and kept by the daemon as its ``config_error`` (dispatcher.md 23).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: where, what was found, what to do about it.

    ``key`` is dotted (``boards[0].vars.title``) and may be empty; ``line`` counts from 1, 0 means the whole file.
    """

    text: str
    key: str = ""
    hint: str = ""
    file: str = ""
    line: int = 0

    def place(self) -> str:
        """``pointsman.yaml:12``, or the file alone, or nothing."""
        if self.file and self.line:
            return f"{self.file}:{self.line}"
        return self.file

    def sentence(self) -> str:
        """Place, key and text in one line."""
        return ": ".join(part for part in (self.place(), self.key, self.text) if part)


class ConfigError(Exception):
    """The configuration cannot be used.

    ``code`` is ``config_missing``, ``config_invalid`` or ``invalid_setting``; ``problems`` lists everything found.
    """

    def __init__(self, code: str, problems: Iterable[Problem]) -> None:
        self.code = code
        self.problems = tuple(problems)
        self.message = _message(self.problems)
        self.hint = self.problems[0].hint if len(self.problems) == 1 else _MANY
        super().__init__(self.message)


_MANY = "Mend each of them; `pointsman config check` tells when it is right."


def _message(problems: tuple[Problem, ...]) -> str:
    if len(problems) == 1:
        return problems[0].sentence()
    lines = [f"The configuration has {len(problems)} problems."]
    return "\n".join(lines + [f"  {problem.sentence()}. {problem.hint}".rstrip() for problem in problems])


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that ``name`` most likely meant, or the empty text."""
    folded = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.5)
    return folded[found[0]] if found else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known name, or else all of them."""
    names = sorted(known)
    close = nearest(name, names)
    if close:
        return f"Did you mean {close}?"
    return f"Known here: {', '.join(names)}." if names else ""
