"""Conditions, fallbacks and the edges of routers (language.md 7.1 to 7.5, 14)."""

from __future__ import annotations

from engine.dsl.assemble import where
from engine.dsl.ast import When
from engine.dsl.checks.context import Context
from engine.dsl.diagnostics import suggestion
from engine.dsl.draft import EdgeDraft, NodeDraft
from engine.dsl.graph import RouterMode, ValueType

EACH_ONLY = ("over", "as", "key", "depends_on")
LLM_ONLY = ("model", "backend", "system", "user", "reasoning_effort", "multi")


def check_edges(context: Context) -> None:
    """The edges of every node, by the rules of its kind."""
    for name, node in context.draft.nodes.items():
        edges = context.draft.outgoing.get(name, [])
        mode = router_mode(node)
        if mode is None or mode is RouterMode.CONDITION:
            if node.kind != "fail" and not mode_unread(node):
                _chosen(context, node, edges)
        else:
            _ROUTERS[mode](context, node, edges)
        if mode is not None:
            _mode_properties(context, node, mode)


def router_mode(node: NodeDraft) -> RouterMode | None:
    """The mode of a router, None for another kind."""
    if node.kind != "router" or mode_unread(node):
        return None
    return RouterMode(node.section.text("mode", RouterMode.FAN_OUT_ALL))


def mode_unread(node: NodeDraft) -> bool:
    """Whether a router's mode is given and could not be read: nothing is said about its edges then."""
    item = node.section.items.get("mode")
    return node.kind == "router" and item is not None and item.data is None


def _chosen(context: Context, node: NodeDraft, edges: list[EdgeDraft]) -> None:
    """Edges of which one is taken."""
    _plain(context, node, edges)
    _else(context, node, edges)
    _same(context, edges)
    for edge in edges:
        if edge.when is not None and edge.when.field:
            _field(context, node, edge, edge.when)
    if context.settled:
        _open_case(context, node, edges)


def _plain(context: Context, node: NodeDraft, edges: list[EdgeDraft]) -> None:
    plain = [edge for edge in edges if edge.plain and not edge.otherwise]
    for edge in plain[1:]:
        first = where(plain[0].span, edge.span)
        context.found.add("C010", edge, node=node.name, edge=edge.label, name=node.name, first=first)


def _else(context: Context, node: NodeDraft, edges: list[EdgeDraft]) -> None:
    others = [edge for edge in edges if edge.otherwise]
    if not others:
        return
    conditional = any(edge.when is not None for edge in edges)
    plain = next((edge for edge in edges if edge.plain and not edge.otherwise), None)
    first: EdgeDraft | None = None
    for edge in others:
        if not conditional:
            context.found.add("C015", edge.clause_span or edge, node=node.name, edge=edge.label)
        if first is not None:
            place = where(first.span, edge.span)
            context.found.add("C123", edge, node=node.name, edge=edge.label, name=node.name, first=place)
        elif plain is not None and edge.plain:
            place = where(plain.span, edge.span)
            context.found.add("C124", edge, node=node.name, edge=edge.label, first=place)
        if not edge.loop_name:
            first = first or edge


def _condition(when: When) -> str:
    if when.expression is not None:
        return f'"{when.expression.text.strip()}"'
    return f"not {when.field}" if when.negated else when.field


def _same(context: Context, edges: list[EdgeDraft]) -> None:
    """A condition that an earlier edge without loop tests already: the later edge is never taken (C011)."""
    seen: dict[str, EdgeDraft] = {}
    for edge in edges:
        if edge.when is None:
            continue
        text = _condition(edge.when)
        first = seen.get(text)
        if first is not None:
            place = where(first.span, edge.span)
            context.found.add("C011", edge, edge=edge.label, condition=text, first=place)
        elif not edge.loop_name:
            seen[text] = edge


def _field(context: Context, node: NodeDraft, edge: EdgeDraft, when: When) -> None:
    schema = context.schema(node)
    if schema is None or when.field.startswith("_"):
        return
    field = schema.by_name.get(when.field)
    if field is None:
        known = [name for name, found in schema.by_name.items() if found.type is ValueType.BOOL]
        hint = suggestion(when.field, known, f"add `{when.field}: bool` to schema `{schema.name}`")
        fields = {"schema": schema.name, "name": node.name, "field": when.field, "hint": hint}
        context.found.add("C014", when, node=node.name, edge=edge.label, **fields)
    elif field.type is not ValueType.BOOL:
        fields = {"schema": schema.name, "type": field.type.value, "field": when.field}
        context.found.add("C013", when, node=node.name, edge=edge.label, **fields)


def _open_case(context: Context, node: NodeDraft, edges: list[EdgeDraft]) -> None:
    """Conditions are closed by `else`, an edge without condition, or both polarities of one field (C012)."""
    tested = [edge for edge in edges if edge.when is not None]
    if not tested or any(edge.when is None for edge in edges):
        return
    fields = [(edge.when.field, edge.when.negated) for edge in tested if edge.when and edge.when.field]
    if any((name, not negated) in fields for name, negated in fields):
        return
    if len(fields) == 1 and len(tested) == 1:
        name, negated = fields[0]
        case = f"`{name}` is {'true' if negated else 'false'}"
    else:
        case = "no condition holds"
    context.found.add("C012", tested[0], node=node.name, name=node.name, case=case)


def _all(context: Context, node: NodeDraft, edges: list[EdgeDraft]) -> None:
    seen: set[str] = set()
    for edge in edges:
        if edge.target in seen:
            context.found.add("C249", edge, node=node.name, edge=edge.label, name=node.name, target=edge.target)
        seen.add(edge.target)


def _each(context: Context, node: NodeDraft, edges: list[EdgeDraft]) -> None:
    if not node.section.has("over"):
        context.found.add("C113", node, node=node.name, name=node.name)
    odd = next((edge for edge in edges if not edge.plain or edge.otherwise), None)
    if len(edges) != 1 and context.settled:
        place = edges[1] if len(edges) > 1 else node
        found = f"{len(edges)} edges" if edges else "no edge"
        context.found.add("C115", place, node=node.name, name=node.name, found=found)
    elif odd is not None:
        found = "an edge with a condition or loop"
        context.found.add("C115", odd, node=node.name, name=node.name, found=found)


def _robin(context: Context, node: NodeDraft, edges: list[EdgeDraft]) -> None:
    odd = next((edge for edge in edges if not edge.plain or edge.otherwise), None)
    if odd is not None:
        found = "an edge with a condition or loop"
        context.found.add("C020", odd, node=node.name, edge=odd.label, name=node.name, found=found)
    elif len(edges) < 2 and context.settled:
        context.found.add("C020", node, node=node.name, name=node.name, found="fewer than two edges")


def _llm(context: Context, node: NodeDraft, edges: list[EdgeDraft]) -> None:
    _all(context, node, edges)
    if len(edges) < 2 and context.settled:
        context.found.add("C021", node, node=node.name, name=node.name)
    for edge in edges:
        if edge.when is not None or edge.otherwise:
            context.found.add("C022", edge, node=node.name, edge=edge.label, name=node.name)


_ROUTERS = {
    RouterMode.FAN_OUT_ALL: _all,
    RouterMode.FAN_OUT_EACH: _each,
    RouterMode.ROUND_ROBIN: _robin,
    RouterMode.LLM: _llm,
}


def _mode_properties(context: Context, node: NodeDraft, mode: RouterMode) -> None:
    rules = ((EACH_ONLY, RouterMode.FAN_OUT_EACH, "C114"), (LLM_ONLY, RouterMode.LLM, "C023"))
    for keys, wanted, code in rules:
        for key in keys:
            if mode is not wanted and node.section.has(key):
                place = node.section.items[key].line
                context.found.add(code, place, node=node.name, property=key, mode=mode.value)
    if node.section.has("depends_on") and not node.section.has("key") and mode is RouterMode.FAN_OUT_EACH:
        place = node.section.items["depends_on"].line
        context.found.add("E013", place, node=node.name, owner=f"router `{node.name}` with `depends_on`", name="key")
