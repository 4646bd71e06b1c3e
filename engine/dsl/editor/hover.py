"""What an editor shows about the word under the cursor, as Markdown: findings first, then what the word means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from engine.dsl import meanings
from engine.dsl.codes import CODES
from engine.dsl.diagnostics import Diagnostic
from engine.dsl.draft import Draft, NodeDraft
from engine.dsl.editor.analysis import Analysis
from engine.dsl.editor.extent import extent
from engine.dsl.editor.members import Reader, input_fields, members, named, output_fields
from engine.dsl.editor.spot import Lines, Spot
from engine.dsl.editor.targets import Target, What, target_at
from engine.dsl.graph import TERMINALS
from engine.dsl.shapes import SHAPES, Mark, Prop, Want

MOST_PROMPT = 600
MARKS = {
    Mark.CORE: "",
    Mark.EXTENDED: "kept for later: a launch that reaches it is refused (X001)",
    Mark.ADVISORY: "kept for later; a run goes on without it (X001)",
    Mark.IGNORED: "without effect",
}
_CODE = re.compile(r"[CEX]\d{3}")


def hover(analysis: Analysis, lines: Lines, row: int, column: int) -> str:
    """Markdown about a place, or the empty text."""
    spot = lines.spot(row, column)
    parts = [_finding(found) for found in analysis.own if _covers(found, spot)]
    word = spot.word
    if _CODE.fullmatch(word) and word in CODES:
        code = CODES[word]
        parts.append(f"**{word}** ({code.severity}): {_plain(code.message)}\n\n{_plain(code.hint)}")
    target = target_at(analysis, spot)
    if target is not None:
        parts.append(_DESCRIBE[target.what](analysis.draft, target))
    return "\n\n---\n\n".join(part for part in parts if part)


def _covers(found: Diagnostic, spot: Spot) -> bool:
    """Whether a finding is about what is under the cursor."""
    if found.line != spot.row:
        return False
    start, end = extent(found, spot.source)
    return start <= spot.column <= end


def _finding(found: Diagnostic) -> str:
    return f"**{found.code}** ({found.severity}): {found.message}\n\n{found.hint}".rstrip()


def _plain(text: str) -> str:
    """A sentence of the table with its gaps shown as such."""
    return re.sub(r"`?\{\w+\}`?", "…", text)


def property_text(shape_name: str, key: str, prop: Prop) -> str:
    """A property in Markdown: meaning, what it takes, mark."""
    takes = " ".join(f"`{word}`" for word in prop.words) if prop.words else str(prop.want)
    if prop.want is Want.BLOCK:
        takes = str(prop.want)
    lines = [f"**{key}** — {meanings.meaning(shape_name, key)}", f"Takes {takes}."]
    if prop.extended:
        lines.append(f"{', '.join(f'`{word}`' for word in sorted(prop.extended))}: {MARKS[Mark.EXTENDED]}.")
    if MARKS[prop.mark]:
        lines.append(f"{MARKS[prop.mark].capitalize()}.")
    return "\n\n".join(lines)


def _property(_draft: Draft, target: Target) -> str:
    return property_text(target.owner, target.name, SHAPES[target.owner].known[target.name])


def _word(_draft: Draft, target: Target) -> str:
    shape_name, _, key = target.owner.partition(".")
    prop = SHAPES[shape_name].known.get(key)
    return property_text(shape_name, key, prop) if prop else ""


def _node(draft: Draft, target: Target) -> str:
    if target.name in TERMINALS:
        end = "ends the run" if target.name == "done" else "ends the run as failed"
        return f"**{target.name}** — {end}."
    node = next(named(draft, target.name), None)
    return "\n\n".join(_node_lines(draft, node)) if node else ""


def _node_lines(draft: Draft, node: NodeDraft) -> Iterator[str]:
    yield f"**{node.kind}** `{node.name}`"
    if node.section.text("description"):
        yield node.section.text("description")
    for what, fields in (("input", input_fields(draft, node)), ("output", output_fields(draft, node))):
        schema = node.section.text(what)
        if fields:
            yield f"{what}{f' `{schema}`' if schema else ''}: {_fields(fields)}"
    edges = [edge.target for edge in draft.outgoing.get(node.name, ())]
    if edges:
        yield "leads to " + ", ".join(f"`{name}`" for name in dict.fromkeys(edges))


def _fields(fields: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}` {what}" for name, what in fields.items())


def _schema(draft: Draft, target: Target) -> str:
    schema = draft.schemas.get(target.name)
    if schema is None:
        return ""
    rows = []
    for field in schema.fields:
        words = f" [{', '.join(field.field.enum)}]" if field.field.enum else ""
        rows.append(f"- `{field.field.name}`: {field.field.type.value}{words}")
    return "\n".join([f"**schema** `{schema.name}`", "", *rows])


def _prompt(draft: Draft, target: Target) -> str:
    prompt = draft.prompts.get(target.name)
    if prompt is None:
        return ""
    text = prompt.text.value
    shown = text if len(text) <= MOST_PROMPT else text[:MOST_PROMPT] + " …"
    return f"**prompt** `{prompt.name}`\n\n````text\n{shown}\n````"


def _var(draft: Draft, target: Target) -> str:
    known = draft.vars.get(target.name)
    if known is None:
        return ""
    var = known.var
    rest = "required at launch" if var.required else f"default `{var.default!r}`"
    words = f", one of {', '.join(f'`{word}`' for word in var.enum)}" if var.enum else ""
    return f"**var** `{var.name}`: {var.type.value}, {rest}{words}"


def _field(draft: Draft, target: Target) -> str:
    if target.owner in ("input", "run"):
        what = members(draft, Reader(), (target.owner,)).get(target.name, "")
        return f"`{target.owner}.{target.name}`{f': {what}' if what else ''}"
    for node in named(draft, target.owner) if target.owner else ():
        what = output_fields(draft, node).get(target.name, "")
        return f"`{target.name}` of {node}{f': {what}' if what else ''}"
    schema = draft.schemas.get(target.owner)
    if schema is not None and target.name in schema.by_name:
        return f"`{target.name}` of schema `{schema.name}`: {schema.by_name[target.name].type.value}"
    return ""


def _loop(draft: Draft, target: Target) -> str:
    edges = [edge for edge in draft.edges if edge.loop_name == target.name]
    if not edges:
        return ""
    clause = edges[0].loop
    cap = clause.cap.text if clause and clause.cap else ""
    what = "foreach" if clause is None else f"loop, {'unbounded ' if clause.unbounded else 'cap '}{cap}".rstrip()
    return f"**{target.name}** — {what}; on {', '.join(f'`{edge.label}`' for edge in edges)}"


def _artifact(draft: Draft, target: Target) -> str:
    nodes = [node for node in draft.nodes.values() if node.section.text("publish") == target.name]
    return f"**artifact** `{target.name}`, published by {', '.join(str(node) for node in nodes)}" if nodes else ""


def _group(draft: Draft, target: Target) -> str:
    group = draft.groups.get(target.name)
    if group is None:
        return ""
    prefixes = [prefix for prefix, name in draft.uses.items() if name == target.name]
    used = f"; used as {', '.join(f'`{prefix}`' for prefix in prefixes)}" if prefixes else ""
    return f"**group** `{group.name}({', '.join(group.parameters)})`{used}"


def _other(draft: Draft, target: Target) -> str:
    for found in draft.others.values():
        if target.name in found:
            other = found[target.name]
            text = other.section.text("description")
            return f"**{other.kind}** `{other.name}`{f' — {text}' if text else ''}"
    return ""


def _workflow(draft: Draft, target: Target) -> str:
    return f"**workflow** `{target.name}`: {len(draft.nodes)} nodes, {len(draft.edges)} edges"


def _text(table: Mapping[str, str]) -> Callable[[Draft, Target], str]:
    return lambda _draft, target: f"**{target.name}** — {table.get(target.name, '')}"


_DESCRIBE: Mapping[What, Callable[[Draft, Target], str]] = {
    What.KIND: _text(meanings.KINDS),
    What.FUNCTION: _text(meanings.FUNCTIONS),
    What.NAMESPACE: _text(meanings.NAMESPACES),
    What.PROPERTY: _property,
    What.WORD: _word,
    What.NODE: _node,
    What.SCHEMA: _schema,
    What.PROMPT: _prompt,
    What.VAR: _var,
    What.FIELD: _field,
    What.LOOP: _loop,
    What.ARTIFACT: _artifact,
    What.GROUP: _group,
    What.OTHER: _other,
    What.WORKFLOW: _workflow,
    What.PRESET: lambda _draft, target: f"**preset** `{target.name}`",
    What.FILE: lambda _draft, target: f"`{target.name}`",
}
