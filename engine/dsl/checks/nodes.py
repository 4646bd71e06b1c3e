"""What each kind of node needs and forbids (language.md 5, 14)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from engine.dsl.checks.context import Context
from engine.dsl.diagnostics import suggestion
from engine.dsl.draft import NodeDraft
from engine.dsl.durations import DurationError, parse_duration
from engine.dsl.graph import ValueType
from engine.dsl.values import ATTACHMENTS
from engine.failures import FailureCode

RECIPES = ("command", "script", "action")
LLM_MODES = ("llm", "llm_or_human")
CAPABILITIES = frozenset(
    [f"board.{verb}" for verb in ("read", "create", "move", "assign", "label", "close", "comment")]
    + ["watch.subscribe", "watch.unsubscribe"]
)
_FAIL_CODE = re.compile(r"[A-Z][A-Z0-9_]*+")
_CAPABILITY = re.compile(r"[a-z][a-z0-9_]*+(?:\.[a-z][a-z0-9_]*+)++(?:\.\*)?+|[a-z][a-z0-9_]*+\.\*")


def check_nodes(context: Context) -> None:
    """Every node by its kind, then what several kinds share."""
    for node in context.draft.nodes.values():
        check = _KINDS.get(node.kind)
        if check is not None:
            check(context, node)
        _shared(context, node)
    _capabilities(context, None)


def is_duration(text: str) -> bool:
    """Whether ``text`` is a duration, or holds an environment form that may become one."""
    if "$" in text:
        return True
    try:
        parse_duration(text)
    except DurationError:
        return False
    return True


def _shared(context: Context, node: NodeDraft) -> None:
    section = node.section
    if section.has("artifact_labels") and not section.has("publish"):
        context.found.add("C049", section.items["artifact_labels"].line, node=node.name)
    for key in ("input", "output"):
        schema = context.schema(node, key)
        for draft in schema.fields if schema else ():
            if draft.field.type is ValueType.FILE and (node.kind != "human" or key == "input"):
                problem = f"it is in the {key} of {node}"
                context.found.add("C129", draft, node=node.name, field=draft.field.name, problem=problem)
    _capabilities(context, node)


def _capabilities(context: Context, node: NodeDraft | None) -> None:
    section = node.section if node else context.workflow
    for capability in section.names("capabilities"):
        name = capability.text
        owner = node.name if node else ""
        if not _CAPABILITY.fullmatch(name):
            context.found.add("C081", capability, node=owner, name=name)
        elif name not in CAPABILITIES and not name.endswith(".*"):
            hint = suggestion(name, CAPABILITIES, "write a known one, such as board.read")
            context.found.add("C080", capability, node=owner, name=name, hint=hint)


def _routed(context: Context, node: NodeDraft) -> bool:
    """Whether a model or backend is to be found for a node (C018)."""
    places = ((node.section, "model"), (node.section, "backend"), (context.workflow, "default_backend"))
    return not all(section.lacks(key) for section, key in places) or bool(context.around.default_backend)


def _agent(context: Context, node: NodeDraft) -> None:
    section = node.section
    if not _routed(context, node):
        context.found.add("C018", node, node=node.name, kind=node.kind, name=node.name)
    session = section.text("session")
    if session in ("inherit", "fork") and section.has("await"):
        context.found.add("C009", section.place("session"), node=node.name, name=node.name, session=session)
    timeout = section.text("timeout")
    if timeout and not is_duration(timeout):
        context.found.add("C122", section.place("timeout"), node=node.name, found=timeout)
    caps = context.workflow.section("budget")
    cap, wanted = (caps.number("max_tokens") if caps else 0), section.number("max_tokens")
    if cap and wanted > cap:
        context.found.add("C037", section.place("max_tokens"), node=node.name, found=f"{wanted:g}", cap=f"{cap:g}")
    _tools(context, node)


def _tools(context: Context, node: NodeDraft) -> None:
    backend = node.section.text("backend") or context.workflow.text("default_backend")
    known = context.around.tools.get(backend)
    for tool in node.section.names("tools") if known is not None else ():
        name = tool.text
        if known is not None and name not in known and not name.endswith(".*"):
            hint = suggestion(name, known, "correct the name")
            context.found.add("C135", tool, node=node.name, backend=backend, name=name, hint=hint)


def _tool(context: Context, node: NodeDraft) -> None:
    section = node.section
    given = [key for key in RECIPES if section.has(key)]
    if len(given) != 1 and not (section.unclear and not given):
        problem = f"it has {' and '.join(f'`{key}`' for key in given)}" if given else "it has none"
        message = f"tool `{node.name}` needs exactly one of `command`, `script` and `action`: {problem}"
        place = section.items[given[1]].line if given else node
        hint = "keep one" if given else "add `command:`"
        context.found.add("C004", place, node=node.name, message=message, hint=hint)
    if section.has("language") and not section.has("script"):
        line = section.items["language"].line
        expected = "`language` with `script` only"
        context.found.add("E020", line, node=node.name, name="language", found="here", expected=expected)
    if section.text("timeout") and not is_duration(section.text("timeout")):
        fields = {"property": "timeout", "found": section.text("timeout"), "expected": '"20m"'}
        context.found.add("C265", section.place("timeout"), node=node.name, **fields)
    retry = section.items.get("retry")
    if (
        retry is not None
        and retry.data is not None
        and (not isinstance(retry.data, int) or isinstance(retry.data, bool) or retry.data < 0)
    ):
        fields = {"property": "retry", "found": retry.scalar.text if retry.scalar else "…", "expected": "3"}
        context.found.add("C265", retry, node=node.name, **fields)
    if section.has("permission"):
        context.found.add("C112", section.items["permission"].line, node=node.name)


def _compute(context: Context, node: NodeDraft) -> None:
    lines = node.section.section("expr")
    if node.section.lacks("expr") or (lines is not None and not lines.items):
        context.found.add("C039", node, node=node.name, name=node.name)


def _human(context: Context, node: NodeDraft) -> None:
    section = node.section
    mode = section.text("interaction") or context.workflow.text("interaction")
    if section.text("interaction") == "async":
        context.found.add("C240", section.place("interaction"), node=node.name, found="async")
    if mode in LLM_MODES:
        model = not section.lacks("interaction_model") or _routed(context, node)
        if not model or not section.has("output"):
            hint = "add `model:` and `output:`"
            context.found.add("C018", node, node=node.name, kind="human", name=node.name, hint=hint)
    schema = context.schema(node)
    for draft in schema.fields if schema else ():
        if draft.field.name == ATTACHMENTS:
            context.found.add("C130", draft, node=node.name)


def _router(context: Context, node: NodeDraft) -> None:
    if node.section.text("mode") == "llm" and not _routed(context, node):
        kind = "llm router"
        context.found.add("C018", node, node=node.name, kind=kind, name=node.name, severity="warning")


def _fail(context: Context, node: NodeDraft) -> None:
    code = node.section.scalar("code")
    if code is None:
        return
    if not _FAIL_CODE.fullmatch(code.text):
        context.found.add("C247", code, node=node.name, found=code.text)
    elif code.text in FailureCode.__members__:
        context.found.add("C248", code, node=node.name, found=code.text)


def _subbot(context: Context, node: NodeDraft) -> None:
    if node.section.lacks("source"):
        context.found.add("C119", node, node=node.name, name=node.name)


_KINDS: Mapping[str, Callable[[Context, NodeDraft], None]] = {
    "agent": _agent,
    "judge": _agent,
    "tool": _tool,
    "compute": _compute,
    "human": _human,
    "router": _router,
    "fail": _fail,
    "subbot": _subbot,
}
