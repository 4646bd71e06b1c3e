"""The folder bundle around a ``main.bot``: prompts and presets from Markdown files, manifest, skills (language.md 13).

Called by ``load``. Packed bundles are ``pack``. Prompts and presets are read once, and their bytes enter the digest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.dsl.ast import Text
from engine.dsl.diagnostics import Diagnostics
from engine.dsl.digest import Part, Tag
from engine.dsl.front_matter import FrontMatter, split
from engine.dsl.graph import Span
from engine.dsl.manifest import Manifest, Skill, read_manifest, read_skills
from engine.dsl.recipes import Recipe, read_recipe
from engine.dsl.source import decode

PROMPTS, PRESETS, SKILLS, RECIPES, MANIFEST = "prompts", "presets", "skills", "recipes", "manifest.yaml"
ATTACHMENTS = "attachments"


@dataclass(frozen=True, slots=True)
class BundlePreset:
    """``presets/NAME.md``: values by var, and the extra system text."""

    name: str
    values: Mapping[str, object]
    body: str
    span: Span


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a bundle adds to its source. ``attachments``: name -> absolute path of the file that it brings along."""

    folder: Path
    prompts: Mapping[str, Text]
    presets: Mapping[str, BundlePreset]
    parts: tuple[Part, ...]
    manifest: Manifest
    skill_files: tuple[Skill, ...]
    recipes: tuple[Recipe, ...] = ()
    attachments: Mapping[str, str] = field(default_factory=dict)

    @property
    def skills(self) -> Mapping[str, Skill]:
        """Skills by name and by file stem."""
        stems = {Path(skill.file).stem: skill for skill in self.skill_files}
        return {**stems, **{skill.name: skill for skill in self.skill_files if skill.name}}

    @property
    def skills_dir(self) -> str:
        """The absolute path of ``skills/``, or empty."""
        folder = self.folder / SKILLS
        return str(folder.resolve()) if folder.is_dir() else ""


def read_bundle(folder: Path, found: Diagnostics) -> Bundle:
    """The prompts and presets of the bundle at ``folder``."""
    parts: list[Part] = []
    prompts: dict[str, Text] = {}
    presets: dict[str, BundlePreset] = {}
    for path, data in _markdown(folder / PROMPTS, found):
        parts.append(Part(Tag.PROMPT, path.name, data))
        text = decode(data, str(path), found)
        prompts[path.stem] = Text(text, Span(str(path), 1, 1), tuple(range(1, text.count("\n") + 2)))
    for path, data in _markdown(folder / PRESETS, found):
        parts.append(Part(Tag.PRESET, path.name, data))
        preset = _preset(path, split(decode(data, str(path), found)), found)
        presets[preset.name] = preset
    manifest = read_manifest(folder / MANIFEST, found)
    skills, recipes = tuple(read_skills(folder / SKILLS)), tuple(_recipes(folder / RECIPES, found))
    attachments = _attachments(folder, manifest, found)
    return Bundle(folder, prompts, presets, tuple(parts), manifest, skills, recipes, attachments)


def _attachments(folder: Path, manifest: Manifest, found: Diagnostics) -> dict[str, str]:
    """The files below ``attachments/`` by their stems, and what the manifest names: name -> path in the bundle."""
    root = (folder / ATTACHMENTS).resolve()
    paths = sorted(path for path in root.iterdir() if path.is_file()) if root.is_dir() else []
    made = {path.stem: str(path) for path in paths}
    for name, value in manifest.map(ATTACHMENTS).items():
        inside = value.get("path") if isinstance(value, Mapping) else value
        path = (folder / str(inside)).resolve()
        if path.is_relative_to(folder.resolve()) and path.is_file():
            made[name] = str(path)
        else:
            problem = f"attachment `{name}`: there is no file {inside} in the bundle"
            found.add("C222", manifest.place(ATTACHMENTS), problem=problem)
    return made


def _recipes(folder: Path, found: Diagnostics) -> Iterator[Recipe]:
    for path in sorted(folder.glob("*.json")):
        try:
            yield read_recipe(path)
        except OSError as problem:
            found.add("C222", Span(str(path), 1, 1), problem=f"{path}: {problem.strerror}")


def _markdown(folder: Path, found: Diagnostics) -> list[tuple[Path, bytes]]:
    files: list[tuple[Path, bytes]] = []
    try:
        entries = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as problem:
        found.add("C222", Span(str(folder), 1, 1), problem=f"{folder}: {problem.strerror}")
        return []
    for path in entries:
        if path.suffix.lower() != ".md" or not path.is_file():
            continue
        try:
            files.append((path, path.read_bytes()))
        except OSError as problem:
            found.add("C222", Span(str(path), 1, 1), problem=f"{path}: {problem.strerror}")
    return files


def _preset(path: Path, matter: FrontMatter, found: Diagnostics) -> BundlePreset:
    span = Span(str(path), 1, 1)
    if matter.problem:
        found.add("C221", span, problem=f"{path.name}: {matter.problem}")
    name = matter.values.get("name")
    if isinstance(name, str) and name and name != path.stem:
        found.add("C221", span, problem=f"{path.name} calls itself `{name}`")
    values = matter.values.get("vars")
    return BundlePreset(path.stem, values if isinstance(values, dict) else {}, matter.body, span)
