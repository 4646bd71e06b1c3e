"""From an exception that a node raised to a failed outcome: its code, first match wins.

Called by ``executing`` and by whoever runs a node elsewhere. Pure. The engine knows no exception of a connector; what
it asks of a foreign one is duck-typed (engine.md 5.1). The order is engine.md 6.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from engine.dsl.expressions import EvaluationError
from engine.failures import FailureCode
from engine.outcome import Failed
from engine.ports import AmbiguousEffect


class NodeFailure(Exception):
    """A node's failure with its code. ``retry_after`` in seconds is what a remote asked for."""

    def __init__(self, failure_code: FailureCode | str, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.failure_code = failure_code
        self.message = message
        self.retry_after = retry_after


class DeliberateFailure(NodeFailure):
    """The mark of a failure that the graph decided (engine.md 4.4): hosts test the mark, never a list of codes."""


STATUS_CODES: Mapping[int, FailureCode] = MappingProxyType(
    {
        429: FailureCode.RATE_LIMITED,
        408: FailureCode.NETWORK_TRANSIENT,
        401: FailureCode.AUTH_FAILED,
        403: FailureCode.AUTH_FAILED,
        404: FailureCode.MODEL_UNAVAILABLE,
    }
)
"""HTTP status of a model API -> code; 5xx is the network, anything else an execution failure."""

WORDINGS: tuple[tuple[FailureCode, tuple[str, ...]], ...] = (
    (FailureCode.AUTH_FAILED, ("unauthorized", "invalid api key", "authentication", "token expired", "forbidden")),
    (FailureCode.SCHEMA_UNUSABLE, ("invalid schema", "schema is not supported", "unsupported schema")),
    (
        FailureCode.MODEL_UNAVAILABLE,
        ("model not found", "unknown model", "no access to model", "model is not available"),
    ),
    (
        FailureCode.NETWORK_TRANSIENT,
        ("connection reset", "connection refused", "name resolution", "timed out", "tls handshake", "bad gateway"),
    ),
)
"""Lower-cased texts of last resort, in the order in which they are tried."""

CONTEXT_WORDS = ("context length", "context_length", "maximum context", "too many tokens")


def causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and everything that it was raised from, each once."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def is_ambiguous(error: BaseException) -> bool:
    """Whether any cause stands for a mutation that may have happened (engine.md 5.1)."""
    return any(isinstance(each, AmbiguousEffect) and each.ambiguous_effect() for each in causes(error))


def is_deliberate(error: BaseException) -> bool:
    """Whether the mark of a deliberate failure is in the chain."""
    return any(isinstance(each, DeliberateFailure) for each in causes(error))


def classify(error: BaseException) -> Failed:
    """The failed outcome for an exception. Ambiguity comes before everything else."""
    message = str(error).strip() or type(error).__name__
    if is_ambiguous(error):
        return Failed(FailureCode.AMBIGUOUS_EFFECT, message, cause=error)
    wait = max((_seconds(getattr(each, "retry_after", 0)) for each in causes(error)), default=0.0)
    return Failed(_code(error), message, deliberate=is_deliberate(error), retry_after=wait, cause=error)


def _code(error: BaseException) -> FailureCode | str:
    for each in causes(error):
        if isinstance(each, NodeFailure):
            return each.failure_code
        if isinstance(each, EvaluationError):
            return FailureCode.EXPRESSION_FAILED
        declared = getattr(each, "failure_code", None)
        if isinstance(declared, str) and declared in FailureCode.__members__:
            return FailureCode(declared)
    for each in causes(error):
        status = getattr(each, "status_code", None)
        if isinstance(status, int) and not isinstance(status, bool):
            return _by_status(status, str(each).lower())
    return _by_words(" ".join(str(each) for each in causes(error)).lower())


def _by_status(status: int, words: str) -> FailureCode:
    if status != 429 and any(word in words for word in CONTEXT_WORDS):
        return FailureCode.CONTEXT_LENGTH_EXCEEDED
    if status >= 500:
        return FailureCode.NETWORK_TRANSIENT
    found = STATUS_CODES.get(status, FailureCode.EXECUTION_FAILED)
    if found is FailureCode.EXECUTION_FAILED and "model" in words and ("not found" in words or "unknown" in words):
        return FailureCode.MODEL_UNAVAILABLE
    return found


def _by_words(words: str) -> FailureCode:
    for code, wordings in WORDINGS:
        if any(wording in words for wording in wordings):
            return code
    return FailureCode.EXECUTION_FAILED


def _seconds(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
