"""Shape checks of EXTENDED properties of nodes: fallbacks, sandbox, memory, gates, signals (language.md 14)."""

from __future__ import annotations

from engine.dsl.checks.context import Context
from engine.dsl.checks.nodes import is_duration
from engine.dsl.diagnostics import suggestion
from engine.dsl.draft import NodeDraft
from engine.dsl.reader import Section

TRIGGERS = ("usage_window", "auth", "unavailable", "transient_exhausted", "any")
METERED = frozenset({"claw", "in_process"})
ASKING_LATER = frozenset({"claude_code"})


def check_later_nodes(context: Context) -> None:
    """Every node, and the sandbox of the workflow."""
    _sandbox(context, "", context.workflow)
    for node in context.draft.nodes.values():
        _sandbox(context, node.name, node.section)
        if node.kind in ("agent", "judge"):
            _agent(context, node)
        elif node.kind == "tool":
            _verified(context, node)
        elif node.kind == "human":
            _gate(context, node)
        elif node.kind in ("emit", "wait", "await_answers"):
            _signal(context, node)


def _sandbox(context: Context, name: str, section: Section) -> None:
    inner = section.section("sandbox")
    if inner is None:
        return
    both = inner.has("image") + inner.has("build")
    if inner.text("mode", "inline") == "inline" and both != 1:
        problem = "it has both `image` and `build`" if both else "it has neither `image` nor `build`"
        context.found.add("C044", inner, node=name, problem=problem, expected="give exactly one of the two")
    if '\\"' in inner.text("post_create"):
        context.found.add("C143", inner.place("post_create"), node=name)


def _agent(context: Context, node: NodeDraft) -> None:
    section = node.section
    if section.has("session_slot") and section.text("session") != "persist":
        context.found.add("C268", section.items["session_slot"].line, node=node.name, name=node.name)
    backend = section.text("backend") or context.workflow.text("default_backend")
    if section.text("interaction") == "async" and backend and backend not in ASKING_LATER and "$" not in backend:
        place = section.place("interaction")
        context.found.add("C267", place, node=node.name, backend=backend, name=node.name)
    _fallbacks(context, node)
    _memory(context, node)


def _fallbacks(context: Context, node: NodeDraft) -> None:
    routes = node.section.section("fallbacks")
    for name in routes.items if routes else ():
        route = routes.section(name) if routes else None
        if route is None:
            continue
        if not any(route.has(key) for key in ("backend", "model", "provider", "action")):
            expected = "give it a `backend`, a `model`, a `provider` or `action: skip`"
            context.found.add("C173", route, node=node.name, name=name, problem="it leads nowhere", expected=expected)
        for trigger in route.names("on"):
            if trigger.text not in TRIGGERS:
                expected = suggestion(trigger.text, TRIGGERS)
                context.found.add("C175", trigger, node=node.name, name=name, found=trigger.text, expected=expected)
        windows = {trigger.text for trigger in route.names("on")} & {"usage_window", "any"}
        if windows and route.text("backend") in METERED and not route.flag("metered"):
            context.found.add("C176", route.place("backend"), node=node.name, name=name)


def _memory(context: Context, node: NodeDraft) -> None:
    memory = node.section.section("memory")
    if memory is None:
        return
    scope = memory.scalar("scope")
    if scope is not None and not scope.text.strip():
        context.found.add("C048", scope, node=node.name, found="an empty text")
    enabled = memory.items.get("enabled")
    if enabled is not None and enabled.data is False:
        stray = next((key for key in ("read", "write", "pre_compact_inject") if memory.flag(key)), "")
        if stray:
            problem = f"`enabled: false` beside `{stray}: true`"
            context.found.add("C171", memory.items[stray].line, node=node.name, problem=problem)
    root = memory.items.get("project_root")
    profiles = {source.label: source.tree.profile for source in context.unit.order}
    if root is not None and profiles.get(root.line.span.file) == 2:
        context.found.add("E043", root.line, node=node.name, name="memory.project_root")


def _verified(context: Context, node: NodeDraft) -> None:
    section = node.section
    if section.has("action"):
        return
    stray = next((key for key in ("goal", "policy", "recovery") if section.has(key)), "")
    if stray and not section.has("postcondition"):
        context.found.add("C104", section.items[stray].line, node=node.name, name=node.name, property=stray)
        return
    policy = section.text("policy")
    if section.has("recovery") and policy == "required":
        context.found.add("C105", section.items["recovery"].line, node=node.name, name=node.name)
    elif section.has("recovery") and not policy:
        context.found.add("C106", section.items["recovery"].line, node=node.name, name=node.name)


def _gate(context: Context, node: NodeDraft) -> None:
    section = node.section
    if section.text("interaction") == "review" and context.workflow.text("worktree", "none") != "auto":
        context.found.add("C100", section.place("interaction"), node=node.name, name=node.name)


def _signal(context: Context, node: NodeDraft) -> None:
    section, kind = node.section, node.kind
    if kind in ("emit", "wait") and section.lacks("event"):
        context.found.add("C196", node, node=node.name, kind=kind, name=node.name)
    elif kind in ("emit", "wait") and section.text("event"):
        _partner(context, node)
    if kind == "wait" and not section.has("timeout"):
        context.found.add("C197", node, node=node.name, name=node.name)
    if kind == "await_answers" and not section.has("timeout"):
        context.found.add("C241", node, node=node.name, name=node.name)
    if section.text("timeout") and not is_duration(section.text("timeout")):
        found, place = f'"{section.text("timeout")}"', section.place("timeout")
        context.found.add("E020", place, node=node.name, name="timeout", found=found, expected='it like "1h"')
    if kind == "await_answers":
        _asker(context, node)


def _partner(context: Context, node: NodeDraft) -> None:
    other = "wait" if node.kind == "emit" else "emit"
    event = node.section.text("event")
    if not any(found.section.text("event") == event for found in context.by_kind(other)):
        place = node.section.place("event")
        context.found.add("C198", place, node=node.name, event=event, name=node.name)


def _asker(context: Context, node: NodeDraft) -> None:
    source = node.section.text("from")
    asked = context.draft.nodes.get(source)
    if not source:
        return
    if asked is None or asked.kind not in ("human", "agent", "judge"):
        context.found.add("C242", node.section.place("from"), node=node.name, name=node.name, found=source)
