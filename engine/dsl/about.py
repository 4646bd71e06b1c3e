"""What a bot says about itself: a bundle in its manifest, a single file in the comment block at its top.

Called by ``bots list``. Nothing here is checked and nothing of it has an effect on a run; findings about a manifest
are ``load``'s (language.md 2.1, 13).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.dsl.bundle import MANIFEST
from engine.dsl.diagnostics import Diagnostics, one_line
from engine.dsl.load import opened
from engine.dsl.manifest import read_manifest
from engine.dsl.source import decode
from engine.dsl.unit import is_bundle, main_file, read_bytes

FENCE = "## ---"


@dataclass(frozen=True, slots=True)
class About:
    """``version`` and ``description`` are empty when the bot gives none; ``enabled`` is true when it does not say."""

    version: str = ""
    description: str = ""
    enabled: bool = True


def about(path: Path, cache: Path | None = None) -> About:
    """What the bot at ``path`` says. Raises ``SourceMissing`` and ``SourceInvalid`` like ``load``."""
    main = main_file(opened(path, cache))
    if is_bundle(main):
        manifest = read_manifest(main.parent / MANIFEST, Diagnostics())
        texts = {key: manifest.values.get(key) for key in ("version", "description")}
        return _about(
            {key: str(value) for key, value in texts.items() if value is not None},
            enabled=manifest.values.get("enabled") is not False,
        )
    try:
        return _about(catalogue_block(decode(read_bytes(main), str(main), Diagnostics())))
    except OSError:
        return About()


def _about(texts: dict[str, str], *, enabled: bool = True) -> About:
    return About(one_line(texts.get("version", "")), one_line(texts.get("description", "")), enabled)


def catalogue_block(text: str) -> dict[str, str]:
    """The ``## key: value`` lines between two ``## ---`` above everything else; empty without such a block."""
    rows = [row for row in text.split("\n") if row.strip()]
    found: dict[str, str] = {}
    if not rows or rows[0].rstrip() != FENCE:
        return {}
    for row in rows[1:]:
        if row.rstrip() == FENCE:
            return found
        key, colon, value = row.removeprefix("##").partition(":")
        if not row.startswith("##") or not colon:
            return {}
        found[key.strip()] = value.strip().strip("\"'")
    return {}
