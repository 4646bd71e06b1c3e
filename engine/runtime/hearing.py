"""A ``wait`` node: it waits until an event of its name was emitted by the same run (language.md 5.8).

Called by ``executing``. While it waits, its branch gives its turn up (engine.md 9.3) and the run shows signs of life:
it does what it was told to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext

from engine.dsl.graph import SignalNode
from engine.failures import FailureCode
from engine.outcome import Completed, Failed, Outcome
from engine.runtime.attempt import Line
from engine.runtime.preparing import Step, limit_of

PERIOD = 0.05
"""Seconds between two looks at what the node waits for."""

Look = Callable[[], Mapping[str, object] | None]
"""Looks for what a node waits for; None while it is not there."""


def hear(line: Line, step: Step) -> Outcome:
    """The payload of the next event; TIMEOUT when its time passes without one."""
    node = step.node
    assert isinstance(node, SignalNode)
    heard = line.state.heard.get(node.name, 0)
    return waited(line, step, lambda: line.attempt.signals.after(node.event, heard), f"the event {node.event}")


def waited(line: Line, step: Step, look: Look, what: str, period: float = PERIOD) -> Outcome:
    """The output that ``look`` gives in the end; asked every ``period`` seconds within the limit of the node."""
    attempt, limit = line.attempt, limit_of(line, step.node)
    until = attempt.clock.monotonic() + limit.seconds
    found = look()
    if found is None:
        with _parked(line):
            while found is None and attempt.clock.monotonic() < until:
                if attempt.clock.wait(attempt.stop.event, period):
                    return Failed(FailureCode.INTERRUPTED, f"the run was stopped while node {step.node.name} waited")
                attempt.stop.signs.seen()
                found = look()
    if found is not None:
        return Completed(dict(found))
    return Failed(limit.code, f"node {step.node.name} waited {limit.seconds:g} s for {what} in vain: {limit.text}")


def _parked(line: Line) -> AbstractContextManager[None]:
    return line.turns.parked(line.attempt.clock, line.attempt.stop) if line.turns else nullcontext()
