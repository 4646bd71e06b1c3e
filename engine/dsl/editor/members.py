"""What may follow a dot: names and fields of the namespaces of references (language.md 9.1).

Used by ``completion`` for what may be written and by ``hover`` for what a name is. Answers come from the draft; what is
not declared has no members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from engine.dsl.checks.expressions import RUN_TYPES
from engine.dsl.checks.references import ATTACHMENT_FIELDS, EACH_FIELDS, ELEMENT_FIELDS, LOOP_FIELDS
from engine.dsl.draft import Draft, EdgeDraft, NodeDraft
from engine.dsl.reader import Section


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: the nodes with that name or prompt, and on an edge the sources whose output is ``input``."""

    nodes: tuple[NodeDraft, ...] = ()
    sources: tuple[NodeDraft, ...] = ()
    parameters: tuple[str, ...] = ()


Members = Mapping[str, str]
"""name -> what it is, in a word or two."""


def members(draft: Draft, reader: Reader, path: tuple[str, ...]) -> Members:
    """What may follow ``path``, which starts with a namespace."""
    if not path:
        return {}
    finder = _FINDERS.get(path[0])
    return finder(draft, reader, path[1:]) if finder else {}


def output_fields(draft: Draft, node: NodeDraft) -> Members:
    """The fields of a node's output, as far as they are declared."""
    schema = draft.schemas.get(node.section.text("output"))
    if schema is not None:
        return {field.field.name: field.field.type.value for field in schema.fields}
    lines = node.section.section("expr")
    if lines is not None:
        return dict.fromkeys(lines.items, "computed")
    if node.kind == "router" and node.section.text("mode") == "fan_out_each":
        return {node.section.text("as", "item"): "element", **dict.fromkeys(ELEMENT_FIELDS, "int")}
    return {}


def input_fields(draft: Draft, node: NodeDraft) -> Members:
    """The fields of a node's input: those of its schema, else what edges map to it."""
    schema = draft.schemas.get(node.section.text("input"))
    if schema is not None:
        return {field.field.name: field.field.type.value for field in schema.fields}
    incoming = draft.incoming.get(node.name, [])
    mapped = {entry.key: f"from {edge.source}" for edge in incoming for entry in edge.mapping}
    entry = draft.workflow.section.text("entry") if draft.workflow else ""
    return mapped | dict.fromkeys(draft.vars if entry == node.name else (), "var")


def _input(draft: Draft, reader: Reader, path: tuple[str, ...]) -> Members:
    if path:
        return {}
    found: dict[str, str] = {}
    for source in reader.sources:
        found |= output_fields(draft, source)
    for node in () if reader.sources else reader.nodes:
        found |= input_fields(draft, node)
    return found


def _vars(draft: Draft, _reader: Reader, path: tuple[str, ...]) -> Members:
    return {} if path else {name: each.var.type.value for name, each in draft.vars.items()}


def _outputs(draft: Draft, _reader: Reader, path: tuple[str, ...]) -> Members:
    node = draft.nodes.get(".".join(path))
    if node is not None:
        return {**output_fields(draft, node), "history": "all outputs of the run"}
    return _below(path, {name: each.kind for name, each in draft.nodes.items() if each.kind != "fail"})


def _below(path: tuple[str, ...], names: Members) -> Members:
    """Names that go on behind ``path``: members of groups have dots in their names."""
    prefix = ".".join((*path, "")) if path else ""
    return {name[len(prefix) :]: what for name, what in names.items() if name.startswith(prefix)}


def _artifacts(draft: Draft, _reader: Reader, path: tuple[str, ...]) -> Members:
    for node in draft.nodes.values():
        if path and node.section.text("publish") == ".".join(path):
            return output_fields(draft, node)
    published = ((node.section.text("publish"), node.name) for node in draft.nodes.values())
    return {} if path else {name: f"published by {node}" for name, node in published if name}


def _loop(draft: Draft, _reader: Reader, path: tuple[str, ...]) -> Members:
    names = {edge.loop.name for edge in draft.edges if edge.loop}
    return _counted(path, names, LOOP_FIELDS)


def _each(draft: Draft, _reader: Reader, path: tuple[str, ...]) -> Members:
    names = {edge.foreach.name for edge in draft.edges if edge.foreach}
    return _counted(path, names, EACH_FIELDS)


def _counted(path: tuple[str, ...], names: set[str], fields: Iterable[str]) -> Members:
    if ".".join(path) in names:
        return dict.fromkeys(fields, "field")
    return _below(path, dict.fromkeys(sorted(names), "loop"))


def _run(_draft: Draft, _reader: Reader, path: tuple[str, ...]) -> Members:
    return {} if path else RUN_TYPES


def _params(_draft: Draft, reader: Reader, path: tuple[str, ...]) -> Members:
    return {} if path else dict.fromkeys(reader.parameters, "parameter")


def _attachments(draft: Draft, _reader: Reader, path: tuple[str, ...]) -> Members:
    names = draft.other("attachments")
    return dict.fromkeys(ATTACHMENT_FIELDS if path and path[0] in names else () if path else names, "attachment")


def _secrets(draft: Draft, _reader: Reader, path: tuple[str, ...]) -> Members:
    return {} if path else dict.fromkeys(draft.other("secrets"), "secret")


_FINDERS: Mapping[str, Callable[[Draft, Reader, tuple[str, ...]], Members]] = {
    "vars": _vars,
    "input": _input,
    "outputs": _outputs,
    "artifacts": _artifacts,
    "loop": _loop,
    "each": _each,
    "run": _run,
    "params": _params,
    "attachments": _attachments,
    "secrets": _secrets,
}


def named(draft: Draft, name: str) -> Iterator[NodeDraft]:
    """The node of that name, or the copies of a group's member of that name."""
    if name in draft.nodes:
        yield draft.nodes[name]
    else:
        yield from (node for full, node in draft.nodes.items() if full.endswith(f".{name}"))


def users(draft: Draft, prompt: str) -> Iterator[NodeDraft]:
    """The nodes that name a prompt."""
    for node in draft.nodes.values():
        if _names_prompt(node.section, prompt):
            yield node


def _names_prompt(section: Section, prompt: str) -> bool:
    return any(item.data == prompt for item in section.items.values() if isinstance(item.data, str))


def edge_source(draft: Draft, edges: Iterable[EdgeDraft]) -> tuple[NodeDraft, ...]:
    """The sources of some edges."""
    return tuple(draft.nodes[edge.source] for edge in edges if edge.source in draft.nodes)
