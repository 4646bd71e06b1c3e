"""Cards move, runs follow: the daemon, the command line and the only room where the others meet.

Whoever imports it gets ``engine``, ``connectors`` and ``config`` from where it lies itself. The names are common: a
project of a user with a folder ``config`` on ``PYTHONPATH``, or as the current folder, would take our place.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

__version__ = "0.1.0"

OURS = frozenset(["engine", "connectors", "config"])


class _Neighbours:
    """Finds the other top-level packages beside this one, before any path is searched."""

    root = str(Path(__file__).parents[1])

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The package's place; None for every other name, which is then looked for as always."""
        return PathFinder.find_spec(name, [self.root], target) if path is None and name in OURS else None


sys.meta_path.insert(0, _Neighbours())
