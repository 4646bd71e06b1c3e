"""A human node: the question that it asks, and the form that answers it (language.md 5.4).

The runtime stores the question and pauses the run; answers are checked in ``runtime/answers.py`` before anything is
claimed.
"""

from __future__ import annotations

from engine.dsl.graph import HumanNode, Schema
from engine.dsl.rendering import prompt
from engine.nodes.base import NodeContext
from engine.outcome import Completed, Outcome, Paused, Question


def run(context: NodeContext) -> Outcome:
    """The question; or, when this iteration was answered before the run stopped, those answers as the output."""
    node = context.node
    assert isinstance(node, HumanNode)
    if context.answered is not None:
        return Completed(dict(context.answered))
    return Paused(
        Question(
            kind="human",
            questions=_ordered(context),
            fields=form(context.graph.schema_of(node.output)),
            instructions=prompt(node.instructions, context.scope) if node.instructions else "",
            min_answers=node.min_answers,
        )
    )


def form(schema: Schema | None) -> tuple[dict[str, object], ...]:
    """The fields of an answer form as JSON objects, in the order of the schema; empty without one."""
    if schema is None:
        return ()
    made: list[dict[str, object]] = []
    for field in schema.fields:
        entry: dict[str, object] = {"name": field.name, "type": str(field.type)}
        if field.enum:
            entry["enum"] = list(field.enum)
        made.append(entry)
    return tuple(made)


def _ordered(context: NodeContext) -> dict[str, object]:
    """The input in the order of the ``input`` schema; fields that it does not name follow."""
    schema = context.graph.schema_of(context.node.input)
    first = [field.name for field in schema.fields if field.name in context.input] if schema else []
    return {name: context.input[name] for name in [*first, *(k for k in context.input if k not in first)]}
