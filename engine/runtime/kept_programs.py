"""Programs that were compiled before, kept while their text is the same: a bot that is started often is compiled once.

Held by ``Host``, asked by ``program``. Kept is only what one file alone decides: no bundle, no fragment, no included
prompt, no child. The file is read at every start, and its bytes decide; times and sizes of files are not trusted.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from engine.dsl.graph import Graph, SubbotNode
from engine.dsl.unit import EXTENSIONS, is_bundle, read_bytes
from engine.run import SourceFile

MOST = 64
"""Programs that are kept; the one that was started longest ago goes first."""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled source that may be launched. ``path`` is absolute; ``bundle_path`` is empty for a single file."""

    graph: Graph
    digest: str
    sources: tuple[SourceFile, ...]
    path: Path
    bundle_path: str = ""


class KeptPrograms:
    """Compiled programs by path and text. Thread-safe; programs are frozen, so that runs may share them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Path, Program] = OrderedDict()

    def find(self, file: Path) -> Program | None:
        """The program of the file as it is now; None where it has to be compiled."""
        with self._lock:
            known = self._kept.get(file)
        if known is None or known.digest != _digest_alone(file):
            return None
        with self._lock:
            if file in self._kept:
                self._kept.move_to_end(file)
        return known

    def keep(self, file: Path, program: Program) -> None:
        """Keep it, where the file alone decided what it is."""
        alone = len(program.sources) == 1 and not any(
            isinstance(each, SubbotNode) for each in program.graph.nodes.values()
        )
        if not alone or program.digest != _digest_alone(file):
            return
        with self._lock:
            self._kept[file] = program
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)


def _digest_alone(file: Path) -> str:
    """The digest of a single file without includes (language.md 15); empty where it is more than that, or gone."""
    if file.suffix not in EXTENSIONS or is_bundle(file):
        return ""
    try:
        return hashlib.sha256(read_bytes(file)).hexdigest()
    except (OSError, ValueError):
        return ""
