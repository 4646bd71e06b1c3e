"""``{{include "path"}}`` in prompt texts, replaced at compile time (language.md 12).

Called by ``assemble`` for every prompt. Paths are relative to the file that contains the marker and stay inside its
folder. What was included is remembered for the digest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from engine.dsl import templates
from engine.dsl.diagnostics import Diagnostics
from engine.dsl.graph import Span

MOST_BYTES = 256 * 1024
DEEPEST = 16
MOST_TEXT = 10 * 1024 * 1024


class _Bad(Exception):
    """An include cannot be made; the text says why."""


@dataclass(slots=True)
class Includes:
    """Expands includes; ``root`` is the main file's folder, None for source that is no file."""

    root: Path | None
    found: Diagnostics
    files: dict[str, bytes] = field(default_factory=dict)

    def expand(self, text: str, folder: Path, span: Span) -> str:
        """``text`` with every include replaced; a bad one is reported (C055) and stays."""
        if "{{" not in text or "include" not in text:
            return text
        return self._expand(text, folder, span, (), [0])

    def _expand(self, text: str, folder: Path, span: Span, open_files: tuple[Path, ...], size: list[int]) -> str:
        parts: list[str] = []
        done = 0
        for marker in templates.includes(text):
            parts.append(text[done : marker.offset])
            done = marker.offset + len(marker.text)
            try:
                path = self._path(marker.path, folder, open_files)
                inner = self._read(path)
                size[0] += len(inner)
                if size[0] > MOST_TEXT:
                    raise _Bad("the text grows beyond 10 MiB")
            except _Bad as problem:
                self.found.add("C055", span, path=marker.path, problem=str(problem))
                continue
            parts.append(self._expand(inner, path.parent, span, (*open_files, path), size))
        parts.append(text[done:])
        return "".join(parts)

    def _path(self, name: str, folder: Path, open_files: tuple[Path, ...]) -> Path:
        if self.root is None:
            raise _Bad("this source is no file")
        if not name or "\0" in name or "\\" in name or name.startswith("/") or ".." in name.split("/"):
            raise _Bad("the path leaves the folder of the file")
        path = folder / name
        try:
            inside = path.resolve().is_relative_to(folder.resolve())
            regular = path.is_file() and not path.is_symlink()
        except (OSError, RuntimeError, ValueError):
            raise _Bad("it cannot be read") from None
        if not inside:
            raise _Bad("the path leaves the folder of the file")
        if not regular:
            raise _Bad("there is no such file")
        if path in open_files:
            raise _Bad("the files include each other")
        if len(open_files) >= DEEPEST:
            raise _Bad(f"more than {DEEPEST} files deep")
        return path

    def _read(self, path: Path) -> str:
        assert self.root is not None
        try:
            with path.open("rb") as stream:
                data = stream.read(MOST_BYTES + 1)
        except OSError as problem:
            raise _Bad(problem.strerror or "it cannot be read") from None
        if len(data) > MOST_BYTES:
            raise _Bad("the file is larger than 256 KiB")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise _Bad("the file is not UTF-8") from None
        self.files[path.relative_to(self.root).as_posix()] = data
        return text
