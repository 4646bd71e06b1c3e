"""A draft without errors becomes a ``Graph`` (language.md 1.2).

Called by ``load`` when no diagnostic is an error. Everything was read, parsed and checked before: nothing is reported
here, and nothing can fail but for a programming error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from engine.dsl.assemble import prompt_name
from engine.dsl.ast import Entry, ListValue, Scalar, ScalarKind
from engine.dsl.data import read_literal
from engine.dsl.draft import Draft, EdgeDraft, NodeDraft
from engine.dsl.durations import DurationError, parse_duration
from engine.dsl.flow import Flow
from engine.dsl.graph import (
    AgentNode,
    AttachmentSlot,
    Budget,
    ComputeNode,
    Edge,
    FailNode,
    Graph,
    HumanNode,
    Loop,
    LoopKind,
    Mapped,
    Node,
    NodeKind,
    RouterMode,
    RouterNode,
    Schema,
    SignalNode,
    SourceFile,
    SubbotNode,
    ToolNode,
)
from engine.dsl.reader import Section
from engine.dsl.subbots import child_path
from engine.dsl.templates import Template

AGENT_FIELDS = frozenset(
    [
        "description",
        "input",
        "output",
        "publish",
        "artifact_labels",
        "await",
        "needs",
        "model",
        "backend",
        "system",
        "user",
        "session",
        "tools",
        "timeout",
        "readonly",
        "interaction",
    ]
)


@dataclass(frozen=True, slots=True)
class Identity:
    """What the graph carries beside its meaning."""

    digest: str = ""
    sources: tuple[SourceFile, ...] = ()
    folder: str = ""
    skills_dir: str = ""
    bundled: Mapping[str, str] = field(default_factory=dict)


def compile_graph(draft: Draft, flow: Flow, identity: Identity, preset_texts: Mapping[str, str]) -> Graph:
    """The graph of ``draft``, whose checks found no error."""
    assert draft.workflow is not None
    section = draft.workflow.section
    edges = [_edge(draft, edge) for edge in draft.edges]
    outgoing: dict[str, tuple[Edge, ...]] = {}
    incoming: dict[str, tuple[Edge, ...]] = {}
    for name, drafts in draft.outgoing.items():
        outgoing[name] = tuple(edges[edge.index] for edge in drafts)
    for name, drafts in draft.incoming.items():
        incoming[name] = tuple(edges[edge.index] for edge in drafts)
    return Graph(
        workflow=draft.workflow.name,
        entry=flow.entry,
        nodes=MappingProxyType({name: _node(draft, node) for name, node in draft.nodes.items()}),
        edges=MappingProxyType(outgoing),
        incoming=MappingProxyType(incoming),
        schemas=MappingProxyType({name: _schema(draft, name) for name in draft.schemas}),
        vars=MappingProxyType({name: found.var for name, found in draft.vars.items()}),
        presets=MappingProxyType({name: _preset(draft, name) for name in draft.presets}),
        loops=MappingProxyType({name: _loop(draft, flow, name) for name in flow.loop_edges}),
        budget=budget(section),
        convergence=MappingProxyType(dict(flow.convergence)),
        interaction=section.text("interaction"),
        default_backend=section.text("default_backend"),
        worktree=section.text("worktree", "none"),
        sandbox=_sandbox(section) or "none",
        loop_budget_guard=section.text("loop_budget_guard", "on") == "on",
        resources=MappingProxyType(_resources(section)),
        digest=identity.digest,
        sources=identity.sources,
        folder=identity.folder,
        skills_dir=identity.skills_dir,
        preset_texts=MappingProxyType(dict(preset_texts)),
        attachments=MappingProxyType(_attachments(draft, identity.bundled)),
    )


def _attachments(draft: Draft, bundled: Mapping[str, str]) -> dict[str, AttachmentSlot]:
    return {
        name: AttachmentSlot(
            name,
            image=other.value == "image",
            required=other.section.flag("required"),
            accept=tuple(mime.text for mime in other.section.names("accept_mime")),
            description=other.section.text("description"),
            bundled=bundled.get(name, ""),
        )
        for name, other in draft.other("attachments").items()
    }


def _schema(draft: Draft, name: str) -> Schema:
    found = draft.schemas[name]
    return Schema(name, tuple(line.field for line in found.fields))


def _preset(draft: Draft, name: str) -> Mapping[str, object]:
    values: dict[str, object] = {}
    preset = draft.presets[name]
    for key, line in preset.values.items():
        assert isinstance(line.value, Scalar)
        values[key] = read_literal(draft.vars[key].var.type, line.value)
    values.update(preset.from_file)
    return MappingProxyType(values)


def _resources(section: Section) -> dict[str, object]:
    found: dict[str, object] = {}
    inner = section.section("resources")
    for name, item in inner.items.items() if inner else ():
        value = item.line.value
        found[name] = tuple(part.text for part in value.items) if isinstance(value, ListValue) else item.data
    return found


def budget(section: Section) -> Budget:
    """The caps of a workflow's ``budget:``."""
    caps = section.section("budget")
    if caps is None:
        return Budget()
    text = caps.text("max_duration")
    return Budget(
        max_parallel_branches=int(caps.number("max_parallel_branches")),
        max_duration=_seconds(text),
        max_duration_text=text,
        max_cost_usd=float(caps.number("max_cost_usd")),
        max_tokens=int(caps.number("max_tokens")),
        warn_tokens=int(caps.number("warn_tokens")),
        max_iterations=int(caps.number("max_iterations")),
        pause_on_exceeded=caps.text("on_exceeded") == "pause",
    )


def _seconds(text: str) -> float:
    """The seconds of a duration; 0 for none, for an environment form, and for a malformed one (X006)."""
    try:
        return parse_duration(text) if text else 0.0
    except DurationError:
        return 0.0


def _edge(draft: Draft, edge: EdgeDraft) -> Edge:
    when = edge.when
    expression = draft.expressions[id(when.expression)] if when and when.expression else None
    return Edge(
        index=edge.index,
        source=edge.source,
        target=edge.target,
        when_field=when.field if when else "",
        negated=when.negated if when else False,
        when_expression=expression,
        when_text=when.expression.text if when and when.expression else "",
        otherwise=edge.otherwise,
        loop=edge.loop_name,
        mappings=_mapped(draft, edge.mapping),
        span=edge.span,
    )


def _mapped(draft: Draft, entries: tuple[Entry, ...]) -> tuple[Mapped, ...]:
    return tuple(Mapped(entry.key, draft.templates[id(entry.value)]) for entry in entries)


def _loop(draft: Draft, flow: Flow, name: str) -> Loop:
    edges = flow.loop_edges[name]
    entries, body = frozenset(edge.target for edge in edges), flow.bodies[name]
    first = edges[0]
    if first.foreach is not None:
        items = draft.templates[id(first.foreach.items)]
        return Loop(name, LoopKind.FOREACH, element=first.foreach.element, items=items, entries=entries, body=body)
    assert first.loop is not None
    cap, number = first.loop.cap, 0
    if cap is not None and cap.kind is ScalarKind.INT:
        number = int(cap.value)
    if first.loop.unbounded:
        return Loop(name, LoopKind.UNBOUNDED, number, entries=entries, body=body)
    if number:
        return Loop(name, LoopKind.BOUNDED, number, entries=entries, body=body)
    template = draft.templates.get(id(cap))
    if template is not None:
        return Loop(name, LoopKind.TEMPLATE, cap_template=template, entries=entries, body=body)
    expression = draft.expressions[id(cap)]
    return Loop(name, LoopKind.EXPRESSION, cap_expression=expression, entries=entries, body=body)


def _node(draft: Draft, node: NodeDraft) -> Node:
    section = node.section
    shared: dict[str, Any] = {
        "name": node.name,
        "kind": NodeKind(node.kind),
        "description": section.text("description"),
        "input": section.text("input"),
        "output": section.text("output"),
        "publish": section.text("publish"),
        "artifact_labels": tuple(label.text for label in section.names("artifact_labels")),
        "convergence": section.text("await"),
        "needs": tuple(name.text for name in section.names("needs")),
        "span": node.span,
    }
    return _MAKERS[NodeKind(node.kind)](draft, node, shared)


def _template(draft: Draft, section: Section, key: str) -> Template | None:
    scalar = section.scalar(key)
    return draft.templates.get(id(scalar)) if scalar is not None else None


def _prompt(draft: Draft, section: Section, key: str) -> Template | None:
    scalar = section.scalar(key)
    return draft.prompt_templates.get(prompt_name(scalar)) if scalar is not None else None


def _sandbox(section: Section) -> str:
    inner = section.section("sandbox")
    return inner.text("mode", "inline") if inner else section.text("sandbox")


def _tool(draft: Draft, node: NodeDraft, shared: dict[str, Any]) -> Node:
    section = node.section
    inner = section.section("params")
    params = tuple(Mapped(key, _param(draft, item.scalar)) for key, item in inner.items.items()) if inner else ()
    return ToolNode(
        **shared,
        command=_template(draft, section, "command"),
        script=_template(draft, section, "script"),
        language=section.text("language", "sh"),
        action=section.text("action"),
        connection=section.text("connection"),
        params=params,
        idempotency_key=_template(draft, section, "idempotency_key"),
        timeout=_seconds(section.text("timeout")),
        timeout_text=section.text("timeout"),
        parallel_safe=section.flag("parallel_safe"),
        readonly=section.flag("readonly"),
        postcondition=_template(draft, section, "postcondition"),
        policy=section.text("policy"),
        repairs=_repairs(section),
        sandbox=_sandbox(section),
    )


def _repairs(section: Section) -> int:
    """How often a command is run again for its postcondition: once, unless its recovery says otherwise."""
    if section.text("policy") != "recover":
        return 0
    inner = section.section("recovery")
    return int(inner.number("max_repair_attempts")) if inner and inner.has("max_repair_attempts") else 1


def _param(draft: Draft, scalar: Scalar | None) -> Template:
    if scalar is None:
        return Template(())
    return draft.templates.get(id(scalar)) or Template((scalar.text,) if scalar.text else ())


def _compute(draft: Draft, node: NodeDraft, shared: dict[str, Any]) -> Node:
    inner = node.section.section("expr")
    lines = inner.items.items() if inner else ()
    return ComputeNode(**shared, lines=tuple((key, draft.expressions[id(item.scalar)]) for key, item in lines))


def _human(draft: Draft, node: NodeDraft, shared: dict[str, Any]) -> Node:
    section = node.section
    default = draft.workflow.section.text("interaction") if draft.workflow else ""
    return HumanNode(
        **shared,
        instructions=_prompt(draft, section, "instructions"),
        interaction=section.text("interaction") or default or "human",
        min_answers=int(section.number("min_answers")),
        properties=_properties(draft, section, frozenset(shared) | {"instructions", "interaction", "min_answers"}),
    )


def _router(draft: Draft, node: NodeDraft, shared: dict[str, Any]) -> Node:
    section = node.section
    known = frozenset(shared) | {"mode", "over", "as", "key", "depends_on", "multi"}
    return RouterNode(
        **shared,
        mode=RouterMode(section.text("mode", RouterMode.FAN_OUT_ALL)),
        over=_template(draft, section, "over"),
        element=section.text("as", "item"),
        key=section.text("key"),
        depends_on=section.text("depends_on"),
        multi=section.flag("multi"),
        properties=_properties(draft, section, known),
    )


def _fail(draft: Draft, node: NodeDraft, shared: dict[str, Any]) -> Node:
    section = node.section
    message = _template(draft, section, "message")
    return FailNode(**shared, code=section.text("code"), message=message, resumable=section.flag("resumable"))


def _agent(draft: Draft, node: NodeDraft, shared: dict[str, Any]) -> Node:
    section = node.section
    return AgentNode(
        **shared,
        model=section.text("model"),
        backend=section.text("backend"),
        system=_prompt(draft, section, "system"),
        user=_prompt(draft, section, "user"),
        session=section.text("session", "fresh"),
        tools=tuple(tool.text for tool in section.names("tools")),
        timeout=_seconds(section.text("timeout")),
        timeout_text=section.text("timeout"),
        readonly=section.flag("readonly"),
        interaction=section.text("interaction"),
        properties=_properties(draft, section, AGENT_FIELDS),
    )


def _subbot(draft: Draft, node: NodeDraft, shared: dict[str, Any]) -> Node:
    section = node.section
    mapping = section.mapping.entries if section.mapping else ()
    return SubbotNode(
        **shared,
        source=child_path(section.text("source"), node.folder),
        mappings=_mapped(draft, mapping),
        isolated=section.flag("isolated"),
    )


def _signal(draft: Draft, node: NodeDraft, shared: dict[str, Any]) -> Node:
    section = node.section
    return SignalNode(
        **shared,
        event=section.text("event"),
        mappings=_mapped(draft, section.mapping.entries if section.mapping else ()),
        timeout=_seconds(section.text("timeout")),
        timeout_text=section.text("timeout"),
        await_from=section.text("from"),
    )


def _properties(draft: Draft, section: Section, known: frozenset[str]) -> Mapping[str, object]:
    """What has no field of its own: plain values, lists as tuples of texts, blocks as maps, prompts as templates."""
    found: dict[str, object] = {}
    for key, item in section.items.items():
        if key in known:
            continue
        prompt = _prompt(draft, section, key) if key in ("interaction_prompt", "system", "user") else None
        found[key] = prompt if prompt is not None else plain(item.data)
    return MappingProxyType(found)


def plain(data: object) -> object:
    """A property's value without its places."""
    if isinstance(data, Section):
        return MappingProxyType({key: plain(item.data) for key, item in data.items.items()})
    if isinstance(data, Mapping):
        return MappingProxyType({key: plain(value) for key, value in data.items()})
    if isinstance(data, Scalar):
        return data.value
    if isinstance(data, ListValue):
        return tuple(plain(item) for item in data.items)
    return tuple(plain(item) for item in data) if isinstance(data, tuple) else data


_MAKERS: Mapping[NodeKind, Callable[[Draft, NodeDraft, dict[str, Any]], Node]] = {
    NodeKind.TOOL: _tool,
    NodeKind.COMPUTE: _compute,
    NodeKind.HUMAN: _human,
    NodeKind.ROUTER: _router,
    NodeKind.FAIL: _fail,
    NodeKind.AGENT: _agent,
    NodeKind.JUDGE: _agent,
    NodeKind.SUBBOT: _subbot,
    NodeKind.EMIT: _signal,
    NodeKind.WAIT: _signal,
    NodeKind.AWAIT_ANSWERS: _signal,
}
