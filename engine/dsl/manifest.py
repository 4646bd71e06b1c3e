"""``manifest.yaml`` and ``skills/*.md`` of a bundle (language.md 13).

Read by ``bundle``, judged by ``checks/bundles``; the dispatcher reads triggers, ``dispatch_vars`` and invocations from
the record. A manifest that cannot be read is a diagnostic (C222), never an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.dsl.diagnostics import Diagnostics
from engine.dsl.front_matter import NotYaml, read_map, split
from engine.dsl.graph import Span

MOST_BYTES = 1024 * 1024
SCHEMA_VERSION = 1
KNOWN = frozenset(
    [
        "schema_version",
        "name",
        "version",
        "description",
        "enabled",
        "triggers",
        "capabilities",
        "when_to_use",
        "dispatch_vars",
        "invocations",
        "attachments",
        "requires",
        "display_name",
        "icon",
        "author",
        "compat",
        "forge",
        "repo",
        "config_share",
        "launch",
        "chat",
        "produces",
        "authoring",
    ]
)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A bundle's manifest: ``values`` by key as YAML gave them, ``lines`` where the top-level keys stand."""

    path: Path
    values: Mapping[str, object] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    def place(self, key: str = "") -> Span:
        """Where a top-level key stands."""
        return Span(str(self.path), self.lines.get(key, 1), 1)

    def map(self, key: str) -> Mapping[str, object]:
        """A map of the manifest, empty when it is none."""
        return as_map(self.values.get(key))

    def requires(self, engine: str) -> str:
        """The version that the bundle wants of ``engine``, as written, or empty."""
        return str(self.map("requires").get(engine, ""))


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill file: its name, or the file's stem without one."""

    file: str
    name: str
    description: str
    place: Span


def as_map(value: object) -> Mapping[str, object]:
    """``value`` when it is a map, else an empty one."""
    return {str(key): part for key, part in value.items()} if isinstance(value, Mapping) else {}


def read_manifest(path: Path, found: Diagnostics) -> Manifest:
    """The manifest at ``path``; an empty one when there is none or it cannot be read."""
    if not path.is_file():
        return Manifest(path)
    try:
        text, values = _read(path)
    except NotYaml as unread:
        found.add("C222", Span(str(path), unread.line, 1), problem=str(unread), severity="error")
        return Manifest(path)
    lines: dict[str, int] = {}
    for number, row in enumerate(text.split("\n"), 1):
        lines.setdefault(row.split(":", 1)[0], number)
    manifest = Manifest(path, values, lines)
    version = values.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        hint = "write `schema_version: 1`"
        problem = "it has no schema_version" if version is None else f"schema_version {version} is unknown"
        found.add("C222", manifest.place("schema_version"), problem=problem, hint=hint, severity="error")
    return manifest


def _read(path: Path) -> tuple[str, dict[str, object]]:
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "manifest.yaml is not UTF-8"
        raise NotYaml(str(reason), 1) from None
    if len(data) > MOST_BYTES:
        raise NotYaml("manifest.yaml is larger than 1 MiB", 1)
    return text, read_map(text)


def read_skills(folder: Path) -> list[Skill]:
    """The skills of a bundle, by file name."""
    skills: list[Skill] = []
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".md" and path.is_file())
    except OSError:
        return []
    for path in paths:
        try:
            matter = split(path.read_bytes()[:MOST_BYTES].decode("utf-8", "replace"))
        except OSError:
            continue
        name, description = (str(matter.values.get(key) or "") for key in ("name", "description"))
        skills.append(Skill(path.name, name, description, Span(str(path), 1, 1)))
    return skills
