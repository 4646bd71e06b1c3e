"""Loops: caps, fuel, exits, and the walls of branches (language.md 7.4, 7.6, 14)."""

from __future__ import annotations

from engine.dsl.assemble import where
from engine.dsl.ast import ScalarKind
from engine.dsl.checks.context import Context
from engine.dsl.draft import EdgeDraft
from engine.dsl.graph import TERMINALS


def check_loops(context: Context) -> None:
    """Every loop name with its edges."""
    for name, edges in context.flow.loop_edges.items():
        _agree(context, name, edges)
        for edge in edges:
            _cap(context, name, edge)
        if context.settled:
            _exits(context, name, edges)
            _walls(context, name, edges)


def _meaning(edge: EdgeDraft) -> tuple[str, str, str]:
    if edge.foreach is not None:
        return ("foreach", edge.foreach.element, edge.foreach.items.text.strip())
    assert edge.loop is not None
    cap = edge.loop.cap
    return ("unbounded" if edge.loop.unbounded else "cap", str(cap.value) if cap else "", "")


def _agree(context: Context, name: str, edges: list[EdgeDraft]) -> None:
    first = edges[0]
    for edge in edges[1:]:
        if _meaning(edge) != _meaning(first):
            both = edge.foreach is not None and first.foreach is not None
            code = "C269" if both or edge.foreach or first.foreach else "C005"
            place = edge.clause_span or edge.span
            context.found.add(code, place, edge=edge.label, name=name, first=where(first.span, edge.span))


def _cap(context: Context, name: str, edge: EdgeDraft) -> None:
    if edge.loop is None:
        return
    cap = edge.loop.cap
    if cap is not None and cap.kind is ScalarKind.INT and int(cap.value) < 1:
        context.found.add("C026", cap, edge=edge.label, name=name, cap=cap.text)
    template = context.draft.templates.get(id(cap)) if cap is not None else None
    if template is not None and template.sole is None:
        message, hint = (
            f"the cap of loop `{name}` is more than one reference",
            'write `"{{vars.NAME}}"`, or an expression',
        )
        context.found.add("C004", cap or edge, edge=edge.label, message=message, hint=hint)
    caps = context.workflow.section("budget")
    if edge.loop.unbounded and cap is None and not (caps and caps.number("max_iterations")):
        context.found.add("C097", edge.loop, edge=edge.label, name=name)


def _exits(context: Context, name: str, edges: list[EdgeDraft]) -> None:
    body = context.flow.bodies[name]
    loop = edges[0].loop
    if loop is not None and loop.unbounded:
        leaving = (edge for node in body for edge in context.draft.outgoing.get(node, ()) if edge.loop_name != name)
        if not any(edge.target not in body or edge.target in TERMINALS for edge in leaving):
            context.found.add("C098", edges[0].clause_span or edges[0], edge=edges[0].label, name=name)
        return
    if loop is None:
        return
    for edge in edges:
        if edge.source in context.flow.routers or not context.draft.knows(edge.source):
            continue
        others = context.draft.outgoing.get(edge.source, ())
        if not any(other.when is None and other.loop_name != name for other in others):
            place = edge.clause_span or edge
            context.found.add("C145", place, edge=edge.label, name=name, source=edge.source)
            return


def _walls(context: Context, name: str, edges: list[EdgeDraft]) -> None:
    """A loop lies wholly inside one branch or wholly outside (C244)."""
    for router, branches in context.flow.branches.items():
        inside: list[set[int]] = []
        for edge in edges:
            source = {place for place, branch in enumerate(branches) if edge.source in branch}
            target = {place for place, branch in enumerate(branches) if edge.target in branch}
            if not source and not target:
                continue
            if not source & target:
                problem = f"crosses the boundary of a branch of `{router}`"
                context.found.add("C244", edge.clause_span or edge, edge=edge.label, name=name, problem=problem)
                return
            inside.append(source & target)
        if inside and not set.intersection(*inside):
            problem = f"has edges in two branches of `{router}`"
            context.found.add("C244", edges[-1].clause_span or edges[-1], name=name, problem=problem)
            return
