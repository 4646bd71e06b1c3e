"""Where a bot's name leads: the catalogue of ``bots.paths`` and paths from the configuration's folder.

Used at load, to refuse a board whose bot does not exist, and by the dispatcher for a card's own bot (dispatcher.md 20).
A name is a file's stem or a bundle's folder name. Whether the bot compiles is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from config.problems import Problem, did_you_mean
from config.settings import Settings

SUFFIXES = (".bot", ".iter", ".botz")


def bots_in(paths: Sequence[Path]) -> dict[str, Path]:
    """Every bot of the catalogue by name; an earlier folder wins, and in one folder ``.bot`` before the others."""
    found: dict[str, Path] = {}
    for folder in paths:
        for suffix in SUFFIXES:
            for file in sorted(folder.glob(f"*{suffix}")):
                found.setdefault(file.stem, file)
        for manifest in sorted(folder.glob("*/main.bot")):
            found.setdefault(manifest.parent.name, manifest.parent)
    return found


def find_bot(name: str, paths: Sequence[Path], folder: Path) -> Path | None:
    """The file or bundle folder that ``name`` means, or ``None``: the catalogue first, then a path from ``folder``."""
    catalogued = bots_in(paths).get(name)
    if catalogued:
        return catalogued
    path = folder / name
    candidates = [path, *(path.with_name(path.name + suffix) for suffix in SUFFIXES)]
    return next((candidate for candidate in candidates if _is_bot(candidate)), None)


def _is_bot(path: Path) -> bool:
    return (path.is_file() and path.suffix in SUFFIXES) or (path / "main.bot").is_file()


def missing_bots(settings: Settings) -> Iterator[Problem]:
    """A problem for each board or route that names a bot which does not exist; ``settings`` are located."""
    paths, folder = settings.bots.paths, settings.origin.folder
    for index, board in enumerate(settings.boards):
        named = {f"boards[{index}].bot": board.bot}
        named |= {f"boards[{index}].routes.{who}": bot for who, bot in board.routes.items()}
        for key, name in named.items():
            if name is not None and find_bot(name, paths, folder) is None:
                hint = did_you_mean(name, bots_in(paths)) or f"Put {name} there, or name a bot of bots.paths."
                yield Problem(f"there is no bot {name}", key, hint)
