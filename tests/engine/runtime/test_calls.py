"""What became of a call that raised: one verdict for each kind of end (engine.md 5.2)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from connectors.errors import AmbiguousEffect, NotSent, RateLimited
from engine.failures import FailureCode
from engine.ports import OperationCall
from engine.run import EffectState
from engine.runtime.calls import fingerprint, judge
from tests.kit.forge import refused

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIMITED = RateLimited("429", until=NOW + timedelta(seconds=40))
_S, _C = EffectState, FailureCode


def after_an_unsent_try() -> Exception:
    """A second try that was lost, raised while the first, unsent one was handled."""
    lost = OSError("reset")
    lost.__context__ = NotSent("refused the connection")
    return lost


@pytest.mark.parametrize(
    ("error", "state", "code"),
    [
        (NotSent("the address guard refuses 10.0.0.1"), _S.NOT_SENT, _C.EXECUTION_FAILED),
        (NotSent("the name does not resolve"), _S.NOT_SENT, _C.EXECUTION_FAILED),
        (NotSent("connection refused"), _S.NOT_SENT, _C.EXECUTION_FAILED),
        (NotSent("a header cannot be written"), _S.NOT_SENT, _C.EXECUTION_FAILED),
        (LIMITED, _S.REFUSED, _C.RATE_LIMITED),
        (refused(401), _S.REFUSED, _C.AUTH_FAILED),
        (refused(403), _S.REFUSED, _C.AUTH_FAILED),
        (refused(404), _S.REFUSED, _C.TOOL_FAILED_PERMANENT),
        (refused(422), _S.REFUSED, _C.TOOL_FAILED_PERMANENT),
        (refused(0), _S.REFUSED, _C.TOOL_FAILED_PERMANENT),
        (refused(408), _S.AMBIGUOUS, _C.AMBIGUOUS_EFFECT),
        (refused(302), _S.AMBIGUOUS, _C.AMBIGUOUS_EFFECT),
        (refused(503), _S.AMBIGUOUS, _C.AMBIGUOUS_EFFECT),
        (AmbiguousEffect("reset"), _S.AMBIGUOUS, _C.AMBIGUOUS_EFFECT),
        (KeyError("anything"), _S.AMBIGUOUS, _C.AMBIGUOUS_EFFECT),
        (OSError("connection refused, says a text"), _S.AMBIGUOUS, _C.AMBIGUOUS_EFFECT),
        (after_an_unsent_try(), _S.AMBIGUOUS, _C.AMBIGUOUS_EFFECT),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_mutation_is_ambiguous_without_a_proof(error: Exception, state: EffectState, code: FailureCode) -> None:
    """R085 to R091."""
    verdict = judge(error, "ambiguous", key_sent=False, now=NOW)
    assert (verdict.state, verdict.failed.code, verdict.failed.cause) == (state, code, error)
    assert not verdict.repeatable


def test_a_wait_that_was_asked_for_is_kept() -> None:
    assert judge(LIMITED, "ambiguous", key_sent=False, now=NOW).failed.retry_after == 40
    assert judge(RateLimited("429"), "ambiguous", key_sent=False, now=NOW).failed.retry_after == 0


@pytest.mark.parametrize("error", [AmbiguousEffect("reset"), refused(503), KeyError("x"), NotSent("x")])
def test_a_read_is_never_ambiguous(error: Exception) -> None:
    """R092."""
    assert judge(error, "read", key_sent=False, now=NOW).failed.code is FailureCode.EXECUTION_FAILED


@pytest.mark.parametrize(("effect_class", "key_sent"), [("idempotent", False), ("ambiguous", True)])
def test_a_lost_answer_may_be_repeated_where_that_changes_nothing(effect_class: str, key_sent: bool) -> None:
    """R093."""
    verdict = judge(AmbiguousEffect("reset"), effect_class, key_sent=key_sent, now=NOW)
    assert (verdict.state, verdict.failed.code) == (EffectState.AMBIGUOUS, FailureCode.EXECUTION_FAILED)
    assert verdict.repeatable
    assert not judge(AmbiguousEffect("reset"), "guarded", key_sent=False, now=NOW).repeatable


def test_equal_calls_have_equal_fingerprints() -> None:
    call = OperationCall("f.i.c", "web", {"a": 1, "b": [1.0, "x"]})
    same = OperationCall("f.i.c", "web", {"b": [1.0, "x"], "a": 1}, "key", 5.0, 6.0)
    assert fingerprint(call) == fingerprint(same)
    others = [OperationCall("f.i.d", "web", call.params), OperationCall("f.i.c", "lab", call.params)]
    others += [OperationCall("f.i.c", "web", {"a": 2, "b": [1.0, "x"]}), OperationCall("f.i.c", "web")]
    assert len({fingerprint(each) for each in [call, *others]}) == 5
