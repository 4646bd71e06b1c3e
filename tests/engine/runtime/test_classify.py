"""From an exception to a code: the order of engine.md 6.1."""

from __future__ import annotations

import pytest

from engine.dsl.expressions import EvaluationError
from engine.failures import FailureCode
from engine.runtime.classify import DeliberateFailure, NodeFailure, classify, is_deliberate


class ForeignError(Exception):
    """An exception of somebody else's library, with what it happens to carry."""

    def __init__(self, text: str = "", **carried: object) -> None:
        super().__init__(text)
        self.__dict__.update(carried)


class MaybeSent(Exception):
    """A mutation that may have happened."""

    def ambiguous_effect(self) -> bool:
        return True


class Sent(MaybeSent):
    def ambiguous_effect(self) -> bool:
        return False


def wrapped(inner: BaseException, levels: int = 2) -> BaseException:
    error: BaseException = inner
    for level in range(levels):
        try:
            raise RuntimeError(f"connection reset by peer {level}") from error
        except RuntimeError as outer:
            error = outer
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MaybeSent(), FailureCode.AMBIGUOUS_EFFECT),
        (wrapped(MaybeSent()), FailureCode.AMBIGUOUS_EFFECT),
        (wrapped(Sent("x"), 0), FailureCode.EXECUTION_FAILED),
        (NodeFailure(FailureCode.TOOL_FAILED_PERMANENT, "x"), FailureCode.TOOL_FAILED_PERMANENT),
        (wrapped(NodeFailure(FailureCode.RATE_LIMITED, "x")), FailureCode.RATE_LIMITED),
        (EvaluationError("x"), FailureCode.EXPRESSION_FAILED),
        (ForeignError(failure_code="RATE_LIMITED"), FailureCode.RATE_LIMITED),
        (ForeignError(status_code=429), FailureCode.RATE_LIMITED),
        (ForeignError("maximum context length is 8k", status_code=400), FailureCode.CONTEXT_LENGTH_EXCEEDED),
        (ForeignError(status_code=408), FailureCode.NETWORK_TRANSIENT),
        (ForeignError(status_code=503), FailureCode.NETWORK_TRANSIENT),
        (ForeignError(status_code=401), FailureCode.AUTH_FAILED),
        (ForeignError(status_code=404), FailureCode.MODEL_UNAVAILABLE),
        (ForeignError(status_code=418), FailureCode.EXECUTION_FAILED),
        (ForeignError("Invalid API key given"), FailureCode.AUTH_FAILED),
        (ForeignError("unsupported schema"), FailureCode.SCHEMA_UNUSABLE),
        (ForeignError("unknown model x"), FailureCode.MODEL_UNAVAILABLE),
        (ForeignError("Connection reset by peer"), FailureCode.NETWORK_TRANSIENT),
        (ForeignError("boom"), FailureCode.EXECUTION_FAILED),
        (ForeignError(), FailureCode.EXECUTION_FAILED),
    ],
)
def test_first_match_wins(error: BaseException, code: str) -> None:
    """R082, R089, R094, C064: ambiguity comes before everything that its text looks like."""
    failed = classify(error)
    assert failed.code == code
    assert failed.message


def test_a_deliberate_mark_is_found_in_the_chain_with_its_code() -> None:
    """R051."""
    failed = classify(wrapped(DeliberateFailure("PLAN_EXHAUSTED", "no plan left")))
    assert (failed.code, failed.deliberate) == ("PLAN_EXHAUSTED", True)
    assert not is_deliberate(RuntimeError("x"))


def test_what_a_remote_asked_for_is_kept() -> None:
    assert classify(wrapped(ForeignError(status_code=429, retry_after=30))).retry_after == 30.0
