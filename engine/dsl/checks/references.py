"""References of templates and expressions: do they name something, and can it have a value (language.md 9.1, 14)?

One ``Reading`` is one reference at one place. Prompts are shared, so their references are judged for each node that
uses them and shown where they stand in the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from engine.dsl import expressions
from engine.dsl.assemble import prompt_name
from engine.dsl.checks.context import Context, longest
from engine.dsl.data import SchemaDraft
from engine.dsl.diagnostics import suggestion
from engine.dsl.draft import EdgeDraft, NodeDraft, Site, Use
from engine.dsl.graph import Span
from engine.dsl.places import inside
from engine.dsl.texts import PROMPTS, prompt_place, sites

EXEMPT = frozenset({"history"})
LOOP_FIELDS = ("iteration", "max", "previous_output")
EACH_FIELDS = ("item", "index", "count", "first", "last", "empty")
ATTACHMENT_FIELDS = ("path", "url", "mime", "size", "sha256")
ELEMENT_FIELDS = ("index", "count")


@dataclass(frozen=True, slots=True)
class Reading:
    """A reference ``namespace.path`` at ``span``, read by a node or on an edge under ``key``."""

    namespace: str
    path: tuple[str, ...]
    span: Span
    use: Use
    key: str
    node: NodeDraft | None
    edge: EdgeDraft | None

    @property
    def text(self) -> str:
        """The reference as written."""
        return ".".join((self.namespace, *self.path))

    @property
    def about(self) -> dict[str, str]:
        """Whom a diagnostic is about."""
        return {"node": self.node.name if self.node else "", "edge": self.edge.label if self.edge else ""}

    @property
    def reader(self) -> str:
        """Who reads, in words."""
        return str(self.node) if self.node else f"the edge `{self.edge.label if self.edge else ''}`"


def check_references(context: Context) -> None:
    """Judge every reference of the draft."""
    for reading in readings(context):
        if reading.use is Use.ROUTING and reading.namespace != "vars":
            fields = {"property": reading.key, "reference": reading.text}
            context.found.add("C148", reading.span, **reading.about, **fields)
            continue
        if reading.key == "review_url":
            _review(context, reading)
            continue
        judge = _JUDGES.get(reading.namespace)
        if judge is not None and reading.path:
            judge(context, reading)


def readings(context: Context) -> Iterator[Reading]:
    """Every reference of templates, expressions and prompts."""
    draft = context.draft
    for site in sites(draft):
        template = draft.templates.get(id(site.scalar))
        for reference in template.references if template else ():
            yield _reading(site, reference.namespace, reference.path, reference.offset)
        expression = draft.expressions.get(id(site.scalar))
        for path in expressions.references(expression) if expression else ():
            yield _reading(site, path.namespace, path.path, path.offset)
    for node in draft.nodes.values():
        yield from _prompts_of(context, node)


def _reading(site: Site, namespace: str, path: tuple[str, ...], offset: int) -> Reading:
    return Reading(namespace, path, inside(site.scalar, offset), site.use, site.key, site.node, site.edge)


def _prompts_of(context: Context, node: NodeDraft) -> Iterator[Reading]:
    for key in PROMPTS:
        scalar = node.section.scalar(key)
        if scalar is None:
            continue
        name = prompt_name(scalar)
        template, prompt = context.draft.prompt_templates.get(name), context.draft.prompts.get(name)
        if template is None or prompt is None:
            continue
        for reference in template.references:
            span = prompt_place(prompt, reference.offset)
            yield Reading(reference.namespace, reference.path, span, Use.PROMPT, key, node, None)


def _vars(context: Context, reading: Reading) -> None:
    name = reading.path[0]
    known = context.draft.vars
    if name not in known and not context.draft.incomplete:
        hint = suggestion(name, known, "declare it in `vars:`")
        context.found.add("C033", reading.span, **reading.about, name=name, hint=hint)


def _input(context: Context, reading: Reading) -> None:
    field = reading.path[0]
    if reading.edge is None:
        node = reading.node
        if node is None or _exempt(field):
            return
        schema = context.schema(node, "input")
        if schema is not None and field not in schema.by_name:
            _unknown_field(context, reading, "C034", schema, field)
        return
    source = context.draft.nodes.get(reading.edge.source)
    if reading.use is not Use.MAPPING or source is None or source.kind == "router" or _exempt(field):
        return
    _output_field(context, reading, source, field, "C034")


def _exempt(field: str) -> bool:
    return field.startswith("_") or field in EXEMPT


def _unknown_field(context: Context, reading: Reading, code: str, schema: SchemaDraft, field: str) -> None:
    hint = suggestion(field, schema.by_name, f"add it to schema `{schema.name}`, or map a declared field")
    fields = {"schema": schema.name, "field": field, "name": schema.name, "hint": hint}
    context.found.add(code, reading.span, **reading.about, **fields)


def _output_field(context: Context, reading: Reading, node: NodeDraft, field: str, code: str) -> None:
    """A field of ``node``'s output: against its schema, or C032 when it declares none."""
    schema = context.schema(node)
    if schema is not None:
        if field not in schema.by_name:
            hint = suggestion(field, schema.by_name, f"add it to schema `{schema.name}`, or map a declared field")
            fields = {"name": node.name, "schema": schema.name, "field": field, "hint": hint}
            context.found.add(code, reading.span, **reading.about, **fields)
    elif not node.section.has("output") and field not in _made(node):
        context.found.add("C032", reading.span, **reading.about, name=node.name, field=field)


def _made(node: NodeDraft) -> frozenset[str]:
    """The fields that a node without schema surely has: the lines of a compute, what an emit maps."""
    section = node.section.section("expr") if node.kind == "compute" else None
    mapping = node.section.mapping if node.kind == "emit" else None
    if mapping is not None:
        return frozenset(entry.key for entry in mapping.entries)
    return frozenset(section.items) if section else frozenset()


def _outputs(context: Context, reading: Reading) -> None:
    draft = context.draft
    name, rest = longest(reading.path, draft.nodes)
    node = draft.nodes.get(name)
    if node is None:
        if not (name in draft.unclear or draft.incomplete):
            hint = suggestion(name, draft.nodes, "declare the node, or correct the name")
            context.found.add("C029", reading.span, **reading.about, name=name, hint=hint)
        return
    if rest and rest[0] == "history":
        if not any(name in body for body in context.flow.bodies.values()) and context.settled:
            context.found.add("C017", reading.span, **reading.about, name=name)
    elif rest and not _exempt(rest[0]) and node.kind not in ("router", "fail"):
        _output_field(context, reading, node, rest[0], "C031")
    _ran_before(context, reading, [name], f"outputs.{name}")


def _artifacts(context: Context, reading: Reading) -> None:
    name, _ = longest(reading.path, context.publishers)
    nodes = context.publishers.get(name)
    if nodes is None:
        if not context.draft.incomplete:
            hint = suggestion(name, context.publishers, f"add `publish: {name}` to a node")
            context.found.add("C035", reading.span, **reading.about, name=name, hint=hint)
        return
    _ran_before(context, reading, [node.name for node in nodes], f"artifacts.{name}")


def _ran_before(context: Context, reading: Reading, names: list[str], reference: str) -> None:
    """C036: none of ``names`` can have run when this is read."""
    if not context.settled or not context.flow.entry:
        return
    if reading.edge is not None:
        place = reading.edge.source
        if place in names:
            return
    else:
        place = reading.node.name if reading.node else ""
    if place not in context.flow.reached:
        return
    if not any(context.flow.may_follow(name, place) for name in names):
        fields = {"reference": reference, "reader": reading.reader, "name": names[0]}
        expected = f"read it after `{names[0]}`, or add an edge from it"
        context.found.add("C036", reading.span, **reading.about, **fields, expected=expected)


def _loop(context: Context, reading: Reading) -> None:
    _known_loop(context, reading, context.flow.loop_edges, LOOP_FIELDS, "as NAME(N)")


def _each(context: Context, reading: Reading) -> None:
    foreaches = dict.fromkeys(context.foreaches)
    _known_loop(context, reading, foreaches, EACH_FIELDS, "as foreach NAME(x in …)")


def _known_loop(
    context: Context, reading: Reading, known: Mapping[str, object], fields: tuple[str, ...], form: str
) -> None:
    name, rest = longest(reading.path, known)
    if name not in known:
        problem, hint = f"no loop is called `{name}`", suggestion(name, known, f"write `{form}` on an edge")
    elif rest and rest[0] not in fields:
        problem, hint = f"a loop has no field `{rest[0]}`", suggestion(rest[0], fields)
    else:
        return
    context.found.add("C147", reading.span, **reading.about, reference=reading.text, problem=problem, hint=hint)


def _attachments(context: Context, reading: Reading) -> None:
    known = context.draft.other("attachments")
    name, *rest = reading.path
    if name not in known:
        hint = suggestion(name, known, "declare it in `attachments:`")
        context.found.add("C053", reading.span, **reading.about, name=name, hint=hint)
    elif rest and rest[0] not in ATTACHMENT_FIELDS:
        context.found.add("C054", reading.span, **reading.about, field=rest[0])


def _secrets(context: Context, reading: Reading) -> None:
    known = context.draft.other("secrets")
    name, *rest = reading.path
    if name not in known:
        hint = suggestion(name, known, "declare it in `secrets:`")
        context.found.add("C093", reading.span, **reading.about, name=name, hint=hint)
    elif rest and rest[0] != "path":
        context.found.add("C095", reading.span, **reading.about, field=rest[0])


def _review(context: Context, reading: Reading) -> None:
    """In a review_url an unknown name is C101."""
    draft, name = context.draft, reading.path[0] if reading.path else ""
    known = {
        "vars": name in draft.vars,
        "outputs": longest(reading.path, draft.nodes)[0] in draft.nodes,
        "input": True,
        "run": True,
    }
    if not known.get(reading.namespace, False):
        context.found.add("C101", reading.span, **reading.about, reference=reading.text)


_JUDGES: Mapping[str, Callable[[Context, Reading], None]] = {
    "vars": _vars,
    "input": _input,
    "outputs": _outputs,
    "artifacts": _artifacts,
    "loop": _loop,
    "each": _each,
    "attachments": _attachments,
    "secrets": _secrets,
}
