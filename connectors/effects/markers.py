"""The invisible line that names an effect inside the object which it creates (connectors.md 10).

Pure. A marker counts when it stands on a line of its own outside quotations and code; extra lines, other line ends,
indentation and unknown keys are tolerated. Whose text it is, is for the caller to check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

_LINE_END = re.compile(r"\r\n|[\n\r\u0085\u2028\u2029]")
_MARKER = re.compile(r"^\s*<!--\s*pointsman\s+(?P<pairs>.*?)\s*-->\s*$")
_PAIR = re.compile(r"([a-z_]+)=(\S+)")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_CLAIM_BEGUN = re.compile(r"^\s*<!--\s*pointsman\s+claim\b")
CLAIM = "claim"
"""The first word of a claim's marker (connectors.md 19)."""


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker of a text: its keys, and whether it is that of a claim."""

    pairs: Mapping[str, str]
    is_claim: bool = False

    @property
    def effect(self) -> str:
        """The id of the effect, empty for a claim."""
        return self.pairs.get("effect", "")

    @property
    def key(self) -> str:
        """The key of a keyed comment, or nothing."""
        return self.pairs.get("key", "")


def marker_of(effect_id: str, **more: str) -> str:
    """The marker of an effect that no node sends."""
    return with_pairs(f"<!-- pointsman effect={effect_id} -->", **more)


def with_pairs(marker: str, **more: str) -> str:
    """The marker with further pairs behind those that it has."""
    told = "".join(f" {name}={value}" for name, value in more.items() if value)
    return marker.removesuffix(" -->") + told + " -->"


def markers_in(text: str) -> Iterator[Marker]:
    """Every marker of the text that counts, in order."""
    for line in _outside_code(text):
        if found := _MARKER.match(line):
            pairs = dict(_PAIR.findall(found["pairs"]))
            yield Marker(MappingProxyType(pairs), found["pairs"].split(" ", 1)[0] == CLAIM)


def claim_marker(owner: str, instance: str, epoch: int, until: str, effect_id: str = "") -> str:
    """The marker of a claim; ``until`` is the forge's time. The effect's id lets a lost answer be looked up."""
    pairs = {"owner": owner, "instance": instance, "epoch": str(epoch), "until": until, "effect": effect_id}
    return with_pairs(f"<!-- pointsman {CLAIM} -->", **pairs)


def begins_claim(text: str) -> bool:
    """Whether a line begins like the marker of a claim, whatever became of its rest."""
    return any(_CLAIM_BEGUN.match(line) for line in _outside_code(text))


def _outside_code(text: str) -> Iterator[str]:
    """The lines outside fenced code."""
    fence = ""
    for line in _LINE_END.split(text):
        opened = _FENCE.match(line)
        if opened and not fence:
            fence = opened[1]
        elif fence:
            closes = opened and opened[1][0] == fence[0] and len(opened[1]) >= len(fence)
            fence = "" if closes and not line.strip().strip(fence[0]) else fence
        else:
            yield line


def carries(text: str, effect_id: str) -> bool:
    """Whether the text carries the marker of exactly this effect."""
    return any(each.effect == effect_id for each in markers_in(text))


def mentions(text: str, effect_id: str) -> bool:
    """Whether the effect's id stands anywhere in the text, as in a marker that does not count."""
    return f"effect={effect_id}" in text
