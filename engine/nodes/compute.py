"""A compute node: its lines evaluated over one input, no model and no process (language.md 5.3)."""

from __future__ import annotations

from engine.dsl.expressions import EvaluationError, evaluate
from engine.dsl.graph import ComputeNode
from engine.failures import FailureCode
from engine.nodes.base import NodeContext
from engine.outcome import Completed, Failed, Outcome


def run(context: NodeContext) -> Outcome:
    """One field per line; a line that fails, or a field that does not fit, is EXPRESSION_FAILED."""
    node = context.node
    assert isinstance(node, ComputeNode)
    output: dict[str, object] = {}
    for field, expression in node.lines:
        try:
            output[field] = evaluate(expression, context.scope)
        except EvaluationError as problem:
            text = f"compute {node.name}, line {field}: {problem.message} in `{expression.text}`"
            return Failed(FailureCode.EXPRESSION_FAILED, text, cause=problem)
    return Completed(output)
