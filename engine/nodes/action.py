"""A tool node that calls a connector: its parameters, rendered and checked before anything is sent (language.md 5.6).

Called by ``tool`` for a node with ``action``. Pure up to ``context.perform``, which makes the call under the rules of
engine.md 5; this module sends and writes nothing.
"""

from __future__ import annotations

from typing import Any

from engine.dsl.catalogue import Operation
from engine.dsl.expressions import EvaluationError
from engine.dsl.graph import ToolNode, ValueType
from engine.dsl.rendering import complete, value
from engine.dsl.scope import Scope
from engine.dsl.textform import type_name
from engine.dsl.values import coerce, fit
from engine.failures import FailureCode
from engine.nodes.base import NodeContext
from engine.outcome import Failed, Outcome
from engine.ports import OperationCall

REPOSITORY = "repo"
"""Taken by every operation whose connection is bound to none."""
KINDS = {
    "string": ValueType.STRING,
    "int": ValueType.INT,
    "float": ValueType.FLOAT,
    "bool": ValueType.BOOL,
    "string[]": ValueType.STRINGS,
    "list": ValueType.JSON,
    "object": ValueType.JSON,
    "json": ValueType.JSON,
}
"""type of a parameter -> the type whose rules it follows."""
SHAPES = {"list": list, "object": dict}
ARTICLES = {"list": "a list", "object": "an object"}


def run(context: NodeContext) -> Outcome:
    """Render, check, call. What cannot be rendered is EXPRESSION_FAILED, and nothing was sent."""
    node = context.node
    assert isinstance(node, ToolNode)
    operation = context.operations.get(node.action)
    if operation is None:
        text = f"node {node.name}: no operation is called {node.action}"
        return Failed(FailureCode.CAPABILITY_UNSUPPORTED, text)
    try:
        call = OperationCall(
            operation=node.action,
            connection=node.connection,
            params=parameters(node, operation, context.scope),
            idempotency_key=complete(node.idempotency_key, context.scope) if node.idempotency_key else "",
        )
    except EvaluationError as problem:
        text = f"node {node.name}: {problem.message}; nothing was sent"
        return Failed(FailureCode.EXPRESSION_FAILED, text, cause=problem)
    return context.perform(call)


def parameters(node: ToolNode, operation: Operation, scope: Scope) -> dict[str, Any]:
    """The values to send, of the catalogue's types; null and unresolved ones are left out.

    Raises EvaluationError for a required one that is left out, one that the operation does not take, and a value that
    does not fit its type.
    """
    types = {REPOSITORY: "string"} | {each.name: each.type for each in operation.parameters}
    made: dict[str, Any] = {}
    for mapped in node.params:
        if mapped.key not in types:
            raise EvaluationError(f"{operation.name} takes no parameter {mapped.key}")
        found = value(mapped.value, scope)
        if found is not None:
            made[mapped.key] = fitting(mapped.key, types[mapped.key], found)
    missing = [each.name for each in operation.parameters if each.required and each.name not in made]
    if missing:
        raise EvaluationError(f"{operation.name} wants the parameter {missing[0]}, and it has no value")
    return made


def fitting(name: str, type_: str, found: Any) -> Any:
    """The value as the parameter's type: text is coerced, lists and objects from JSON. Raises EvaluationError."""
    kind = KINDS.get(type_)
    if kind is None:
        return found
    made = coerce(kind, found) if isinstance(found, str) else fit(kind, found)
    if made.problem:
        raise EvaluationError(f"the parameter {name} {made.problem}")
    shape = SHAPES.get(type_)
    if shape is not None and not isinstance(made.value, shape):
        raise EvaluationError(f"the parameter {name} wants {ARTICLES[type_]}, found {type_name(made.value)}")
    return made.value
