"""One node executed once, as a sentence of verbs.

Called by ``loop`` with the node to run. What may be decided is decided in pure modules (``budget``, ``recovery``,
``inputs``); what is written goes through ``writing``; nodes never raise past ``execute``. Implements engine.md 3.4.
"""

from __future__ import annotations

from engine.dsl.expressions import EvaluationError
from engine.failures import FailureCode
from engine.runtime.attempt import Line
from engine.runtime.ending import Ending, failed_resumable
from engine.runtime.executing import check_schema, execute
from engine.runtime.gates import check_budget, check_stop
from engine.runtime.marking import mark_outcome, mark_start
from engine.runtime.preparing import prepare
from engine.runtime.settling import settle
from engine.runtime.writing import announce


def take(line: Line, name: str, *, announced: bool = False, resumed: bool = False) -> Ending | None:
    """Run the node ``name``; None when it completed, otherwise how the attempt ends.

    ``announced`` says that its start is stored already (the entry, in the launch's commit); ``resumed`` that a resume
    starts at it. Raises OwnershipLost from the boundary commit.
    """
    node = line.attempt.graph.nodes.get(name)
    if node is None:
        return failed_resumable(name, FailureCode.NODE_NOT_FOUND, f"node {name} is not in the graph")
    if refused := check_stop(line, name) or check_budget(line, name):
        return refused
    try:
        step = prepare(line, node, resumed=resumed)
    except EvaluationError as problem:
        return failed_resumable(name, FailureCode.EXPRESSION_FAILED, f"the input of node {name}: {problem.message}")
    if not announced:
        mark_start(line, step)
        if refused := announce(line, step):
            return refused
    outcome = check_schema(line, step, execute(line, step))
    mark_outcome(line, step, outcome)
    return settle(line, step, outcome)
