"""A text that is open in an editor, loaded with its unit: findings of every file, and what is declared.

The texts of open files count instead of what is on disk. A fragment below ``lib/`` is looked at through the main file
that imports it; without one only its own reading errors are told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.dsl.diagnostics import Diagnostic
from engine.dsl.draft import Draft
from engine.dsl.load import Studied, study, study_text
from engine.dsl.surroundings import Surroundings
from engine.dsl.unit import EXTENSIONS, LIB, MAIN
from engine.errors import BadInput

READING = "E"
"""Codes of this letter are about the text of one file alone."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is known about a text: its own ``path``, the ``draft`` of its unit, and findings by file."""

    path: Path
    draft: Draft
    findings: Mapping[Path, tuple[Diagnostic, ...]]
    around: Surroundings

    @property
    def own(self) -> tuple[Diagnostic, ...]:
        """The findings in the text itself."""
        return self.findings.get(self.path, ())


def analyse(path: Path, buffers: Mapping[Path, bytes], around: Surroundings | None = None) -> Analysis:
    """Look at the open file ``path``, whose text is in ``buffers``. Nothing is raised for what is wrong with it."""
    around = around or Surroundings()
    for main in _mains(path, buffers):
        try:
            studied = study(main, buffers, around)
        except BadInput:
            continue
        if any(source.path == path for source in studied.unit.order):
            return _analysis(path, studied, around)
    text = buffers[path].decode("utf-8", "replace")
    if LIB in path.parts:
        studied = study_text(text, label=str(path), around=around)
        own = tuple(found for found in studied.loaded.diagnostics if found.code.startswith(READING))
        return Analysis(path, studied.draft, {path: own}, around)
    return _analysis(path, study_text(text, label=str(path), around=around), around)


def _mains(path: Path, buffers: Mapping[Path, bytes]) -> Iterator[Path]:
    """The files whose unit may hold ``path``: itself, or those beside the ``lib`` folder that it lies in."""
    if LIB not in path.parts:
        yield path
        return
    above = path
    while above.name != LIB:
        above = above.parent
    folder = above.parent
    yield folder / MAIN
    yield from sorted(each for each in buffers if each.parent == folder and each.name != MAIN)
    yield from sorted(each for each in folder.glob("*") if each.suffix in EXTENSIONS and each.name != MAIN)


def _analysis(path: Path, studied: Studied, around: Surroundings) -> Analysis:
    findings: dict[Path, list[Diagnostic]] = {source.path: [] for source in studied.unit.order}
    for found in studied.loaded.diagnostics:
        findings.setdefault(Path(found.file), []).append(found)
    return Analysis(path, studied.draft, {file: tuple(each) for file, each in findings.items()}, around)
