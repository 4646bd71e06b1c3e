"""What can be said about expressions before they run, and about quotes in commands (language.md 8, 9.3, 14)."""

from __future__ import annotations

from engine.dsl import expressions
from engine.dsl.checks.context import Context, longest
from engine.dsl.checks.shell_quotes import ShellQuotes
from engine.dsl.draft import Draft, NodeDraft, Site, Use
from engine.dsl.expressions import StaticType
from engine.dsl.graph import Field, ValueType
from engine.dsl.places import inside
from engine.dsl.templates import Reference
from engine.dsl.texts import sites

_KINDS = {
    ValueType.STRING: "string",
    ValueType.BOOL: "bool",
    ValueType.INT: "int",
    ValueType.FLOAT: "float",
    ValueType.STRINGS: "list",
}
RUN_TYPES = {
    "id": "string",
    **dict.fromkeys(("elapsed_seconds", "cost_usd", "max_duration_seconds", "max_cost_usd"), "float"),
    **dict.fromkeys(("tokens", "iterations", "max_tokens", "max_iterations"), "int"),
}
_LOOP = {"iteration": "int", "max": "int"}
_EACH = {"index": "int", "count": "int", "first": "bool", "last": "bool", "empty": "bool"}
SHELLS = ("sh", "bash")
STRICT_QUOTES = frozenset({"artifacts", "attachments", "loop"})


def check_expressions(context: Context) -> None:
    """Types, argument counts and conditions of every expression; quotes of every command."""
    for site in sites(context.draft):
        expression = context.draft.expressions.get(id(site.scalar))
        if expression is not None:
            _types(context, site, expression)
        elif site.use in (Use.COMMAND, Use.SCRIPT):
            _quotes(context, site)


def _types(context: Context, site: Site, expression: expressions.Expression) -> None:
    def type_of(namespace: str, path: tuple[str, ...]) -> StaticType | None:
        return _type_of(context, site, namespace, path)

    condition = site.use is Use.CONDITION
    findings = expressions.static_check(expression, type_of, condition=condition, target=_target(context, site))
    for finding in findings:
        place = inside(site.scalar, finding.offset)
        node = site.node.name if site.node else ""
        edge = site.edge.label if site.edge else ""
        fields = {"problem": finding.message, "expected": finding.expected, "hint": finding.expected}
        context.found.add(finding.code, place, node=node, edge=edge, **fields)


def _target(context: Context, site: Site) -> str:
    """The declared type of the field that a compute line fills."""
    schema = context.schema(site.node) if site.node and site.node.kind == "compute" else None
    field = schema.by_name.get(site.key) if schema else None
    return _KINDS.get(field.type, "") if field else ""


def _static(field: Field | None) -> StaticType | None:
    if field is None or field.type not in _KINDS:
        return None
    return StaticType(_KINDS[field.type], field.enum)


def _type_of(context: Context, site: Site, namespace: str, path: tuple[str, ...]) -> StaticType | None:
    draft = context.draft
    if not path:
        return StaticType("map")
    if namespace == "vars" and len(path) == 1:
        var = draft.vars.get(path[0])
        return _static(Field(path[0], var.var.type, var.var.enum)) if var else None
    if namespace == "run" and len(path) == 1:
        return StaticType(RUN_TYPES[path[0]]) if path[0] in RUN_TYPES else None
    if namespace == "outputs":
        name, rest = longest(path, draft.nodes)
        return _field_of(context, draft.nodes.get(name), rest)
    if namespace == "input" and len(path) == 1:
        return _input_type(context, draft, site, path)
    if namespace in ("loop", "each"):
        _, rest = longest(path, context.flow.loop_edges)
        kinds = _LOOP if namespace == "loop" else _EACH
        return StaticType(kinds[rest[0]]) if len(rest) == 1 and rest[0] in kinds else None
    return None


def _input_type(context: Context, draft: Draft, site: Site, path: tuple[str, ...]) -> StaticType | None:
    if site.edge is not None:
        return _field_of(context, draft.nodes.get(site.edge.source), path)
    schema = context.schema(site.node, "input") if site.node else None
    return _static(schema.by_name.get(path[0])) if schema else None


def _field_of(context: Context, node: NodeDraft | None, rest: tuple[str, ...]) -> StaticType | None:
    schema = context.schema(node) if node else None
    if schema is None or len(rest) != 1:
        return None
    return _static(schema.by_name.get(rest[0]))


def _quotes(context: Context, site: Site) -> None:
    """References in a command are quoted already: an author's quotes around them end too early (C137)."""
    template = context.draft.templates.get(id(site.scalar))
    if template is None or not template.references:
        return
    if site.use is Use.SCRIPT and site.node and site.node.section.text("language", "sh") not in SHELLS:
        return
    for reference in _quoted(template.parts):
        if reference.raw:
            continue
        severity = "error" if reference.namespace in STRICT_QUOTES else "warning"
        place = inside(site.scalar, reference.offset)
        name = site.node.name if site.node else ""
        context.found.add("C137", place, node=name, reference=reference.text, severity=severity)


def _quoted(parts: tuple[str | Reference, ...]) -> list[Reference]:
    """The references inside quotes. With a here-document only quotes that touch the reference are believed."""
    found: list[Reference] = []
    simple = not any(isinstance(part, str) and "<<" in part for part in parts)
    shell = ShellQuotes()
    for place, part in enumerate(parts):
        if isinstance(part, str):
            shell.read(part)
            continue
        before = parts[place - 1] if place else ""
        after = parts[place + 1] if place + 1 < len(parts) else ""
        mark = before[-1:] if isinstance(before, str) else ""
        touching = mark in ("'", '"') and isinstance(after, str) and after.startswith(mark)
        if shell.quoted if simple else touching:
            found.append(part)
    return found
