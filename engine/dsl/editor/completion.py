"""What may be written at a cursor: words from the compiler's own tables, names from the unit.

``complete`` is the door. It offers, the compiler judges: a suggestion may still be a mistake where it lands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto

from engine.dsl import meanings
from engine.dsl.data import FIELD_TYPES, VAR_TYPES
from engine.dsl.draft import Draft
from engine.dsl.editor.analysis import Analysis
from engine.dsl.editor.members import Reader, members, named, output_fields
from engine.dsl.editor.reading import CLAUSES, edge_chain, include_at, reader_at, writing_at
from engine.dsl.editor.spot import Lines, Spot
from engine.dsl.expression_functions import FUNCTIONS
from engine.dsl.graph import TERMINALS
from engine.dsl.groups import MEMBER_KINDS
from engine.dsl.parser import WORDS
from engine.dsl.shapes import Prop, Want
from engine.dsl.templates import NAMESPACES, PARAMS
from engine.dsl.tokens import Kind
from engine.dsl.unit import LIB


class Sort(StrEnum):
    """What kind of thing a suggestion is."""

    KEYWORD = auto()
    PROPERTY = auto()
    VALUE = auto()
    NODE = auto()
    NAME = auto()
    FIELD = auto()
    FUNCTION = auto()
    FILE = auto()


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word that may stand at the cursor; ``replaces`` characters before the cursor are a part of it already."""

    label: str
    sort: Sort
    detail: str = ""
    replaces: int = 0
    tail: str = ""
    """What is written behind the word, such as ``: ``."""


def complete(analysis: Analysis, lines: Lines, row: int, column: int) -> tuple[Suggestion, ...]:
    """Everything that may stand at a place, in a useful order, each word once."""
    spot = lines.spot(row, column)
    if spot.in_comment:
        return ()
    found: dict[str, Suggestion] = {}
    for each in _suggestions(analysis, lines, spot):
        found.setdefault(each.label, each)
    return tuple(found.values())


def _suggestions(analysis: Analysis, lines: Lines, spot: Spot) -> Iterator[Suggestion]:
    if spot.text is not None:
        yield from _in_text(analysis, spot)
    elif spot.at_start:
        yield from _at_start(analysis, lines, spot)
    elif len(edge_chain(spot)) > 1:
        yield from _on_edge(analysis.draft, spot)
    elif spot.prop is not None or spot.key:
        yield from _values(analysis, spot)
    elif spot.first_word == "use":
        yield from _names(spot, dict.fromkeys(analysis.draft.groups, "group"), Sort.NAME)


def _names(spot: Spot, names: Mapping[str, str], sort: Sort, tail: str = "") -> Iterator[Suggestion]:
    """Names that may have dots: what is written of them already counts whole."""
    return (Suggestion(name, sort, what, len(spot.dotted), tail) for name, what in names.items())


def _nodes(draft: Draft) -> dict[str, str]:
    return {name: node.kind for name, node in draft.nodes.items()}


def _at_start(analysis: Analysis, lines: Lines, spot: Spot) -> Iterator[Suggestion]:
    """At the first word of a line: declarations, properties, the nodes that an edge may start from."""
    size, draft = len(spot.dotted), analysis.draft
    if not spot.above:
        yield from (Suggestion(word, Sort.KEYWORD, meanings.KINDS[word], size) for word in WORDS)
    elif spot.shape_name == "group":
        group = draft.groups.get(spot.above[0].name)
        inside = group.block.entries if group and group.block else ()
        yield from (
            Suggestion(word, Sort.KEYWORD, meanings.KINDS[word], size) for word in WORDS if word in MEMBER_KINDS
        )
        yield from _names(spot, {name: "node" for each in inside if (name := getattr(each, "name", ""))}, Sort.NODE)
    elif spot.shape is not None:
        used = lines.keys_beside(spot)
        for key, prop in spot.shape.known.items():
            if key not in used:
                yield Suggestion(
                    key, Sort.PROPERTY, _about(spot.shape_name, key, prop), size, ":" if prop.shape else ": "
                )
        if spot.shape.mapping and "with" not in used:
            yield Suggestion("with", Sort.KEYWORD, "values for the child, by name", size, " { ")
        if spot.shape.edges:
            yield from _names(spot, _nodes(draft), Sort.NODE)
        yield from _names(spot, _free_keys(analysis, spot), Sort.NAME, ": ")
    elif len(spot.above) == 2 and spot.above[0].key == "presets":
        yield from _names(spot, {name: each.var.type.value for name, each in draft.vars.items()}, Sort.NAME, ": ")


def _free_keys(analysis: Analysis, spot: Spot) -> Mapping[str, str]:
    """Keys of a block whose keys are names of something: cursors, the parameters of an operation, fields."""
    draft = analysis.draft
    if spot.shape_name == "agent_cursors":
        return dict.fromkeys(draft.other("cursor"), "cursor")
    node = next(named(draft, spot.node), None) if spot.node else None
    if node is None:
        return {}
    if spot.shape_name == "expr":
        return output_fields(draft, node) if node.section.has("output") else {}
    operation = (analysis.around.catalogue or {}).get(node.section.text("action"))
    if spot.shape_name == "params" and operation:
        return {each.name: each.type + (", required" if each.required else "") for each in operation.parameters}
    return {}


def _about(shape_name: str, key: str, prop: Prop) -> str:
    words = f" ({' | '.join(prop.words)})" if prop.words else ""
    return meanings.meaning(shape_name, key) + words


def _values(analysis: Analysis, spot: Spot) -> Iterator[Suggestion]:
    """Behind ``key:``, and as an item of a list."""
    size, prop = len(spot.dotted), spot.prop
    typed = {"vars": VAR_TYPES, "schema": FIELD_TYPES}.get(spot.shape_name, ())
    yield from (Suggestion(word, Sort.VALUE, "type", size) for word in typed)
    if spot.shape_name == "attachments":
        yield from (Suggestion(word, Sort.VALUE, "", size) for word in ("file", "image"))
    if prop is None:
        return
    words = ("true", "false") if prop.want is Want.BOOL else prop.words
    yield from (Suggestion(word, Sort.VALUE, "", size) for word in words)
    if prop.names in _NAMED:
        yield from _names(spot, _NAMED[prop.names](analysis), Sort.NODE if prop.names == "node" else Sort.NAME)
    if spot.key == "action":
        catalogue = analysis.around.catalogue or {}
        yield from _names(spot, {name: each.effect for name, each in catalogue.items()}, Sort.NAME)


_NAMED: Mapping[str, Callable[[Analysis], Mapping[str, str]]] = {
    "schema": lambda found: dict.fromkeys(found.draft.schemas, "schema"),
    "prompt": lambda found: {name: "prompt" for name, each in found.draft.prompts.items() if each.literal is None},
    "node": lambda found: _nodes(found.draft),
    "artifact": lambda found: members(found.draft, Reader(), ("artifacts",)),
    "contract": lambda found: dict.fromkeys(found.draft.other("contract"), "contract"),
    "mcp_server": lambda found: dict.fromkeys(found.draft.other("mcp_server"), "server"),
    "connection": lambda found: dict(found.around.connections or {}),
}


def _on_edge(draft: Draft, spot: Spot) -> Iterator[Suggestion]:
    """Behind the source of an edge: targets, clauses, fields of the source, loops."""
    size = len(spot.dotted)
    before = [token for token in spot.before if (token.end_line, token.end) <= (spot.row, spot.column + 1 - size)]
    last = before[-1] if before else None
    if last is None or last.kind is Kind.ARROW:
        yield from _names(spot, _nodes(draft) | dict.fromkeys(sorted(TERMINALS), "end of the run"), Sort.NODE)
    elif last.value in ("when", "not"):
        for source in named(draft, edge_chain(spot)[-2]):
            for field, what in output_fields(draft, source).items():
                yield Suggestion(field, Sort.FIELD, what, size)
        if last.value == "when":
            yield Suggestion("not", Sort.KEYWORD, "the field is false or absent", size, " ")
    elif last.value == "as":
        loops = {name: "loop" for edge in draft.edges if (name := edge.loop_name)}
        yield from _names(spot, loops, Sort.NAME, "(")
        yield Suggestion("foreach", Sort.KEYWORD, "one pass for each element of a list", size, " ")
    else:
        given = {token.value for token in before}
        details = {"when": "a condition", "else": "when no other edge fits", "as": "a loop", "with": "values for it"}
        yield from (Suggestion(word, Sort.KEYWORD, details[word], size) for word in CLAUSES if word not in given)


def _in_text(analysis: Analysis, spot: Spot) -> Iterator[Suggestion]:
    """In a string or prompt: references in ``{{ }}`` and in expressions; paths of imports."""
    if spot.first_word == "import":
        yield from _fragments(analysis, spot)
        return
    writing = None if include_at(spot) else writing_at(spot)
    if writing is None:
        if spot.prop is not None and spot.prop.names == "connection":
            yield from _names(spot, dict(analysis.around.connections or {}), Sort.NAME)
        return
    reader, size = reader_at(analysis.draft, spot), len(writing.path[-1])
    if len(writing.path) > 1:
        for name, what in members(analysis.draft, reader, writing.path[:-1]).items():
            yield Suggestion(name, Sort.FIELD, what, size)
        return
    yield from (Suggestion(name, Sort.KEYWORD, meanings.NAMESPACES[name], size, ".") for name in NAMESPACES)
    if reader.parameters:
        yield Suggestion(PARAMS, Sort.KEYWORD, "parameters of the group", size, ".")
    if writing.expression:
        for name, what in members(analysis.draft, reader, ("input",)).items():
            yield Suggestion(name, Sort.FIELD, what, size)
        yield from (Suggestion(name, Sort.FUNCTION, meanings.FUNCTIONS[name], size, "(") for name in FUNCTIONS)


def _fragments(analysis: Analysis, spot: Spot) -> Iterator[Suggestion]:
    folder = analysis.path.parent
    found: Iterable[str] = (each.relative_to(folder).as_posix() for each in sorted((folder / LIB).glob("**/*.bot")))
    yield from (Suggestion(path, Sort.FILE, "fragment", len(spot.text or "")) for path in found)
