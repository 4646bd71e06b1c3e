"""The one door for text that goes to a forge: replaced, redacted, neutralised, cut, marked, in this order.

``compose`` is for bodies, comments, reviews and commit messages, ``title`` for titles, ``plain`` for card text that is
parsed, ``label_in_path`` for names in addresses (connectors.md 18). Pure apart from the secrets that a redactor knows.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import quote

from connectors.posting.markdown import lines, outside_code
from connectors.posting.neutral import neutral, neutral_title
from connectors.posting.sizes import LIMITS, TITLE_CHARACTERS, Limit, closing, fitting_prefix
from connectors.secrets import Redactor

NO_TITLE = "(no title)"
PARSED_BYTES = 256 * 1024
_UNWRITABLE = re.compile(r"[\x00\ud800-\udfff]")
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f\x85\u2028\u2029]+")
_LONGEST_CLOSING = 40
"""Room for the fence that closes a cut block of code; longer fences are closed by cutting before them."""


@dataclass(frozen=True, slots=True)
class Posting:
    """Where a text goes. ``keep_closing``: the body of a pull that the bot wrote itself; ``run_id`` names the full
    text in the notice of a cut."""

    kind: str
    allow_mentions: tuple[str, ...] = ()
    keep_closing: bool = False
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class Composed:
    """A text as it is sent; ``redacted`` counts secrets that were taken out."""

    text: str
    cut: bool = False
    redacted: int = 0


def cleaned(text: str) -> str:
    """NUL and lone surrogates replaced by U+FFFD; everything else as it is."""
    return _UNWRITABLE.sub("\ufffd", text)


def compose(text: str, posting: Posting, redactor: Redactor, marker: str = "") -> Composed:
    """The text as it may be sent, the marker on a line of its own at its end."""
    text, redacted = redactor.clean_counted(cleaned(text))
    ending = f"\n\n{marker}" if marker else ""
    whole = _neutral(text, posting)
    if LIMITS[posting.kind].size_over(whole + ending) <= 0:
        return Composed(whole + ending if whole else marker, redacted=redacted)
    return Composed(_cut(text, posting, ending), cut=True, redacted=redacted)


def _cut(text: str, posting: Posting, ending: str) -> str:
    """The beginning of a text, its notice and its ending. Neutralised again after the cut: a span of code that the cut
    opened hides nothing any more."""
    limit, room = LIMITS[posting.kind], 0
    while True:
        reserve = _notice(len(text), len(text), posting) + ending + "`" * (_LONGEST_CLOSING + room)
        kept = fitting_prefix(text, limit, reserve)
        body = _neutral(kept, posting)
        body = body + closing(body) + _notice(len(kept), len(text), posting) + ending
        over = limit.size_over(body)
        if over <= 0 or not kept:
            return body
        room += over


def _neutral(text: str, posting: Posting) -> str:
    return neutral(text, posting.kind, allow_mentions=posting.allow_mentions, keep_closing=posting.keep_closing)


def _notice(kept: int, total: int, posting: Posting) -> str:
    where = f"; full text: pointsman report --run-id {posting.run_id}" if posting.run_id else ""
    return f"\n\n… cut: {kept} of {total} characters{where}"


def title(text: str, posting: Posting, redactor: Redactor) -> str:
    """A title of one line and at most 255 characters; one without anything to see becomes ``(no title)``."""
    line = _BLANKS.sub(" ", redactor.clean(cleaned(text))).strip()
    if not any(unicodedata.category(each)[0] not in "CZ" for each in line):
        return NO_TITLE
    line = neutral_title(line, posting.kind, allow_mentions=posting.allow_mentions)
    if len(line) <= TITLE_CHARACTERS:
        return line
    return fitting_prefix(line, Limit(characters=TITLE_CHARACTERS), "…").rstrip() + "…"


def plain(text: str) -> str:
    """A card's text for parsing: the first 256 KiB, line ends as LF, code taken out."""
    head = text.encode("utf-8", "replace")[:PARSED_BYTES].decode("utf-8", "ignore")
    kept = []
    for line in lines(head):
        pieces = [] if line.in_code else [piece for piece, is_plain in outside_code(line.text) if is_plain]
        kept.append("".join(pieces) + ("\n" if line.end else ""))
    return "".join(kept)


def label_in_path(name: str) -> str:
    """A label's stored spelling as one part of a path, encoded once."""
    return quote(name, safe="")
