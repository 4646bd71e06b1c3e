"""Tools that call a connector (language.md 5.6, 14)."""

from __future__ import annotations

import re

from engine.dsl.catalogue import Operation
from engine.dsl.checks.context import Context
from engine.dsl.diagnostics import suggestion
from engine.dsl.draft import NodeDraft

_ACTION = re.compile(r"[a-z][a-z0-9_]*+\.[a-z][a-z0-9_]*+\.[a-z][a-z0-9_]*+")
ONLY_WITH_ACTION = ("connection", "params", "retry", "idempotency_key")
REPOSITORY = "repo"


def check_connectors(context: Context) -> None:
    """Every tool: with ``action`` by the rules of actions, without by those against stray properties."""
    for node in context.by_kind("tool"):
        if node.section.has("action"):
            _action(context, node)
            continue
        for key in ONLY_WITH_ACTION:
            if node.section.has(key):
                context.found.add("C266", node.section.items[key].line, node=node.name, property=key)


def _action(context: Context, node: NodeDraft) -> None:
    section = node.section
    action = section.text("action")
    well_formed = _ACTION.fullmatch(action) is not None
    if not well_formed and section.items["action"].data is not None:
        context.found.add("C260", section.place("action"), node=node.name, found=action)
    connection = section.text("connection")
    if section.lacks("connection") or "{{" in connection or "$" in connection:
        place = section.place("connection") if section.has("connection") else node
        context.found.add("C261", place, node=node.name, name=node.name)
    elif well_formed and connection:
        _connection(context, node, connection, action.split(".")[0])
    if section.has("recovery"):
        context.found.add("C262", section.items["recovery"].line, node=node.name, property="recovery")
    if section.text("policy") == "recover":
        context.found.add("C262", section.items["policy"].line, node=node.name, property="policy: recover")
    if section.has("postcondition"):
        context.found.add("C263", section.items["postcondition"].line, node=node.name)
    _params(context, node)
    if well_formed and context.around.catalogue is not None:
        _operation(context, node, action)


def _connection(context: Context, node: NodeDraft, name: str, forge: str) -> None:
    known = context.around.connections
    if known is None:
        return
    place = node.section.place("connection")
    if name not in known:
        hint = suggestion(name, known, "configure it under `connections:`")
        context.found.add("X004", place, node=node.name, name=name, problem="it is not configured", hint=hint)
    elif known[name] != forge:
        problem = f"it is of kind {known[name]}, the action wants {forge}"
        context.found.add("X004", place, node=node.name, name=name, problem=problem)


def _params(context: Context, node: NodeDraft) -> None:
    inner = node.section.section("params")
    for key, item in inner.items.items() if inner else ():
        if not key.strip():
            context.found.add("C264", item.line, node=node.name, problem="a parameter has no name")
        elif item.scalar is None and not item.line.broken:
            expected = "a text in quotes, a number, true or false; a list as JSON in quotes, such as '[\"a\"]'"
            found = "a list or map" if item.line.value else "empty"
            context.found.add("E020", item.line, node=node.name, name=key, found=found, expected=expected)


def _operation(context: Context, node: NodeDraft, action: str) -> None:
    catalogue = context.around.catalogue or {}
    operation = catalogue.get(action)
    place = node.section.place("action")
    if operation is None:
        hint = suggestion(action, catalogue, "look up the operations of the connector")
        context.found.add("X002", place, node=node.name, name=action, hint=hint)
        return
    _parameters(context, node, operation)
    if operation.effect == "ambiguous" and not operation.has_probe:
        context.found.add("X012", place, node=node.name, operation=action)
    if node.section.has("idempotency_key") and not operation.honours_key:
        context.found.add("X005", node.section.items["idempotency_key"].line, node=node.name, operation=action)


def _parameters(context: Context, node: NodeDraft, operation: Operation) -> None:
    known = {parameter.name: parameter for parameter in operation.parameters}
    inner = node.section.section("params")
    given = inner.items if inner else {}
    for key, item in given.items():
        if key not in known and key != REPOSITORY:
            hint = suggestion(key, known, "remove it")
            fields = {"operation": operation.name, "problem": f"no parameter is called `{key}`", "expected": hint}
            context.found.add("X003", item.line, node=node.name, **fields)
    for name, parameter in known.items():
        if parameter.required and name not in given and name != REPOSITORY:
            problem = f"the parameter `{name}` ({parameter.type}) is missing"
            place = node.section.place("action")
            expected = f"add `{name}:` to `params:`"
            context.found.add(
                "X003", place, node=node.name, operation=operation.name, problem=problem, expected=expected
            )
