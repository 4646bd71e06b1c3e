"""The door of the language: a path becomes a graph and diagnostics (language.md 1.2).

Called by the engine before a launch and a resume, by ``validate`` and by ``diagram``. Nothing is raised for bad source;
a file that is not there is ``SourceMissing``. Reads files and nothing else: no environment, no clock, no network.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

from engine.dsl.assemble import assemble, replace_prompts
from engine.dsl.bundle import Bundle, read_bundle
from engine.dsl.checks import Context, check_all
from engine.dsl.compiler import Identity, compile_graph
from engine.dsl.diagnostics import Diagnostic, Diagnostics
from engine.dsl.digest import Part, Tag, digest, recorded
from engine.dsl.draft import Draft
from engine.dsl.flow import Flow
from engine.dsl.graph import Graph, SourceFile
from engine.dsl.includes import Includes
from engine.dsl.marks import LaunchFacts, errors_at_launch, note_features
from engine.dsl.subbots import check_children
from engine.dsl.surroundings import Around, Surroundings
from engine.dsl.texts import parse_texts
from engine.dsl.unit import NO_BUFFERS, PACKED, Unit, main_file, read_unit, unit_of_text
from engine.errors import EngineError

__all__ = ["Loaded", "Studied", "launch_errors", "load", "load_text", "read_draft", "study", "study_text"]

DEEPEST_CHILD = 16


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came out of a source: ``graph`` is None when any diagnostic is an error.

    ``diagnostics`` are ordered by file, main file first, and place. ``digest`` and ``sources`` are those of
    language.md 15, known even when there are errors. ``texts`` gives the source of each file by the name that
    diagnostics use.
    """

    graph: Graph | None
    diagnostics: tuple[Diagnostic, ...]
    digest: str
    sources: tuple[SourceFile, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    facts: LaunchFacts = field(default_factory=LaunchFacts)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that keep it from running."""
        return tuple(found for found in self.diagnostics if found.is_error)


@dataclass(frozen=True, slots=True)
class Studied:
    """A source that was loaded, with what an editor wants to know of it beyond the findings."""

    loaded: Loaded
    draft: Draft
    unit: Unit


def load(path: Path | str, around: Surroundings | None = None, **fields: Unpack[Around]) -> Loaded:
    """Read, check and compile the workflow at ``path``: ``.bot``, ``.iter``, a bundle folder, or a packed bundle.

    ``fields`` are the fields of ``Surroundings`` where no ``around`` is given: ``catalogue`` gives operations by name,
    ``connections`` the kind of each connection by name; what is None is not checked. ``backends`` are installed,
    ``default_backend`` is the configured one, ``version`` that of this program, ``cache`` where packs go. Raises
    ``SourceMissing`` when the main file cannot be opened, ``SourceInvalid`` for a pack that cannot be read.
    """
    with _without_collector():
        return _Loader(around or Surroundings(**fields), NO_BUFFERS).study(Path(path), ()).loaded


def load_text(text: str, *, label: str = "<text>", around: Surroundings | None = None) -> Loaded:
    """The same for source that is no file; it can neither import nor include."""
    return study_text(text, label=label, around=around).loaded


def study(path: Path, buffers: Mapping[Path, bytes], around: Surroundings | None = None) -> Studied:
    """Load the source at ``path`` for an editor, with the texts of open files in the place of what is on disk.

    Raises ``SourceMissing`` when the file is neither open nor on disk, ``SourceInvalid`` like ``load``.
    """
    with _without_collector():
        return _Loader(around or Surroundings(), buffers).study(path, ())


def study_text(text: str, *, label: str = "<text>", around: Surroundings | None = None) -> Studied:
    """The same for source that is no file."""
    found = Diagnostics()
    with _without_collector():
        unit = unit_of_text(text, label, found)
        return _Loader(around or Surroundings(), NO_BUFFERS).finish(unit, None, found, ())


def opened(path: Path, cache: Path | None) -> Path:
    """``path``, or the folder that a packed bundle is unpacked to. Raises ``SourceMissing`` and ``SourceInvalid``."""
    if path.suffix != PACKED or path.is_dir():
        return path
    from engine.dsl.unpack import default_cache, unpack

    return unpack(path, cache or default_cache())


def read_draft(path: Path) -> Draft:
    """What the source at ``path`` declares, read and not checked; for ``diff``. Raises ``SourceMissing``."""
    found = Diagnostics()
    unit = read_unit(opened(path, None), found)
    bundle = read_bundle(unit.folder, found) if unit.is_bundle else None
    return assemble(unit, bundle, Includes(unit.folder, found), found)


def launch_errors(loaded: Loaded) -> tuple[Diagnostic, ...]:
    """What refuses a launch: every error, and X001 and X004 for what a run would reach (language.md 1.1)."""
    return (*loaded.errors, *errors_at_launch(loaded.facts))


@contextmanager
def _without_collector() -> Iterator[None]:
    """Compiling makes many objects and no cycles; the cycle collector would look at all of them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Loader:
    """One call of ``load`` with the children that it meets; each child is loaded once."""

    def __init__(self, around: Surroundings, buffers: Mapping[Path, bytes]) -> None:
        self.around = around
        self.buffers = buffers
        self.problems: dict[Path, str] = {}

    def study(self, path: Path, above: tuple[Path, ...]) -> Studied:
        found = Diagnostics()
        unit = read_unit(opened(path, self.around.cache), found, self.buffers)
        bundle = read_bundle(unit.folder, found) if unit.is_bundle else None
        return self.finish(unit, bundle, found, (*above, unit.main.path.resolve()))

    def finish(self, unit: Unit, bundle: Bundle | None, found: Diagnostics, above: tuple[Path, ...]) -> Studied:
        includes = Includes(unit.folder if above else None, found)
        draft = assemble(unit, bundle, includes, found)
        if len(above) == 1:
            replace_prompts(draft, self.around.prompts)
        parse_texts(draft)
        flow = Flow(draft)
        check_all(Context(draft, flow, self.around, unit, bundle))
        check_children(draft, lambda path: self._child(path, above))
        facts = note_features(draft, flow)
        parts = [Part(Tag.IMPORT, source.name, source.data) for source in unit.fragments]
        parts += [Part(Tag.INCLUDE, name, data) for name, data in includes.files.items()]
        parts += bundle.parts if bundle else ()
        main = unit.main
        total, sources = digest(main.data, parts), recorded(main.name, main.data, parts)
        added = (bundle.skills_dir, bundle.attachments) if bundle else ("", {})
        identity = Identity(total, sources, str(unit.folder), *added)
        graph = None if found.has_errors else _graph(draft, flow, identity, bundle)
        texts = {source.label: source.text for source in unit.order}
        loaded = Loaded(graph, found.ordered(unit.labels), total, sources, texts, facts)
        return Studied(loaded, draft, unit)

    def _child(self, path: Path, above: tuple[Path, ...]) -> str:
        """Why the subbot at ``path`` is no use, or the empty text. A child that is being loaded above is fine."""
        try:
            main = main_file(opened(path, self.around.cache)).resolve()
        except EngineError as problem:
            return problem.message
        except (OSError, ValueError):
            return "the path cannot be opened"
        if main in above or len(above) > DEEPEST_CHILD:
            return ""
        if main not in self.problems:
            self.problems[main] = ""
            try:
                errors = self.study(path, above).loaded.errors
            except EngineError as problem:
                self.problems[main] = problem.message
            else:
                first = f"{errors[0].file}:{errors[0].line}: {errors[0].message}" if errors else ""
                self.problems[main] = f"its source has errors, the first at {first}" if first else ""
        return self.problems[main]


def _graph(draft: Draft, flow: Flow, identity: Identity, bundle: Bundle | None) -> Graph:
    texts = {name: preset.body for name, preset in bundle.presets.items() if preset.body.strip()} if bundle else {}
    return compile_graph(draft, flow, identity, texts)
