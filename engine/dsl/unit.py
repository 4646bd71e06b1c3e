"""The unit: the main file, the fragments that it imports, and the texts of its bundle (language.md 1.2, 12, 13).

Called by ``load``. Reads every file once and keeps its bytes for the digest. Import paths are checked before anything
is opened; a fragment that cannot be read is reported, and the unit is *incomplete*: names that nobody declares are then
no further mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from engine.dsl.ast import File, Import
from engine.dsl.diagnostics import Diagnostics
from engine.dsl.parser import parse
from engine.dsl.source import MOST_BYTES, decode
from engine.errors import SourceMissing

EXTENSIONS = (".bot", ".iter")
MAIN = "main.bot"
LIB = "lib"
PACKED = ".botz"
NO_BUFFERS: Mapping[Path, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the unit: ``label`` is how messages call it, ``name`` its path from the main file's folder."""

    label: str
    name: str
    path: Path
    data: bytes
    text: str
    tree: File


@dataclass(frozen=True, slots=True)
class Unit:
    """All files of a unit. ``order`` has fragments before the files that import them, the main file last."""

    main: Source
    order: tuple[Source, ...]
    folder: Path
    is_bundle: bool
    incomplete: bool

    @property
    def fragments(self) -> tuple[Source, ...]:
        """Every file but the main one."""
        return self.order[:-1]

    @property
    def labels(self) -> tuple[str, ...]:
        """What messages call the files, main file first."""
        return (self.main.label, *(source.label for source in self.fragments))


def main_file(path: Path, buffers: Mapping[Path, bytes] = NO_BUFFERS) -> Path:
    """The main file that ``path`` names: itself, or ``main.bot`` of a folder. Raises ``SourceMissing``."""
    if path in buffers:
        return path
    if path.is_dir():
        inner = path / MAIN
        if inner.is_file():
            return inner
        raise SourceMissing(f"The folder {path} has no {MAIN}.", "Name a .bot file, or a folder with a main.bot.")
    if not path.is_file():
        raise SourceMissing(f"The workflow file {path} does not exist.", "Check the path.")
    if path.suffix not in EXTENSIONS:
        raise SourceMissing(f"{path} is no workflow file.", "Workflow files end in .bot or .iter; bundles in .botz.")
    return path


def is_bundle(main: Path) -> bool:
    """Whether opening ``main`` opens the folder bundle around it (language.md 1.3)."""
    folder = main.parent
    return main.name == MAIN and ((folder / "manifest.yaml").is_file() or (folder / "skills").is_dir())


def read_bytes(path: Path) -> bytes:
    """The bytes of a file, at most one more than the limit. Raises ``OSError``."""
    with path.open("rb") as stream:
        return stream.read(MOST_BYTES + 1)


def read_unit(path: Path, found: Diagnostics, buffers: Mapping[Path, bytes] = NO_BUFFERS) -> Unit:
    """The unit whose main file is ``path``. Raises ``SourceMissing`` when that cannot be read.

    ``buffers`` are the texts of files that are open in an editor; they count instead of what is on disk.
    """
    main = main_file(path, buffers)
    try:
        data = buffers[main] if main in buffers else read_bytes(main)
    except OSError as problem:
        reason = problem.strerror or "it cannot be read"
        raise SourceMissing(f"The workflow file {main} cannot be read: {reason}.", "Check its rights.") from None
    return _Imports(main, found, buffers).read(data)


def unit_of_text(text: str, label: str, found: Diagnostics) -> Unit:
    """The unit of source that is no file: it can neither import nor include (C030, C055)."""
    tree = parse(decode(text.encode("utf-8", "replace"), label, found), label, found)
    for line in tree.imports:
        found.add("C030", line)
    source = Source(label, label, Path(label), text.encode("utf-8", "replace"), text, tree)
    return Unit(source, (source,), Path(), is_bundle=False, incomplete=bool(tree.imports))


@dataclass(slots=True)
class _Open:
    """A file whose imports are being followed; ``via`` is the import that led to it."""

    source: Source
    waiting: list[Import] = field(default_factory=list)


class _Imports:
    """Follows imports, depth first, with its own stack."""

    def __init__(self, main: Path, found: Diagnostics, buffers: Mapping[Path, bytes]) -> None:
        self.main = main
        self.buffers = buffers
        self.found = found
        self.folder = main.parent
        self.done: dict[str, Source] = {}
        self.stack: list[_Open] = []
        self.incomplete = False

    def read(self, data: bytes) -> Unit:
        main = self._source(str(self.main), self.main.name, self.main, data)
        self._push(main)
        while self.stack:
            top = self.stack[-1]
            if top.waiting:
                self._follow(top.source, top.waiting.pop())
            else:
                self.stack.pop()
                self.done[top.source.name] = top.source
        order = tuple(self.done.values())
        return Unit(main, order, self.folder, is_bundle(self.main), self.incomplete)

    def _source(self, label: str, name: str, path: Path, data: bytes) -> Source:
        text = decode(data, label, self.found)
        return Source(label, name, path, data, text, parse(text, label, self.found))

    def _push(self, source: Source) -> None:
        self.stack.append(_Open(source, list(reversed(source.tree.imports))))

    def _follow(self, importer: Source, line: Import) -> None:
        problem = bad_path(line.path)
        name = "" if problem else str(PurePosixPath(importer.name).parent / line.path)
        if not problem:
            problem = self._outside(name)
        if problem:
            self.found.add("E045", line, path=line.path, why=problem)
            self.incomplete = True
            return
        circle = [opened.source.name for opened in self.stack]
        if name in circle:
            shown = " -> ".join([*circle[circle.index(name) :], name])
            self.found.add("E047", line, circle=shown)
        elif name not in self.done:
            self._open(importer, line, name)

    def _outside(self, name: str) -> str:
        parts = PurePosixPath(name).parts
        if len(parts) < 2 or parts[0] != LIB:
            return f"it is not below `{LIB}/` of the main file's folder"
        place = self.folder
        for part in parts:
            place = place / part
            if place.is_symlink():
                return f"`{part}` is a symbolic link"
        return ""

    def _open(self, importer: Source, line: Import, name: str) -> None:
        path = self.folder / name
        try:
            if path not in self.buffers and not path.is_file():
                raise FileNotFoundError(2, "there is no such file")
            data = self.buffers[path] if path in self.buffers else read_bytes(path)
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or "it cannot be read"
            self.found.add("E046", line, path=line.path, why=str(why))
            self.incomplete = True
            return
        label = str(self.main.parent / name)
        self._push(self._source(label, name, path, data))


def bad_path(path: str) -> str:
    """Why ``path`` is no import path, or the empty text (language.md 12)."""
    parts = path.split("/")
    if not path or path.startswith("/"):
        return "it is not relative"
    if "\0" in path or "\\" in path or ":" in parts[0]:
        return "it has a drive, a backslash or a NUL"
    if ".." in parts or "" in parts or "." in parts:
        return "it has `..`, `.` or an empty part"
    if not path.endswith(EXTENSIONS):
        return "it does not end in .bot or .iter"
    return ""
