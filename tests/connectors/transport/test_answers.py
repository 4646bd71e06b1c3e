"""What answers mean: every status, every envelope, every way to be asked to wait."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.answer import AnswerKind, WireRecord
from connectors.errors import AmbiguousEffect, EffectMissing, EffectPending, ForgeRefused, RateLimited
from connectors.transport.answers import DRESSES, SUCCESSES, envelope, facts, judged, kind_of, retry_at
from connectors.transport.request import Answer, Request
from tests.kit.clock import FakeClock
from tests.kit.listening import Listener
from tests.kit.wire import MUTATION, READ, TOKEN, Link, answering, peer

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DATE = "Thu, 01 Jan 2026 00:05:00 GMT"
AHEAD = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
CREATE = Request("POST", "/issues", body={})


def answer(status: int, body: Any = None, **headers: str) -> Answer:
    raw = body if isinstance(body, bytes) else json.dumps(body if body is not None else {}).encode()
    told = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Answer(status, told, raw, WireRecord(), "https://forge.test/x")


REFUSED = (400, 401, 402, 403, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 417, 422, 423, 424, 425, 451, 499)
LOST = (100, 101, 206, 299, 408, 500, 501, 502, 503, 504, 520, 599, 999)


def test_every_status_of_the_table_has_its_meaning() -> None:
    """C106 C122: of the table of section 12."""
    assert {status: kind_of(status) for status in SUCCESSES} == dict.fromkeys(SUCCESSES)
    assert {kind_of(status) for status in LOST} == {AnswerKind.LOST}
    assert {kind_of(status) for status in (301, 302, 303, 307, 308, 300)} == {AnswerKind.MOVED}
    refusals = {kind_of(status) for status in REFUSED}
    assert not refusals & {None, AnswerKind.LOST, AnswerKind.MOVED, AnswerKind.PENDING, AnswerKind.THROTTLED}
    assert kind_of(429) is AnswerKind.THROTTLED
    assert kind_of(202) is AnswerKind.PENDING


@given(st.integers(0, 2000))
def test_no_status_is_without_a_meaning(status: int) -> None:
    assert kind_of(status) is None or isinstance(kind_of(status), AnswerKind)


@pytest.mark.parametrize("status", REFUSED)
def test_a_refusal_of_a_mutation_is_final(status: int) -> None:
    """C122."""
    with peer(answering(status, {"message": f"no, {TOKEN}"})) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        with pytest.raises(ForgeRefused) as caught:
            link.transport.mutate(MUTATION, CREATE)
        link.close()
        assert len(at.requests) == 1
    assert caught.value.refused_status() == status
    assert TOKEN not in caught.value.message + str(caught.value.evidence)
    assert caught.value.evidence.message == "no, ***"


@pytest.mark.parametrize("status", [206, 408, 500, 502, 503, 504, 599])
def test_a_lost_answer_to_a_mutation_is_ambiguous_also_with_a_readable_body(status: int) -> None:
    """R472, C051: no 5xx is a refusal, and there is exactly one POST."""
    with peer(answering(status, {"message": "sorry"}, {"retry-after": "1"})) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        with pytest.raises(AmbiguousEffect) as caught:
            link.transport.mutate(MUTATION, CREATE)
        link.close()
        assert len(at.requests) == 1
    assert caught.value.evidence.status == status
    assert caught.value.effect_id == "e1"


def test_an_accepted_mutation_is_pending() -> None:
    """C055."""
    with peer(answering(202)) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        with pytest.raises(EffectPending):
            link.transport.mutate(MUTATION, CREATE)
        link.close()
        assert len(at.requests) == 1


def test_a_change_without_an_effect_row_is_a_programming_error() -> None:
    with peer(answering(201)) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        for asked in (link.transport.mutate, link.transport.read):
            with pytest.raises(EffectMissing):
                asked(READ, CREATE)
        link.close()
        assert at.accepted == 0


ENVELOPES: dict[str, tuple[Any, str, str]] = {
    "github": (
        {"message": "Validation Failed", "errors": [{"code": "custom", "message": "no"}]},
        "custom",
        "Validation Failed: no",
    ),
    "graphql": ({"errors": [{"type": "FORBIDDEN", "message": "no"}]}, "FORBIDDEN", "no"),
    "gitlab_text": ({"message": "404 Not found"}, "", "404 Not found"),
    "gitlab_list": ({"message": ["a", "b"]}, "", "a; b"),
    "gitlab_object": ({"message": {"title": ["can't be blank"]}}, "", "title can't be blank"),
    "gitlab_error": ({"error": "insufficient_scope", "error_description": "more"}, "insufficient_scope", "more"),
    "forgejo": ({"message": "gone", "url": "https://x"}, "", "gone"),
    "list": ([1], "", "unreadable application/json, 3 bytes"),
    "nothing": (b"", "", ""),
    "broken": (b"{", "", "unreadable application/json, 1 bytes"),
    "numbers": ({"message": 7, "errors": {"a": None}}, "", "7: a None"),
}


@pytest.mark.parametrize("name", ENVELOPES)
def test_every_known_envelope_is_read_and_an_unknown_one_hides_nothing(name: str) -> None:
    body, code, message = ENVELOPES[name]
    assert envelope(answer(422, body)) == (code, message)


def test_the_page_of_a_proxy_is_not_quoted_and_plain_text_is() -> None:
    html = Answer(502, {"content-type": "text/html; charset=utf-8"}, b"<h1>", WireRecord(), "")
    assert envelope(html) == ("", "unreadable text/html, 4 bytes")
    text = Answer(429, {"content-type": "text/plain"}, b"Slow down", WireRecord(), "")
    assert envelope(text) == ("", "Slow down")


@given(st.binary(max_size=60), st.integers(100, 599), st.sampled_from(sorted(DRESSES)))
def test_no_answer_breaks_the_judge(body: bytes, status: int, kind: str) -> None:
    problem = judged(answer(status, body, retry_after="x"), kind, NOW)
    assert problem is None or problem.status == status


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("60", 60),
        ("-5", 60),
        ("banana", 60),
        ("999999", 86400),
        ("0", 0),
        ("1e3", 60),
        ("Thu, 01 Jan 2026 00:06:00 GMT", 60),
    ],
)
def test_the_time_to_wait_is_bounded_and_measured_on_the_forges_clock(asked: str, seconds: int) -> None:
    """C107 C109: the forge's clock is five minutes ahead."""
    found = retry_at(answer(429, retry_after=asked, date=DATE), "github", NOW)
    assert found == NOW + timedelta(seconds=seconds)


def test_a_reset_counts_only_when_nothing_remains() -> None:
    reset = str(int(AHEAD.timestamp()) + 90)
    none = answer(403, date=DATE, x_ratelimit_remaining="0", x_ratelimit_reset=reset)
    assert retry_at(none, "github", NOW) == NOW + timedelta(seconds=90)
    some = answer(403, date=DATE, x_ratelimit_remaining="9", x_ratelimit_reset=reset)
    assert retry_at(some, "github", NOW) is None


THROTTLES: dict[str, tuple[int, Any, dict[str, str], bool]] = {
    "plain_429": (429, b"", {}, True),
    "403_with_retry_after": (403, {"message": "no"}, {"retry_after": "60", "x_ratelimit_remaining": "4000"}, True),
    "403_used_up": (403, {"message": "no"}, {"x_ratelimit_remaining": "0"}, True),
    "403_secondary": (403, {"message": "You have exceeded a secondary rate limit."}, {}, True),
    "403_abuse": (403, {"message": "triggered an abuse detection mechanism"}, {}, True),
    "403_without_hint": (403, {"message": "Resource not accessible by integration"}, {}, False),
    "404_with_text": (404, {"message": "secondary rate limit"}, {}, False),
}


@pytest.mark.parametrize("name", THROTTLES)
def test_a_throttle_is_known_by_headers_or_the_named_texts(name: str) -> None:
    """C105 C106."""
    status, body, headers, throttle = THROTTLES[name]
    problem = judged(answer(status, body, **headers), "github", NOW)
    assert problem is not None
    assert (problem.kind is AnswerKind.THROTTLED) is throttle
    if name == "403_without_hint":
        assert problem.kind is AnswerKind.FORBIDDEN


GRAPHQL: dict[str, tuple[Any, AnswerKind | None]] = {
    "data": ({"data": {"a": 1}}, None),
    "errors_without_data": ({"data": None, "errors": [{"message": "no"}]}, AnswerKind.REFUSED),
    "errors_with_empty_data": ({"data": {"a": None}, "errors": [{"message": "no"}]}, AnswerKind.REFUSED),
    "errors_and_data": ({"data": {"a": 1}, "errors": [{"message": "half"}]}, AnswerKind.LOST),
    "throttle": ({"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}, AnswerKind.THROTTLED),
    "no_document": (b"{", AnswerKind.LOST),
    "neither": ({}, AnswerKind.LOST),
}


@pytest.mark.parametrize("name", GRAPHQL)
def test_a_graphql_success_is_judged_by_its_document(name: str) -> None:
    """C019 C056 C115."""
    body, kind = GRAPHQL[name]
    problem = judged(answer(200, body), "github", NOW, graphql=True)
    assert (problem.kind if problem else None) is kind


@pytest.mark.parametrize(
    ("kind", "prefix"), [("github", "x_ratelimit_"), ("gitlab", "ratelimit_")], ids=["github", "gitlab"]
)
def test_a_budget_is_read_in_each_dress(kind: str, prefix: str) -> None:
    told = {f"{prefix}remaining": "19", f"{prefix}limit": "100", f"{prefix}reset": str(int(AHEAD.timestamp()) + 60)}
    found = facts(answer(200, date=DATE, **told), kind, NOW, "core")
    assert (found.remaining, found.limit, found.reset_at) == (19, 100, NOW + timedelta(seconds=60))
    assert facts(answer(200), "forgejo", NOW, "core").remaining is None


def test_a_throttled_mutation_was_not_done_and_nothing_more_is_sent_until_then() -> None:
    """C105: sent once, then not before the minute is over."""
    clock, heard = FakeClock(), Listener()
    headers = {"retry-after": "60", "x-ratelimit-remaining": "4000"}
    with peer(answering(403, {"message": "wait"}, headers)) as at:
        link = Link(f"http://127.0.0.1:{at.port}", kind="github", clock=clock, observer=heard)
        with pytest.raises(RateLimited) as caught:
            link.transport.mutate(MUTATION, CREATE)
        assert caught.value.limited_until() == clock.now() + timedelta(seconds=60)
        for _ in range(3):
            with pytest.raises(RateLimited):
                link.transport.read(READ, Request("GET", "/"))
            with pytest.raises(RateLimited):
                link.transport.pace.admit(MUTATION, lambda: False)
        clock.advance(60)
        link.transport.pace.admit(MUTATION, lambda: False)
        link.close()
        assert len(at.requests) == 1
    assert heard.names == ["limiter.blocked", "limiter.unblocked"]


def test_a_plain_429_waits_a_minute_then_two() -> None:
    """C108."""
    clock = FakeClock()
    with peer(answering(429, headers={"content-type": "text/plain"})) as at:
        link = Link(f"http://127.0.0.1:{at.port}", kind="forgejo", clock=clock)
        waits = []
        for _ in range(2):
            with pytest.raises(RateLimited) as caught:
                link.transport.mutate(MUTATION, CREATE)
            assert caught.value.until is not None
            waits.append((caught.value.until - clock.now()).total_seconds())
            clock.advance(waits[-1])
        link.close()
    assert waits == [60, 120]


def test_requests_are_counted_by_purpose_method_and_status() -> None:
    heard = Listener()
    with peer(answering(200)) as at:
        link = Link(f"http://127.0.0.1:{at.port}", observer=heard)
        link.transport.read(READ, Request("GET", "/"))
        link.transport.mutate(MUTATION, CREATE)
        link.close()
    assert heard.counts["pointsman_forge_requests_total", "peer/test", "list", "GET", "200"] == 1
    assert heard.counts["pointsman_forge_requests_total", "peer/test", "action", "POST", "200"] == 1
