"""What became of a call of a connector that raised: pure verdicts, read from what an exception offers by protocol.

Called by ``performing``. A text never proves that nothing was sent; of a mutation, whatever lacks a proof is ambiguous.
Implements engine.md 5.2.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime

from engine.dsl.catalogue import IDEMPOTENT, READ
from engine.dsl.textform import json_text
from engine.failures import FailureCode
from engine.outcome import Failed
from engine.ports import NotSent, OperationCall, RateLimited, Refused
from engine.run import EffectState, SettledBy
from engine.runtime.classify import is_ambiguous

TIMED_OUT = 408
"""The one 4xx that tells nothing about what happened."""
CREDENTIALS = (401, 403)


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """The state of the row, by what it is known, and the node's failure. ``repeatable``: sending it again is safe."""

    state: EffectState
    by: SettledBy
    failed: Failed
    repeatable: bool = False


def fingerprint(call: OperationCall) -> str:
    """SHA-256 over operation, target and canonical payload: equal calls have equal fingerprints."""
    canonical = json_text([call.operation, call.connection, dict(call.params)])
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def marker(effect_id: str, run_id: str, node_id: str, attempt: int) -> str:
    """The invisible line that a created text carries (connectors.md 10)."""
    return f"<!-- pointsman effect={effect_id} run={run_id} node={node_id} attempt={attempt} -->"


def judge(error: BaseException, effect_class: str, *, key_sent: bool, now: datetime) -> CallVerdict:
    """What the error means for a call of this class. Ambiguity comes before everything else.

    Only the error itself proves anything: what it was raised from may belong to an earlier try.
    """
    message = str(error).strip() or type(error).__name__
    known = None if is_ambiguous(error) else _known(error, message, now)
    if known is not None:
        return known
    plain = Failed(FailureCode.EXECUTION_FAILED, message, cause=error)
    if effect_class == READ:
        return CallVerdict(EffectState.NOT_SENT, SettledBy.ANSWER, plain, repeatable=True)
    if key_sent or effect_class == IDEMPOTENT:
        told = replace(plain, message=f"{message}; the answer was lost, a repeat is safe")
        return CallVerdict(EffectState.AMBIGUOUS, SettledBy.LOST, told, repeatable=True)
    lost = Failed(FailureCode.AMBIGUOUS_EFFECT, f"{message}; the answer was lost, the call may have been made")
    return CallVerdict(EffectState.AMBIGUOUS, SettledBy.LOST, replace(lost, cause=error))


def unsent(error: BaseException, effect_class: str, *, stopped: bool, now: datetime) -> CallVerdict:
    """What the error means for a call whose row never left ``intended``: nothing was sent, whatever it looks like."""
    message = str(error).strip() or type(error).__name__
    known = _known(error, message, now)
    if stopped:
        failed = Failed(FailureCode.INTERRUPTED, f"{message}; nothing was sent", cause=error)
    elif known is not None:
        failed = known.failed
    else:
        failed = Failed(FailureCode.EXECUTION_FAILED, f"{message}; nothing was sent", cause=error)
    return CallVerdict(EffectState.NOT_SENT, SettledBy.WITHDRAWN, failed, repeatable=effect_class == IDEMPOTENT)


def _known(error: BaseException, message: str, now: datetime) -> CallVerdict | None:
    """The verdict on an exception that says for certain what happened, None for any other."""
    if isinstance(error, NotSent) and error.nothing_sent():
        failed = Failed(FailureCode.EXECUTION_FAILED, f"{message}; nothing was sent", cause=error)
        return CallVerdict(EffectState.NOT_SENT, SettledBy.PROOF, failed)
    if isinstance(error, RateLimited):
        until = error.limited_until()
        wait = max(0.0, (until - now).total_seconds()) if until is not None else 0.0
        failed = Failed(FailureCode.RATE_LIMITED, message, retry_after=wait, cause=error)
        return CallVerdict(EffectState.REFUSED, SettledBy.ANSWER, failed)
    if not isinstance(error, Refused):
        return None
    status = error.refused_status()
    if status == TIMED_OUT or (status and not 400 <= status < 500):
        return None
    code = FailureCode.AUTH_FAILED if status in CREDENTIALS else FailureCode.TOOL_FAILED_PERMANENT
    return CallVerdict(EffectState.REFUSED, SettledBy.ANSWER, Failed(code, message, cause=error))
