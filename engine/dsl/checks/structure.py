"""Names and shape of the graph: nodes, schemas, prompts, entry, reachability, cycles (language.md 3, 6, 7.4, 14)."""

from __future__ import annotations

from engine.dsl.checks.context import Context
from engine.dsl.diagnostics import suggestion
from engine.dsl.draft import EdgeDraft
from engine.dsl.graph import TERMINALS
from engine.dsl.texts import PROMPTS, is_prompt_name


def check_structure(context: Context) -> None:
    """Everything of this file, names first: what follows from a wrong name is not said again."""
    _edge_names(context)
    _entry(context)
    _schemas(context)
    _prompts(context)
    _unreachable(context)
    _cycles(context)


def _edge_names(context: Context) -> None:
    draft = context.draft
    names = [*draft.nodes, *TERMINALS]
    for edge in draft.edges:
        for name, span in ((edge.source, edge.source_span), (edge.target, edge.target_span)):
            if not draft.knows(name):
                hint = suggestion(name, names, f"declare `{name}`")
                draft.found.add("C001", span, edge=edge.label, name=name, hint=hint)
        if draft.ends_at(edge.source):
            draft.found.add("X007", edge, edge=edge.label, name=edge.source)


def _entry(context: Context) -> None:
    draft = context.draft
    if draft.workflow is None:
        return
    entry = draft.workflow.section.scalar("entry")
    if entry is None:
        message = f"workflow `{draft.workflow.name}` has no entry"
        if draft.workflow.section.lacks("entry") and not draft.unclear:
            draft.found.add("C008", draft.workflow, message=message, expected="add `entry: NODE`")
    elif entry.text not in draft.nodes and (entry.text in TERMINALS or not draft.knows(entry.text)):
        hint = suggestion(entry.text, draft.nodes, "name a node that is declared")
        message = f"the entry `{entry.text}` is no node"
        draft.found.add("C008", entry, message=message, expected="name a node that is declared", hint=hint)


def _schemas(context: Context) -> None:
    draft = context.draft
    used: set[str] = set()
    for node in draft.nodes.values():
        for key in ("input", "output"):
            scalar = node.section.scalar(key)
            if scalar is None:
                continue
            used.add(scalar.text)
            if scalar.text in draft.schemas or scalar.text in draft.unclear or draft.incomplete:
                continue
            hint = suggestion(scalar.text, draft.schemas, f"declare `schema {scalar.text}:`")
            draft.found.add("C002", scalar, node=node.name, name=scalar.text, hint=hint)
    for name, schema in draft.schemas.items():
        if not schema.fields and name in used and not schema.unclear:
            draft.found.add("C140", schema, name=name)


def _prompts(context: Context) -> None:
    draft = context.draft
    for node in draft.nodes.values():
        for key in PROMPTS:
            scalar = node.section.scalar(key)
            if scalar is None or not is_prompt_name(scalar):
                continue
            name = scalar.text
            if name in draft.prompts or name in draft.unclear or draft.incomplete:
                continue
            known = [prompt for prompt in draft.prompts if not prompt.startswith("_inline_")]
            hint = suggestion(name, known, f"declare `prompt {name}:`, or write the text in quotes")
            draft.found.add("C003", scalar, node=node.name, name=name, hint=hint)


def _unreachable(context: Context) -> None:
    draft, flow = context.draft, context.flow
    if not flow.entry or not context.settled:
        return
    for name, node in draft.nodes.items():
        if name not in flow.reached:
            draft.found.add("C016", node, node=name, name=name, entry=flow.entry)


def _cycles(context: Context) -> None:
    """A cycle over edges without loop clause: C019 where its back edge touches no loop, X010 otherwise."""
    draft = context.draft
    touched = {name for edge in draft.edges if edge.loop_name for name in (edge.source, edge.target)}
    for edge in context.flow.cycles.back:
        if edge.source in touched or edge.target in touched:
            draft.found.add("X010", edge, edge=edge.label, cycle=_cycle(context, edge))
        else:
            draft.found.add("C019", edge, edge=edge.label, target=edge.target)


def _cycle(context: Context, back: EdgeDraft) -> str:
    """The way from the target of a back edge to its source and back, shortened for a message."""
    came: dict[str, str] = {back.target: ""}
    todo = [back.target]
    for name in todo:
        if name == back.source:
            break
        for edge in context.flow.forward.get(name, ()):
            if edge.target not in came:
                came[edge.target] = name
                todo.append(edge.target)
    way = [back.target]
    name = back.source
    while name and name != back.target:
        way.insert(1, name)
        name = came.get(name, "")
    shown = way if len(way) <= 6 else [*way[:3], "…", way[-1]]
    return " -> ".join([*shown, back.target])
