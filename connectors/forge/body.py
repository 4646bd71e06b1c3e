"""What the text of a forge's card says besides its prose: blockers and a start time (dispatcher.md 18, 19).

Pure. Read on a copy with line ends normalised and code removed; the stored text stays byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from connectors.card import NotBefore
from connectors.forge.records import Blocker
from connectors.not_before import read_not_before
from connectors.posting.posting import plain

_BLOCKED = re.compile(r"^\s*(?:blocked\s+by|depends\s+on)\b\s*:?\s*(?P<refs>.+)$", re.IGNORECASE)
_REF = re.compile(r"(?P<repo>[\w.-]+(?:/[\w.-]+)+)?#(?P<number>[1-9]\d{0,9})\b")
_START = re.compile(r"^\s*not\s+before\s*:\s*(?P<value>\S.*?)\s*$", re.IGNORECASE)


def blockers_in(body: str) -> tuple[Blocker, ...]:
    """``Blocked by #12``, ``Depends on #12, owner/repo#3``, in order, each once."""
    return tuple(dict.fromkeys(_blockers(plain(body))))


def start_in(body: str) -> NotBefore | None:
    """``Not before: <value>``; one that cannot be read comes with its problem. The first line counts."""
    for line in plain(body).split("\n"):
        if found := _START.match(line):
            return read_not_before(found["value"])
    return None


def _blockers(text: str) -> Iterator[Blocker]:
    for line in text.split("\n"):
        if found := _BLOCKED.match(line):
            for ref in _REF.finditer(found["refs"]):
                yield Blocker(int(ref["number"]), ref["repo"] or "")
