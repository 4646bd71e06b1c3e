"""Which nodes an edit of the source affects: the recorded unit against the one on disk (language.md 16).

Called by ``rewind --auto``. Compares what the texts say after reading, declaration by declaration: places, comments,
quoting, layout and the order of declarations and properties do not count. In doubt more nodes are named than needed.
An edit of a child workflow is not seen.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from engine.dsl.assemble import prompt_name
from engine.dsl.ast import (
    Block,
    Declaration,
    EdgeLine,
    Entry,
    ListValue,
    MapValue,
    Property,
    Scalar,
    TypeValue,
    WithLine,
)
from engine.dsl.bundle import MANIFEST, PRESETS, PROMPTS
from engine.dsl.draft import Draft, EdgeDraft, NodeDraft
from engine.dsl.flow import entry_of
from engine.dsl.graph import SourceFile
from engine.dsl.load import read_draft
from engine.dsl.reader import Section
from engine.dsl.texts import PROMPTS as PROMPT_KEYS
from engine.errors import SourceMissing

ORDERED_BLOCKS = frozenset({"fallbacks"})
Plain: TypeAlias = "tuple[object, ...]"


@dataclass(slots=True)
class Affected:
    """Affected nodes with the first reason for each."""

    reasons: dict[str, str] = field(default_factory=dict)

    def add(self, node: str, reason: str) -> None:
        """Name a node; its first reason stays."""
        if node:
            self.reasons.setdefault(node, reason)


def recorded_whole(sources: Sequence[SourceFile], digest: str) -> bool:
    """Whether a run recorded every text behind its digest, and not the main file alone for being too large."""
    if not sources:
        return False
    return len(sources) > 1 or hashlib.sha256(sources[0].text.encode()).hexdigest() == digest


def affected_nodes(recorded: Sequence[SourceFile], path: Path) -> Mapping[str, str]:
    """Node -> reason, for every node that differs between the recorded texts and the source at ``path``.

    Raises ``SourceMissing`` when ``path`` cannot be opened, or when nothing was recorded.
    """
    if not recorded:
        raise SourceMissing("The run recorded no source.", "Name the node: rewind --node N.")
    with tempfile.TemporaryDirectory() as folder:
        before = read_draft(_unpack(recorded, Path(folder)))
        return compare(before, read_draft(path))


def _unpack(recorded: Sequence[SourceFile], folder: Path) -> Path:
    """Write recorded texts into a folder; the path of the main file."""
    for source in recorded:
        parts = PurePosixPath(source.path).parts
        if not parts or ".." in parts or source.path.startswith("/"):
            raise SourceMissing(f"The recorded path {source.path} is not relative.", "Name the node: rewind --node N.")
        file = folder / source.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(source.text.encode())
        if parts[0] in (PROMPTS, PRESETS):
            (folder / MANIFEST).touch()
    return folder / recorded[0].path


def compare(before: Draft, after: Draft) -> Mapping[str, str]:
    """Node -> reason for every node of ``after`` that differs from ``before``."""
    found = Affected()
    _nodes(before, after, found)
    _edges(before, after, found)
    _declarations(before, after, found)
    return {node: reason for node, reason in found.reasons.items() if node in after.nodes}


def _nodes(before: Draft, after: Draft, found: Affected) -> None:
    for name, node in after.nodes.items():
        old = before.nodes.get(name)
        if old is None:
            found.add(name, "it is new")
        elif node.kind != old.kind:
            found.add(name, f"it was a {old.kind}")
        else:
            for key in _differing(old.section, node.section):
                found.add(name, f"`{key}` differs")


def _differing(old: Section, new: Section) -> Iterator[str]:
    for key in sorted({*old.items, *new.items}):
        first, second = old.items.get(key), new.items.get(key)
        if first is None or second is None or _line(first.line) != _line(second.line):
            yield key
    if _map(old.mapping) != _map(new.mapping):
        yield "with"


def _edges(before: Draft, after: Draft, found: Affected) -> None:
    """An edge affects its source; so does its place among the edges with the same source or the same target."""
    for source in {*before.outgoing, *after.outgoing}:
        old = [_edge(edge) for edge in before.outgoing.get(source, ())]
        new = [_edge(edge) for edge in after.outgoing.get(source, ())]
        if old != new:
            found.add(source, "an edge that leaves it differs")
    for target, edges in after.incoming.items():
        old_order = [edge.source for edge in before.incoming.get(target, ())]
        new_order = [edge.source for edge in edges]
        if old_order != new_order and sorted(old_order) == sorted(new_order):
            for source in new_order:
                found.add(source, f"the order of the edges into `{target}` differs")


def _declarations(before: Draft, after: Draft, found: Affected) -> None:
    schemas = {name for name in {*before.schemas, *after.schemas} if _schema(before, name) != _schema(after, name)}
    prompts = {name for name in {*before.prompts, *after.prompts} if _prompt(before, name) != _prompt(after, name)}
    cursors = {name for name in _others(before, after, "cursor") if _other(before, name) != _other(after, name)}
    groups = {name for name in {*before.groups, *after.groups} if _group(before, name) != _group(after, name)}
    for node in after.nodes.values():
        for name in sorted(_schema_names(node) & schemas):
            found.add(node.name, f"schema `{name}` differs")
        for name in sorted(_prompt_names(node) & prompts):
            found.add(node.name, f"prompt `{name}` differs")
        inner = node.section.section("cursors")
        for name in sorted(set(inner.items if inner else ()) & cursors):
            found.add(node.name, f"cursor `{name}` differs")
        group = after.uses.get(node.name.split(".", 1)[0], "") if "." in node.name else ""
        if group in groups:
            found.add(node.name, f"group `{group}` differs")
    for reason in _workflow(before, after):
        found.add(entry_of(after), reason)


def _workflow(before: Draft, after: Draft) -> Iterator[str]:
    """What belongs to the whole workflow, and so to its entry node."""
    for name in sorted({*before.vars, *after.vars}):
        first, second = before.vars.get(name), after.vars.get(name)
        if (first.var if first else None) != (second.var if second else None):
            yield f"var `{name}` differs"
    for name in sorted({*before.presets, *after.presets}):
        if _preset(before, name) != _preset(after, name):
            yield f"preset `{name}` differs"
    if before.workflow and after.workflow:
        for key in _differing(before.workflow.section, after.workflow.section):
            if key not in ("vars", "presets"):
                yield f"`{key}` of the workflow differs"
    for kind in ("attachments", "secrets", "mcp_server", "supervisor", "contract"):
        names = {*before.other(kind), *after.other(kind)}
        if any(_other_of(before, kind, name) != _other_of(after, kind, name) for name in names):
            yield f"`{kind}` differs"


def _schema_names(node: NodeDraft) -> set[str]:
    return {node.section.text(key) for key in ("input", "output")} - {""}


def _prompt_names(node: NodeDraft) -> set[str]:
    scalars = (node.section.scalar(key) for key in PROMPT_KEYS)
    return {prompt_name(scalar) for scalar in scalars if scalar is not None}


def _schema(draft: Draft, name: str) -> Plain | None:
    found = draft.schemas.get(name)
    return tuple(line.field for line in found.fields) if found else None


def _prompt(draft: Draft, name: str) -> str | None:
    found = draft.prompts.get(name)
    return found.text.value if found else None


def _preset(draft: Draft, name: str) -> Plain | None:
    found = draft.presets.get(name)
    if found is None:
        return None
    return (sorted((key, _line(line)) for key, line in found.values.items()), dict(found.from_file))


def _group(draft: Draft, name: str) -> Plain | None:
    found = draft.groups.get(name)
    return (found.parameters, _block(found.block, ordered=False)) if found else None


def _others(before: Draft, after: Draft, kind: str) -> set[str]:
    return {*before.other(kind), *after.other(kind)}


def _other(draft: Draft, name: str) -> Plain | None:
    return _other_of(draft, "cursor", name)


def _other_of(draft: Draft, kind: str, name: str) -> Plain | None:
    found = draft.other(kind).get(name)
    if found is None:
        return None
    if found.declaration is not None:
        return _block(found.declaration.block, ordered=False)
    return (found.value, sorted((key, _line(item.line)) for key, item in found.section.items.items()))


def _edge(edge: EdgeDraft) -> Plain:
    return (edge.target, edge.when, edge.otherwise, edge.loop, edge.foreach, _pairs(edge.mapping))


def _pairs(entries: Iterable[Entry]) -> Plain:
    return tuple(sorted((entry.key, entry.value.text) for entry in entries))


def _map(found: MapValue | None) -> Plain:
    return _pairs(found.entries) if found else ()


def _line(line: Property) -> Plain:
    """A property as something that compares by what it says."""
    return (line.key, _value(line.value), _block(line.block, ordered=line.key in ORDERED_BLOCKS))


def _value(value: object) -> object:
    if isinstance(value, Scalar):
        return ("scalar", value.kind.value, value.value if isinstance(value.value, str) else value.spelling)
    if isinstance(value, ListValue):
        return ("list", tuple(_value(item) for item in value.items))
    if isinstance(value, MapValue):
        return ("map", _map(value))
    if isinstance(value, TypeValue):
        constraints = tuple((constraint.name, constraint.values) for constraint in value.constraints)
        return ("type", value.name, constraints, _value(value.default), value.optional)
    return None


def _block(block: Block | None, *, ordered: bool) -> Plain:
    """A block; a map in braces and one in lines are told apart, which names more nodes than needed at worst."""
    lines: list[Plain] = []
    edges: list[Plain] = []
    for entry in block.entries if block else ():
        if isinstance(entry, Property):
            lines.append(_line(entry))
        elif isinstance(entry, WithLine):
            lines.append(("with", _map(entry.map)))
        elif isinstance(entry, Declaration):
            lines.append((f"{entry.kind} {entry.name}", _block(entry.block, ordered=False)))
        elif isinstance(entry, EdgeLine):
            mapping = _map(entry.mapping)
            edges.append((entry.nodes, entry.when, entry.otherwise, entry.loop, entry.foreach, mapping))
    return (tuple(lines if ordered else sorted(lines, key=lambda line: str(line[0]))), tuple(edges))
