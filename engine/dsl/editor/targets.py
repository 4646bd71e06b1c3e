"""What is named at a cursor, and where it is declared.

``target_at`` looks at the words around the cursor, ``places_of`` at the unit. Used by ``hover`` and for "go to
definition".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto

from engine.dsl.draft import Draft
from engine.dsl.editor.analysis import Analysis
from engine.dsl.editor.members import named
from engine.dsl.editor.reading import edge_chain, writing_at
from engine.dsl.editor.spot import Spot
from engine.dsl.expression_functions import FUNCTIONS
from engine.dsl.graph import Span
from engine.dsl.parser import TOP_BLOCKS, WORDS
from engine.dsl.parser.blocks import NODE_WORDS
from engine.dsl.shapes import Want
from engine.dsl.templates import NAMESPACES, PARAMS
from engine.dsl.unit import MAIN

_QUOTED_PATH = re.compile(r'"([^"\n]*)"|`([^`\n]*)`')


class What(StrEnum):
    """What kind of thing a word names."""

    KIND = auto()
    PROPERTY = auto()
    WORD = auto()
    NODE = auto()
    SCHEMA = auto()
    PROMPT = auto()
    VAR = auto()
    GROUP = auto()
    PRESET = auto()
    LOOP = auto()
    ARTIFACT = auto()
    FIELD = auto()
    FUNCTION = auto()
    NAMESPACE = auto()
    FILE = auto()
    OTHER = auto()
    WORKFLOW = auto()


@dataclass(frozen=True, slots=True)
class Target:
    """A named thing: ``owner`` is the block's shape for a property, the node for a field, the kind for others."""

    what: What
    name: str
    owner: str = ""


def target_at(analysis: Analysis, spot: Spot) -> Target | None:
    """What is named at the cursor."""
    if spot.in_comment:
        return None
    if spot.text is not None:
        return _in_text(analysis.draft, spot)
    if spot.line is None or not spot.word:
        return None
    if spot.first_word == "use":
        return _in_use(spot)
    chain = edge_chain(spot)
    if len(chain) > 1:
        return _on_edge(spot, chain)
    if not spot.above or (spot.shape_name == "group" and spot.first_word in NODE_WORDS):
        return _in_header(spot)
    return _on_line(spot)


def _in_use(spot: Spot) -> Target | None:
    tokens = spot.line.tokens if spot.line else []
    return Target(What.GROUP, tokens[1].value) if len(tokens) > 1 and spot.word == tokens[1].value else None


def _in_header(spot: Spot) -> Target | None:
    """On ``KIND NAME:``."""
    first = spot.first_word
    if (
        spot.word == first
        and first in WORDS
        and spot.column <= len(spot.source) - len(spot.source.lstrip()) + len(first)
    ):
        return Target(What.KIND, first)
    if first in TOP_BLOCKS:
        return None
    return _declared(first, spot.word)


def _declared(kind: str, name: str) -> Target:
    known = {"schema": What.SCHEMA, "prompt": What.PROMPT, "group": What.GROUP, "workflow": What.WORKFLOW}
    if kind in NODE_WORDS:
        return Target(What.NODE, name)
    return Target(known.get(kind, What.OTHER), name, kind)


def _on_edge(spot: Spot, chain: tuple[str, ...]) -> Target | None:
    behind = spot.source[: spot.span[0]].split()
    clause = behind[-1] if behind else ""
    if clause in ("when", "not"):
        return Target(What.FIELD, spot.word, chain[-2])
    if clause in ("as", "foreach"):
        return Target(What.LOOP, spot.word)
    name = _dotted_around(spot)
    return Target(What.NODE, name) if name in chain else None


def _on_line(spot: Spot) -> Target | None:
    """On ``key: value`` in a block, or on an item of a list."""
    prop, key = spot.prop, spot.key
    first = spot.line.tokens[0] if spot.line else None
    if first is not None and spot.row == first.line and first.column - 1 <= spot.column < first.end:
        if spot.shape is not None and first.value in spot.shape.known:
            return Target(What.PROPERTY, first.value, spot.shape_name)
        if spot.shape_name in ("vars", "schema", "presets"):
            owner = spot.above[0].name
            kinds = {"vars": What.VAR, "schema": What.FIELD, "presets": What.PRESET}
            return Target(kinds[spot.shape_name], first.value, owner)
        return Target(What.OTHER, first.value, "cursor") if spot.shape_name == "agent_cursors" else None
    if prop is None:
        return None
    if prop.names in _NAMED:
        dotted = _dotted_around(spot)
        return Target(_NAMED[prop.names], dotted, prop.names)
    word = spot.word
    return (
        Target(What.WORD, word, f"{spot.shape_name}.{key}") if prop.want is Want.WORD and word in prop.words else None
    )


_NAMED: Mapping[str, What] = {
    "schema": What.SCHEMA,
    "prompt": What.PROMPT,
    "node": What.NODE,
    "artifact": What.ARTIFACT,
    "contract": What.OTHER,
    "mcp_server": What.OTHER,
}


def _dotted_around(spot: Spot) -> str:
    left, right = spot.column, spot.column
    while left and (spot.source[left - 1].isalnum() or spot.source[left - 1] in "_."):
        left -= 1
    while right < len(spot.source) and (spot.source[right].isalnum() or spot.source[right] in "_."):
        right += 1
    return spot.source[left:right]


def _in_text(draft: Draft, spot: Spot) -> Target | None:
    path = _path_at(spot)
    if path:
        return Target(What.FILE, path)
    writing = writing_at(spot, whole=True)
    if writing is None or not writing.path[-1]:
        return None
    namespace, *names = writing.path
    if not names:
        if (
            writing.expression
            and namespace in FUNCTIONS
            and spot.rest.lstrip("abcdefghijklmnopqrstuvwxyz").startswith("(")
        ):
            return Target(What.FUNCTION, namespace)
        if namespace in NAMESPACES:
            return Target(What.NAMESPACE, namespace)
        return Target(What.FIELD, namespace, "") if writing.expression else None
    return _referenced(draft, namespace, tuple(names))


def _path_at(spot: Spot) -> str:
    """The path of an import, an include or a subbot's source around the cursor."""
    sourced = spot.prop is not None and spot.prop.names == "file"
    if not (sourced or spot.first_word == "import" or "include" in spot.source):
        return ""
    for found in _QUOTED_PATH.finditer(spot.source):
        if found.start() <= spot.column <= found.end():
            before = spot.source[: found.start()].rstrip()
            if sourced or before.endswith(("import", "include")):
                return found[1] or found[2] or ""
    return ""


def _referenced(draft: Draft, namespace: str, names: tuple[str, ...]) -> Target | None:
    """``namespace.names`` up to the cursor's word: the thing, or a field of it."""
    simple = {"vars": What.VAR, "input": What.FIELD, "run": What.FIELD, PARAMS: What.OTHER, "secrets": What.OTHER}
    if namespace in simple:
        return Target(simple[namespace], names[0], namespace)
    known: Mapping[str, Iterable[str]] = {
        "outputs": draft.nodes,
        "loop": {edge.loop_name for edge in draft.edges},
        "each": {edge.loop_name for edge in draft.edges},
        "artifacts": {node.section.text("publish") for node in draft.nodes.values()},
    }
    what = {"outputs": What.NODE, "loop": What.LOOP, "each": What.LOOP, "artifacts": What.ARTIFACT}.get(namespace)
    if what is None:
        return Target(What.OTHER, names[0], namespace)
    for size in range(len(names), 0, -1):
        name = ".".join(names[:size])
        if name in known[namespace]:
            return Target(what, name) if size == len(names) else Target(What.FIELD, names[size], name)
    return Target(what, names[0])


def places_of(draft: Draft, target: Target) -> tuple[Span, ...]:
    """Where the target is declared; empty for words of the language and for what nobody declares."""
    finder = _PLACES.get(target.what)
    return tuple(dict.fromkeys(finder(draft, target))) if finder else ()


def _node_places(draft: Draft, target: Target) -> Iterator[Span]:
    return (node.span for node in named(draft, target.name))


def _field_places(draft: Draft, target: Target) -> Iterator[Span]:
    for node in named(draft, target.owner):
        schema = draft.schemas.get(node.section.text("output"))
        for field in schema.fields if schema else ():
            if field.field.name == target.name:
                yield field.span
        lines = node.section.section("expr")
        if schema is None and lines is not None and target.name in lines.items:
            yield lines.items[target.name].line.span


def _loop_places(draft: Draft, target: Target) -> Iterator[Span]:
    return (edge.clause_span or edge.span for edge in draft.edges if edge.loop_name == target.name)


def _artifact_places(draft: Draft, target: Target) -> Iterator[Span]:
    return (
        node.section.place("publish") for node in draft.nodes.values() if node.section.text("publish") == target.name
    )


def _other_places(draft: Draft, target: Target) -> Iterator[Span]:
    return (found[target.name].span for found in draft.others.values() if target.name in found)


def _one(found: Mapping[str, object], name: str) -> Iterator[Span]:
    span = getattr(found.get(name), "span", None)
    if isinstance(span, Span):
        yield span


_PLACES: Mapping[What, Callable[[Draft, Target], Iterator[Span]]] = {
    What.NODE: _node_places,
    What.FIELD: _field_places,
    What.LOOP: _loop_places,
    What.ARTIFACT: _artifact_places,
    What.OTHER: _other_places,
    What.SCHEMA: lambda draft, target: _one(draft.schemas, target.name),
    What.PROMPT: lambda draft, target: _one(draft.prompts, target.name),
    What.VAR: lambda draft, target: _one(draft.vars, target.name),
    What.PRESET: lambda draft, target: _one(draft.presets, target.name),
    What.GROUP: lambda draft, target: (group.name_span for group in [draft.groups.get(target.name)] if group),
    What.WORKFLOW: lambda draft, _target: iter([draft.workflow.span] if draft.workflow else []),
}


def definition(analysis: Analysis, spot: Spot) -> tuple[Span, ...]:
    """Where the thing under the cursor is declared: places in this unit, or the start of the file that it names."""
    target = target_at(analysis, spot)
    if target is None:
        return ()
    if target.what is not What.FILE:
        return places_of(analysis.draft, target)
    path = analysis.path.parent / target.name
    try:
        path = path / MAIN if path.is_dir() else path
        return (Span(str(path), 1, 1),) if path.is_file() else ()
    except (OSError, ValueError):  # a name that no file can have
        return ()
