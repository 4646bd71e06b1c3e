"""Shape checks of EXTENDED and IGNORED declarations: MCP, cursors, secrets, attachments, resources … (language.md 14).

They keep such source well-formed today, so that it runs unchanged when the construct becomes CORE.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from engine.dsl.ast import ListValue, Scalar, ScalarKind
from engine.dsl.checks.context import Context
from engine.dsl.checks.nodes import is_duration
from engine.dsl.diagnostics import suggestion
from engine.dsl.draft import NodeDraft, OtherDraft
from engine.dsl.reader import Item, Section
from engine.dsl.texts import is_prompt_name

_MIME = re.compile(r"[A-Za-z0-9!#$&^_.+-]++/(?:\*|[A-Za-z0-9!#$&^_.+-]++)")
_HOST = re.compile(r"(?:\*\.)?+[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)*+(?::[0-9]{1,5})?+")
_BAND = re.compile(r"([0-9]++(?:\.[0-9]++)?+)\.\.([0-9]++(?:\.[0-9]++)?+)")


def check_extended(context: Context) -> None:
    """Declarations first, then what nodes and the workflow say about them."""
    for kind, check in _OTHERS.items():
        for other in context.draft.other(kind).values():
            check(context, other)
    _resources(context)
    for node in context.draft.nodes.values():
        _needs(context, node)
        _cursors(context, node)
        _skills(context, node.section)
        _servers(context, node.section)
    _skills(context, context.workflow)
    _servers(context, context.workflow)


def _attachment(context: Context, other: OtherDraft) -> None:
    if other.name in context.draft.vars:
        context.found.add("C051", other, name=other.name)
    for mime in other.section.names("accept_mime"):
        if not _MIME.fullmatch(mime.text):
            context.found.add("C052", mime, name=other.name, found=mime.text)


def _secret(context: Context, other: OtherDraft) -> None:
    section = other.section
    if other.name in context.draft.vars:
        context.found.add("C091", other, name=other.name)
    for host in section.names("hosts"):
        if not _HOST.fullmatch(host.text):
            context.found.add("C092", host, name=other.name, found=host.text)
    path = section.text("mount_path")
    if section.has("mount_path") and section.text("as", "value") != "file":
        context.found.add(
            "C094", section.place("mount_path"), name=other.name, problem="`mount_path` without `as: file`"
        )
    elif path and not path.startswith(("/", "$")):
        problem = f"`mount_path` {path} is not absolute"
        context.found.add("C094", section.place("mount_path"), name=other.name, problem=problem)


def _mcp_server(context: Context, other: OtherDraft) -> None:
    section = other.section
    transport = section.text("transport") or ("stdio" if section.has("command") else "http")
    wanted, stray = ("command", "url") if transport == "stdio" else ("url", "command")
    if not section.has("transport") and not section.has("command") and not section.has("url"):
        problem, expected = "it has no transport", "add `transport: stdio` and `command:`, or `url:`"
        context.found.add("C025", other, name=other.name, problem=problem, expected=expected)
    elif section.lacks(wanted):
        problem, expected = f"transport {transport} without `{wanted}`", f"add `{wanted}:`"
        context.found.add("C025", other, name=other.name, problem=problem, expected=expected)
    elif section.has(stray):
        problem, expected = f"transport {transport} with `{stray}`", f"remove `{stray}`"
        context.found.add("C025", section.items[stray].line, name=other.name, problem=problem, expected=expected)
    auth = section.section("auth")
    if auth is None:
        return
    if transport == "stdio":
        problem, expected = "a stdio server takes no `auth`", "remove it"
        context.found.add("C038", auth, problem=problem, expected=expected)
    elif not auth.has("type"):
        context.found.add("C038", auth, problem="it has no type", expected="write `type: oauth2`")


def _cursor(context: Context, other: OtherDraft) -> None:
    section = other.section
    values, bands = section.section("values"), section.section("bands")
    if (values is None) == (bands is None):
        problem = "it has both `values` and `bands`" if values else "it has neither `values` nor `bands`"
        context.found.add("C085", other, name=other.name, problem=problem, expected="give exactly one of the two")
    for key, item in bands.items.items() if bands else ():
        ends = band(key)
        if ends is None or not 0 <= ends[0] <= ends[1] <= 1:
            problem, expected = f"`{key}` is no band", 'write it like "0..0.3", within 0 and 1'
            context.found.add("C085", item.line, name=other.name, problem=problem, expected=expected)


def band(key: str) -> tuple[float, float] | None:
    """The two ends of ``lo..hi``."""
    found = _BAND.fullmatch(key)
    return (float(found[1]), float(found[2])) if found and len(key) < 40 else None


def _supervisor(context: Context, other: OtherDraft) -> None:
    section, name = other.section, other.name
    watched = section.names("watches")
    if not watched and section.lacks("watches"):
        context.found.add("C191", other, name=name, problem="it watches nothing", expected="add `watches: [agent]`")
    for scalar in watched:
        node = context.draft.nodes.get(scalar.text)
        if node is None or node.kind not in ("agent", "judge"):
            context.found.add("C190", scalar, name=name, found=scalar.text)
    if section.text("cooldown") and not is_duration(section.text("cooldown")):
        problem = f"cooldown {section.text('cooldown')} is no duration"
        context.found.add("C191", section.place("cooldown"), name=name, problem=problem, expected='write it like "5m"')
    system = section.scalar("system")
    if system is not None and is_prompt_name(system) and system.text not in context.draft.prompts:
        context.found.add("C193", system, name=name, found=system.text)


_OTHERS: Mapping[str, Callable[[Context, OtherDraft], None]] = {
    "attachments": _attachment,
    "secrets": _secret,
    "mcp_server": _mcp_server,
    "cursor": _cursor,
    "supervisor": _supervisor,
}


def _resources(context: Context) -> None:
    inner = context.workflow.section("resources")
    for name, item in inner.items.items() if inner else ():
        if not item.line.broken and not _capacity(item):
            context.found.add("C194", item.line, name=name, problem="it has no capacity")


def _capacity(item: Item) -> bool:
    value = item.line.value
    if isinstance(value, Scalar):
        return value.kind is ScalarKind.INT and int(value.value) >= 1
    return isinstance(value, ListValue) and bool(value.items) and all(p.kind is ScalarKind.TEXT for p in value.items)


def _needs(context: Context, node: NodeDraft) -> None:
    inner = context.workflow.section("resources")
    known = inner.items if inner else {}
    for need in node.section.names("needs"):
        if need.text not in known:
            hint = suggestion(need.text, known, "declare it in `resources:` of the workflow")
            context.found.add("C195", need, node=node.name, name=need.text, hint=hint)


def _cursors(context: Context, node: NodeDraft) -> None:
    inner = node.section.section("cursors")
    known = context.draft.other("cursor")
    for name, item in inner.items.items() if inner else ():
        if name == "enabled":
            continue
        cursor = known.get(name)
        if cursor is None:
            hint = suggestion(name, known, f"declare `cursor {name}:`")
            context.found.add("C083", item.line, node=node.name, name=name, hint=hint)
        elif not item.line.broken and not _picks(cursor, item):
            values = cursor.section.section("values")
            expected = f"the values are {', '.join(values.items)}" if values else "write a number within the bands"
            found = f"`{item.scalar.text}`" if item.scalar else "of this form"
            context.found.add("C084", item, node=node.name, name=name, found=found, expected=expected)


def _picks(cursor: OtherDraft, item: Item) -> bool:
    if item.scalar is None:
        return False
    if "$" in item.scalar.text:
        return True
    values = cursor.section.section("values")
    if values is not None:
        return item.scalar.text in values.items
    bands = cursor.section.section("bands")
    value = item.scalar.value
    if bands is None or isinstance(value, str):
        return bands is None
    ends = [found for key in bands.items if (found := band(key))]
    return any(low <= value <= high for low, high in ends)


def _skills(context: Context, section: Section) -> None:
    known = context.bundle.skills if context.bundle else {}
    for skill in section.names("skills"):
        if skill.text not in known:
            hint = suggestion(skill.text, known, "add it to `skills/` of the bundle")
            context.found.add("C199", skill, name=skill.text, hint=hint)


def _servers(context: Context, section: Section) -> None:
    inner = section.section("mcp")
    known = context.draft.other("mcp_server")
    for server in inner.names("servers") if inner else ():
        if server.text not in known:
            problem, expected = "no server is called that", suggestion(server.text, known, "declare it")
            context.found.add("C025", server, name=server.text, problem=problem, expected=expected)
