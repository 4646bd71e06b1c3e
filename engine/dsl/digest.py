"""Source identity: the digest of a unit and the texts behind it (language.md 15).

Called by ``load``. Pure: bytes in, hex out. A single file without bundle, import and include has the digest
``sha256(file bytes)``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from engine.dsl.graph import SourceFile

MOST_RECORDED = 1024 * 1024


class Tag:
    """The tags of the parts, in the order in which they count."""

    PROMPT = "bundle.prompt"
    PRESET = "bundle.preset"
    IMPORT = "unit.import"
    INCLUDE = "prompt.include"


TAGS = (Tag.PROMPT, Tag.PRESET, Tag.IMPORT, Tag.INCLUDE)


class Part(NamedTuple):
    """One file behind the digest, after the main file."""

    tag: str
    name: str
    data: bytes


def ordered(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Parts in the order of the digest; each name once per tag."""
    unique = {(part.tag, part.name): part for part in parts}
    return tuple(sorted(unique.values(), key=lambda part: (TAGS.index(part.tag), _name_bytes(part))))


def digest(main: bytes, parts: Iterable[Part]) -> str:
    """The SHA-256, in hex, of the main file and the framed parts."""
    total = hashlib.sha256(main)
    for part in ordered(parts):
        total.update(frame(part))
    return total.hexdigest()


def frame(part: Part) -> bytes:
    """A part as it enters the digest; no main file imitates it, because source holds no NUL."""
    head = b"\0" + part.tag.encode() + b":" + _name_bytes(part) + b"\0"
    return head + str(len(part.data)).encode() + b"\0" + part.data


def _name_bytes(part: Part) -> bytes:
    return part.name.encode("utf-8", "surrogateescape")


def recorded(main_name: str, main: bytes, parts: Iterable[Part]) -> tuple[SourceFile, ...]:
    """The texts that a run keeps: main file first, then in digest order; the main file alone above 1 MiB in all.

    A part's path carries no tag: prompts and presets of a bundle are named with their folder.
    """
    first = SourceFile(main_name, main.decode("utf-8", "replace"))
    unique = {_path(part): part.data for part in ordered(parts)}
    if len(main) + sum(len(data) for data in unique.values()) > MOST_RECORDED:
        return (first,)
    return (first, *(SourceFile(path, data.decode("utf-8", "replace")) for path, data in unique.items()))


def _path(part: Part) -> str:
    folder = {Tag.PROMPT: "prompts/", Tag.PRESET: "presets/"}.get(part.tag, "")
    return folder + part.name
