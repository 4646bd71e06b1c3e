"""Failure codes: the one table that says what each means and who may try again.

A leaf above ``states``. Read by in-node recovery, ``--auto-resume``, the dispatcher's policy, the compiler's check
C248 (reserved names), the pages of the docs. There is no second list of anything retryable: a code that is in none of
these rows was declared by a fail node, and a machine leaves such a run alone (engine.md 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class FailureCode(StrEnum):
    """Every code that the engine itself may write. All are reserved for it (C248)."""

    NODE_NOT_FOUND = "NODE_NOT_FOUND"
    NO_OUTGOING_EDGE = "NO_OUTGOING_EDGE"
    LOOP_EXHAUSTED = "LOOP_EXHAUSTED"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    EXECUTION_FAILED = "EXECUTION_FAILED"
    WORKSPACE_SAFETY = "WORKSPACE_SAFETY"
    RESOURCE_RESTORE_FAILED = "RESOURCE_RESTORE_FAILED"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"
    JOIN_FAILED = "JOIN_FAILED"
    RESUME_INVALID = "RESUME_INVALID"
    SCRATCH_NOT_PORTABLE = "SCRATCH_NOT_PORTABLE"
    SCHEMA_VALIDATION = "SCHEMA_VALIDATION"
    SCHEMA_UNUSABLE = "SCHEMA_UNUSABLE"
    EXPRESSION_FAILED = "EXPRESSION_FAILED"
    RATE_LIMITED = "RATE_LIMITED"
    USAGE_LIMIT_BLOCKED = "USAGE_LIMIT_BLOCKED"
    CONTEXT_LENGTH_EXCEEDED = "CONTEXT_LENGTH_EXCEEDED"
    TOOL_FAILED_TRANSIENT = "TOOL_FAILED_TRANSIENT"
    TOOL_FAILED_PERMANENT = "TOOL_FAILED_PERMANENT"
    NETWORK_TRANSIENT = "NETWORK_TRANSIENT"
    AUTH_FAILED = "AUTH_FAILED"
    MODEL_UNAVAILABLE = "MODEL_UNAVAILABLE"
    CAPABILITY_UNSUPPORTED = "CAPABILITY_UNSUPPORTED"
    SANDBOX_DRIVER_UNAVAILABLE = "SANDBOX_DRIVER_UNAVAILABLE"
    SANDBOX_START_FAILED = "SANDBOX_START_FAILED"
    SANDBOX_SETUP_TIMEOUT = "SANDBOX_SETUP_TIMEOUT"
    SANDBOX_CAPACITY = "SANDBOX_CAPACITY"
    INTERRUPTED = "INTERRUPTED"
    FAIL_NODE = "FAIL_NODE"
    PROCESS_ORPHANED = "PROCESS_ORPHANED"
    QUEUE_SCHEMA_MISMATCH = "QUEUE_SCHEMA_MISMATCH"
    DLQ_PARKED = "DLQ_PARKED"
    IR_UNLOADABLE = "IR_UNLOADABLE"
    LAUNCH_FAILED = "LAUNCH_FAILED"
    BOT_REQUIRES_NEWER_ENGINE = "BOT_REQUIRES_NEWER_ENGINE"
    AMBIGUOUS_EFFECT = "AMBIGUOUS_EFFECT"


class FailureClass(StrEnum):
    """What kind of failure it is; also the ``reason`` of ``run_retry_skipped`` (engine.md 4.1, 4.5)."""

    TRANSIENT = "transient"
    INFRASTRUCTURE = "infrastructure"
    RE_EXECUTABLE = "re_executable"
    NEEDS_CAP = "needs_cap"
    DETERMINISTIC = "deterministic"
    AMBIGUOUS = "ambiguous"
    DELIBERATE = "deliberate"
    UNKNOWN = "unknown"


class Allowance(StrEnum):
    """A cell of the columns ``unattended`` and ``cli_auto_resume``."""

    YES = "yes"
    NO = "no"
    IF_RAISED = "if_raised"
    IF_SETTLED = "if_settled"


class Ladder(StrEnum):
    """Whose waits apply before the next attempt (engine.md 4.2, 13.4; dispatcher.md 12)."""

    NONE = "none"
    LADDER = "ladder"
    SANDBOX = "sandbox"
    USAGE = "usage"
    AT_ONCE = "at_once"


@dataclass(frozen=True, slots=True)
class FailureRow:
    """One row: class, who may resume unattended, the wait, one sentence for people."""

    kind: FailureClass
    unattended: Allowance
    cli_auto_resume: Allowance
    delay: Ladder
    sentence: str
    written: bool = True


_C, _K, _A, _L = FailureCode, FailureClass, Allowance, Ladder


def _row(kind: FailureClass, unattended: Allowance, cli: Allowance, delay: Ladder, sentence: str) -> FailureRow:
    return FailureRow(kind, unattended, cli, delay, sentence)


def _fixed(sentence: str, kind: FailureClass = _K.DETERMINISTIC) -> FailureRow:
    return FailureRow(kind, _A.NO, _A.NO, _L.NONE, sentence)


FAILURES: Mapping[FailureCode, FailureRow] = MappingProxyType(
    {
        _C.NODE_NOT_FOUND: _fixed("a current, paused or join node is not in the graph"),
        _C.NO_OUTGOING_EDGE: _row(_K.RE_EXECUTABLE, _A.YES, _A.NO, _L.LADDER, "no edge matches after a node"),
        _C.LOOP_EXHAUSTED: _row(_K.RE_EXECUTABLE, _A.YES, _A.NO, _L.LADDER, "only a spent loop would have matched"),
        _C.BUDGET_EXCEEDED: _row(
            _K.NEEDS_CAP, _A.IF_RAISED, _A.IF_RAISED, _L.LADDER, "a budget axis refused, overran or cut off"
        ),
        _C.EXECUTION_FAILED: _row(_K.TRANSIENT, _A.YES, _A.YES, _L.LADDER, "a fault that nothing else names"),
        _C.WORKSPACE_SAFETY: _fixed("two branches may write the workspace"),
        _C.RESOURCE_RESTORE_FAILED: _fixed("a leased resource cannot be given back"),
        _C.TIMEOUT: _row(_K.TRANSIENT, _A.YES, _A.YES, _L.LADDER, "a time limit of the attempt or the node passed"),
        _C.CANCELLED: _fixed("a person stopped the run", _K.DELIBERATE),
        _C.JOIN_FAILED: FailureRow(
            _K.RE_EXECUTABLE, _A.YES, _A.NO, _L.LADDER, "reserved, never written", written=False
        ),
        _C.RESUME_INVALID: _fixed("request or artifact contract does not fit"),
        _C.SCRATCH_NOT_PORTABLE: FailureRow(
            _K.DETERMINISTIC, _A.NO, _A.NO, _L.NONE, "reserved, never written", written=False
        ),
        _C.SCHEMA_VALIDATION: _row(
            _K.RE_EXECUTABLE, _A.YES, _A.NO, _L.LADDER, "an output does not fit its declared schema"
        ),
        _C.SCHEMA_UNUSABLE: _fixed("the backend cannot read the declared schema"),
        _C.EXPRESSION_FAILED: _fixed("a compute line, a condition or a loop bound fails"),
        _C.RATE_LIMITED: _row(_K.TRANSIENT, _A.YES, _A.YES, _L.LADDER, "a remote throttles"),
        _C.USAGE_LIMIT_BLOCKED: _row(_K.TRANSIENT, _A.YES, _A.YES, _L.USAGE, "a subscription window is used up"),
        _C.CONTEXT_LENGTH_EXCEEDED: _fixed("two compactions did not make the conversation fit"),
        _C.TOOL_FAILED_TRANSIENT: _row(
            _K.TRANSIENT, _A.YES, _A.YES, _L.LADDER, "a command exits 75 or dies by a signal from elsewhere"
        ),
        _C.TOOL_FAILED_PERMANENT: _fixed("a command cannot be run, or a forge refused"),
        _C.NETWORK_TRANSIENT: _row(_K.TRANSIENT, _A.YES, _A.YES, _L.LADDER, "the network towards a model fails"),
        _C.AUTH_FAILED: _row(_K.RE_EXECUTABLE, _A.YES, _A.NO, _L.LADDER, "a credential is refused"),
        _C.MODEL_UNAVAILABLE: _fixed("the model is unknown or not granted"),
        _C.CAPABILITY_UNSUPPORTED: _fixed("the backend lacks a declared feature"),
        _C.SANDBOX_DRIVER_UNAVAILABLE: _fixed("a sandbox is wanted and no driver can make it"),
        _C.SANDBOX_START_FAILED: _fixed("the sandbox cannot start as described"),
        _C.SANDBOX_SETUP_TIMEOUT: _row(
            _K.INFRASTRUCTURE, _A.YES, _A.YES, _L.SANDBOX, "a bounded set-up phase of the sandbox stalled"
        ),
        _C.SANDBOX_CAPACITY: _row(
            _K.INFRASTRUCTURE, _A.YES, _A.YES, _L.SANDBOX, "the sandbox was never placed or never started"
        ),
        _C.INTERRUPTED: _row(
            _K.INFRASTRUCTURE, _A.YES, _A.NO, _L.AT_ONCE, "a machine stopped the run: drain, stall, move, lost lease"
        ),
        _C.FAIL_NODE: _fixed("the run reached the plain fail terminal", _K.DELIBERATE),
        _C.PROCESS_ORPHANED: _row(_K.INFRASTRUCTURE, _A.YES, _A.NO, _L.LADDER, "the owner was found dead"),
        _C.QUEUE_SCHEMA_MISMATCH: _fixed("the message format is outside the runner's range"),
        _C.DLQ_PARKED: _fixed("the deliveries are used up"),
        _C.IR_UNLOADABLE: _fixed("the runner cannot decode or compile the program"),
        _C.LAUNCH_FAILED: _fixed("the row was stored, the message never published"),
        _C.BOT_REQUIRES_NEWER_ENGINE: _fixed("the bundle asks for a newer build"),
        _C.AMBIGUOUS_EFFECT: _row(
            _K.AMBIGUOUS, _A.IF_SETTLED, _A.NO, _L.AT_ONCE, "a mutation lost its answer and no repeat is safe"
        ),
    }
)
"""code -> row (engine.md 4.2). A test proves it total over ``FailureCode``."""

EMPTY_CODE_ROW = _row(_K.UNKNOWN, _A.YES, _A.NO, _L.LADDER, "written by an older engine; unknown, not none")
"""The row of an empty code."""

DECLARED_CODE_ROW = _fixed("declared by a fail node of the workflow", _K.DELIBERATE)
"""The row of every code that is in none of the others."""

RESERVED_CODES = frozenset(FailureCode.__members__.values())
"""Codes that a fail node may not declare (C248)."""


def row_of(code: str) -> FailureRow:
    """The row that governs ``code``, total over every text: the table's, the empty one, or the declared one."""
    if not code:
        return EMPTY_CODE_ROW
    return FAILURES[FailureCode(code)] if code in RESERVED_CODES else DECLARED_CODE_ROW
