"""Takes the power out of a text: no command, no mention, no closing word, no marker of ours (connectors.md 18). Pure.

``neutral`` may be applied again to what it answered: that changes nothing. A text of ours that a forge acts on is what
section 26 forbids.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType

from connectors.posting.markdown import Line, first_visible, lines, open_fence, outside_code

JOINER = "\u2060"
"""The word joiner: invisible, and no part of a name or a number."""

_COMMON = (
    *("close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"),
    *("closing", "fixing", "resolving"),
)
CLOSING_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "github": _COMMON,
        "gitlab": (*_COMMON, "implement", "implements", "implemented", "implementing"),
        "forgejo": (*_COMMON, "reopen", "reopens", "reopened"),
    }
)
"""What each forge takes for an order when a number of an issue follows."""

_MARKER = re.compile(r"<!--(?=\s*pointsman)", re.IGNORECASE)
_MENTION = re.compile(r"(?<![A-Za-z0-9_])@(?=[A-Za-z0-9_])([\w.-]*\w(?:/[\w.-]*\w)*)")
_REFERENCE = r"(?:[\w.-]+(?:/[\w.-]+)*)?#\d+|gh-\d+|https?://\S+"
_REFERENCES = rf"(?:{_REFERENCE})(?:(?:\s*,\s*and\s+|\s*,\s*|\s+and\s+|\s+)(?:{_REFERENCE}))*"
_NUMBER = re.compile(r"(#|gh-)(?=\d)", re.IGNORECASE)
_ORDERS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        kind: re.compile(rf"(?<!\w)({'|'.join(words)})(\s*:?\s+)({_REFERENCES})", re.IGNORECASE)
        for kind, words in CLOSING_WORDS.items()
    }
)


def neutral(text: str, kind: str, *, allow_mentions: Collection[str] = (), keep_closing: bool = False) -> str:
    """The text without power at a forge of this kind; a block of code that is left open is closed."""
    allowed = frozenset(name.lstrip("@").casefold() for name in allow_mentions)
    text = _MARKER.sub(f"<!--{JOINER}", text)
    if not keep_closing:
        text = _without_orders(text, kind)
    text = "".join(_neutral_line(line, allowed) + line.end for line in lines(text))
    fence = open_fence(text)
    if not fence:
        return text
    return text + ("" if text.endswith("\n") else "\n") + fence


def neutral_title(text: str, kind: str, *, allow_mentions: Collection[str] = ()) -> str:
    """A title without mentions and closing words; a title gives no commands."""
    allowed = frozenset(name.lstrip("@").casefold() for name in allow_mentions)
    return _without_mentions(_without_orders(_MARKER.sub(f"<!--{JOINER}", text), kind), allowed)


def _neutral_line(line: Line, allowed: frozenset[str]) -> str:
    if line.in_code:
        return line.text
    pieces = [_without_mentions(piece, allowed) if plain else piece for piece, plain in outside_code(line.text)]
    text = "".join(pieces)
    first = first_visible(text)
    if first >= 0 and text[first] == "/":
        return f"{text[:first]}\\{text[first:]}"
    return text


def _without_mentions(text: str, allowed: frozenset[str]) -> str:
    def joined(found: re.Match[str]) -> str:
        return found.group() if found.group(1).casefold() in allowed else f"@{JOINER}{found.group(1)}"

    return _MENTION.sub(joined, text)


def _without_orders(text: str, kind: str) -> str:
    """Closing words lose their numbers, and stand apart from an address that follows them. Lines do not matter here:
    a word and its number may stand on two."""

    def parted(found: re.Match[str]) -> str:
        word, between, references = found.groups()
        if "://" in references:
            word += JOINER
        return word + between + _NUMBER.sub(rf"\g<1>{JOINER}", references)

    return _ORDERS[kind].sub(parted, text)
