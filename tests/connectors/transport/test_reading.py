"""Reads: repeated, redirected by hand, cut at their deadline and size, paged to the end or to the reason why not."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from connectors.answer import AnswerKind, StopReason
from connectors.errand import Errand
from connectors.errors import AmbiguousEffect, ForgeRefused, Unreachable
from connectors.transport.models import Misfit
from connectors.transport.paging import Page, Plan, next_link, paged
from connectors.transport.request import LARGEST_BODY, Answer, Request
from connectors.transport.validators import Kept, MemoryValidators, key_of
from tests.kit.clock import FakeClock
from tests.kit.wire import MUTATION, READ, TOKEN, Link, Peer, Peered, Script, answering, peer

GET = Request("GET", "/issues")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def replying(*replies: Callable[[Peered], None]) -> Script:
    """The n-th request of the peer gets the n-th reply, the last one again and again."""
    lock, count = threading.Lock(), iter(range(10_000))

    def script(connection: Peered) -> None:
        while True:
            connection.request()
            with lock:
                number = next(count)
            replies[min(number, len(replies) - 1)](connection)

    return script


def says(status: int, body: Any = None, **headers: str) -> Callable[[Peered], None]:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda connection: connection.answer(status, json.dumps(body).encode(), told)


def cut(connection: Peered) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{")
    connection.end()


BROKEN: dict[str, Callable[[Peered], None]] = {
    "502": says(502),
    "reset": Peered.reset,
    "closed": Peered.end,
    "cut": cut,
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fault", BROKEN)
def test_a_read_is_tried_four_times_and_a_mutation_once(fault: str, method: str) -> None:
    """C104."""
    with peer(replying(BROKEN[fault])) as at:
        link = Link(f"http://127.0.0.1:{at.port}", clock=FakeClock())
        if method == "GET":
            with pytest.raises(Unreachable):
                link.transport.read(replace(READ, deadline=60.0), GET)
        else:
            with pytest.raises(AmbiguousEffect):
                link.transport.mutate(MUTATION, Request(method, "/issues", body={}))
        link.close()
        assert len(at.requests) == (4 if method == "GET" else 1)


def test_a_silent_peer_ends_a_read_and_a_mutation_with_one_request_each() -> None:
    """C104: there is no time for a repetition."""
    for method in METHODS:
        with peer(replying(Peered.hang)) as at:
            link = Link(f"http://127.0.0.1:{at.port}", clock=FakeClock())
            if method == "GET":
                with pytest.raises(Unreachable) as caught:
                    link.transport.read(replace(READ, deadline=0.4), GET)
                assert caught.value.stopped is StopReason.DEADLINE
            else:
                with pytest.raises(AmbiguousEffect):
                    link.transport.mutate(replace(MUTATION, deadline=0.4), Request(method, "/issues", body={}))
            link.close()
            assert len(at.requests) == 1


def test_the_pauses_between_repetitions_grow_and_end_with_the_deadline() -> None:
    clock = FakeClock()
    with peer(replying(says(503), says(503), says(200, [1]))) as at:
        link = Link(f"http://127.0.0.1:{at.port}", clock=clock)
        began = clock.monotonic()
        assert link.transport.read(replace(READ, deadline=60.0), GET).json() == [1]
        assert 0.75 * 1.5 <= clock.monotonic() - began <= 1.25 * 1.5
        link.close()
    with peer(replying(says(503))) as at:
        link = Link(f"http://127.0.0.1:{at.port}", clock=clock)
        with pytest.raises(Unreachable):
            link.transport.read(replace(READ, deadline=1.0), GET)
        link.close()
        assert len(at.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 422, 451])
def test_a_refused_read_is_not_repeated(status: int) -> None:
    with peer(replying(says(status, {"message": "no"}))) as at:
        link = Link(f"http://127.0.0.1:{at.port}", clock=FakeClock())
        with pytest.raises(ForgeRefused) as caught:
            link.transport.read(READ, GET)
        link.close()
        assert len(at.requests) == 1
    assert caught.value.status == status


def test_a_dripping_peer_ends_at_the_total_deadline() -> None:
    """C020."""

    def drip(connection: Peered) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
        while not at.closing.wait(0.05):
            connection.send(b"x")

    with peer(replying(drip)) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        began = link.clock.monotonic()
        with pytest.raises(Unreachable) as caught:
            link.transport.read(replace(READ, deadline=1.5), GET)
        assert link.clock.monotonic() - began < 4.0
        link.close()
        at.closing.set()
    assert caught.value.stopped is StopReason.DEADLINE


def test_a_head_that_drips_ends_at_the_total_deadline() -> None:
    """C020."""

    def drip(connection: Peered) -> None:
        connection.send(b"HTTP/1.1 200 OK\r\nx: ")
        while not at.closing.wait(0.05):
            connection.send(b"x")

    with peer(replying(drip)) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        with pytest.raises(AmbiguousEffect):
            link.transport.mutate(replace(MUTATION, deadline=1.5), Request("POST", "/x", body={}))
        link.close()
        at.closing.set()


def long_answer(connection: Peered) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 41943040\r\n\r\n")
    for _ in range(640):
        connection.send(b" " * 65536)


def packed_answer(connection: Peered) -> None:
    body = gzip.compress(b" " * (LARGEST_BODY + 1024))
    connection.answer(200, body, {"content-encoding": "gzip"})


@pytest.mark.parametrize("reply", [long_answer, packed_answer], ids=["long", "packed"])
def test_an_answer_above_32_mib_is_not_taken(reply: Callable[[Peered], None]) -> None:
    """C021."""
    with peer(replying(reply)) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        with pytest.raises(Unreachable) as caught:
            link.transport.read(replace(READ, deadline=20.0), GET)
        link.close()
        assert len(at.requests) == 1
    assert caught.value.stopped is StopReason.DECODE


def test_a_compressed_answer_is_unpacked() -> None:
    body = gzip.compress(json.dumps({"a": "b" * 1000}).encode())
    with peer(replying(lambda connection: connection.answer(200, body, {"content-encoding": "gzip"}))) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        assert link.transport.read(READ, GET).json() == {"a": "b" * 1000}
        link.close()


# redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", ["/elsewhere", ""], ids=["with", "without"])
def test_a_redirected_mutation_is_not_followed_and_is_a_lost_answer(status: int, location: str) -> None:
    """R475, C118."""
    headers = {"location": location} if location else {}
    with peer(replying(says(status, None, **headers))) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        with pytest.raises(AmbiguousEffect) as caught:
            link.transport.mutate(MUTATION, Request("POST", "/issues", body={}))
        link.close()
        assert at.targets == ["/issues"]
    assert caught.value.evidence.kind == AnswerKind.MOVED
    assert caught.value.evidence.where == location


def test_a_read_follows_a_redirect_of_its_own_host_and_says_where() -> None:
    """C119."""
    with peer(replying(says(301, None, location="/repositories/7/issues?page=1"), says(200, [1]))) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        answer = link.transport.read(READ, GET)
        link.close()
        assert at.targets == ["/issues", "/repositories/7/issues?page=1"]
    assert answer.moved_to.endswith("/repositories/7/issues?page=1")
    assert answer.moved_for_good


@pytest.mark.parametrize(
    "location",
    ["http://127.0.0.1:9/x", "https://127.0.0.1/x", "http://10.0.0.1/x", "//elsewhere.test/x", "", "http://["],
)
def test_a_read_that_is_sent_elsewhere_fails_and_no_credential_leaves(location: str) -> None:
    """C119."""
    with peer(answering(200)) as other:
        place = location.replace("127.0.0.1:9", f"127.0.0.1:{other.port}")
        with peer(replying(says(301, None, location=place))) as at:
            link = Link(f"http://127.0.0.1:{at.port}")
            with pytest.raises(ForgeRefused) as caught:
                link.transport.read(READ, GET)
            link.close()
            assert len(at.requests) == 1
        assert other.accepted == 0
    assert caught.value.evidence.kind == AnswerKind.MOVED
    assert caught.value.evidence.where == place


def test_a_redirect_loop_and_a_long_chain_end() -> None:
    """C119."""
    with peer(replying(says(302, None, location="/a"), says(302, None, location="/b"))) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        with pytest.raises(ForgeRefused):
            link.transport.read(READ, GET)
        link.close()
        assert len(at.requests) <= 4


# conditional reads


def test_an_unchanged_answer_is_taken_from_what_is_kept() -> None:
    """C017."""

    def script(connection: Peered) -> None:
        while True:
            head, _ = connection.request()
            if b'if-none-match: "one"' in head.lower():
                connection.answer(304, b"", {"etag": '"one"', "content-length": "0"})
            else:
                connection.answer(200, b"[1,2]", {"etag": '"one"', "link": '</issues?page=2>; rel="prev"'})

    with peer(script) as at:
        link = Link(f"http://127.0.0.1:{at.port}", validators=MemoryValidators())
        first, second = (link.transport.read(READ, GET) for _ in range(2))
        link.close()
        assert len(at.requests) == 2
    assert (first.kept, second.kept) == (False, True)
    assert first.json() == second.json() == [1, 2]
    assert second.headers["link"] == first.headers["link"]


def test_a_body_that_was_spoilt_on_its_way_is_not_kept() -> None:
    """Its validator holds for the whole body: with each "unchanged" the spoilt one would come back for ever."""
    bodies = [b"", b'{"id": 12, "nu']

    def script(connection: Peered) -> None:
        while True:
            head, _ = connection.request()
            assert b"if-none-match" not in head.lower()
            connection.answer(200, bodies.pop(0) if bodies else b"[1,2]", {"etag": '"one"'})

    with peer(script) as at:
        link = Link(f"http://127.0.0.1:{at.port}", validators=MemoryValidators(), clock=FakeClock())
        answers = [link.transport.read(READ, GET) for _ in range(3)]
        link.close()
    assert answers[2].json() == [1, 2]


def test_another_credential_or_api_version_finds_nothing_kept() -> None:
    """C018."""
    kept = MemoryValidators()
    with peer(replying(says(200, [], etag='"one"'))) as at:
        for token, version in (("token-number-one", "a"), ("token-number-two", "a"), ("token-number-one", "b")):
            link = Link(f"http://127.0.0.1:{at.port}", token=token, validators=kept, headers={"x-version": version})
            link.transport.read(READ, GET)
            link.close()
        assert not any(b"if-none-match" in head.lower() for head in at.heads)
    assert key_of("u", "c", {"a": "1"}) != key_of("u", "c", {"a": "2"})


def test_a_304_that_nobody_asked_for_is_no_success() -> None:
    with peer(replying(says(304))) as at:
        link = Link(f"http://127.0.0.1:{at.port}", clock=FakeClock())
        with pytest.raises(ForgeRefused):
            link.transport.read(READ, GET)
        link.close()
        assert len(at.requests) == 1


def test_the_memory_of_validators_has_an_end() -> None:
    memory = MemoryValidators(most=2)
    for key in "abc":
        memory.put(key, Kept(key, "", b"", {}))
    memory.drop("b")
    assert [memory.get(key) is not None for key in "abc"] == [False, False, True]


# pages


def numbers(payload: object) -> Page[int]:
    if not isinstance(payload, list):
        raise Misfit("payload: a list was expected")
    return Page(tuple(payload), len(payload))


PLAN = Plan(parse=numbers, key=lambda number: number, size=2)


def listing(at: Peer, plan: Plan[int] = PLAN, errand: Errand = READ, **more: Any) -> Any:
    link = Link(f"http://127.0.0.1:{at.port}", clock=FakeClock(), **more)
    try:
        return paged(link.transport, replace(errand, deadline=60.0), GET, plan)
    finally:
        link.close()


def linked(body: Any, to: str, **headers: str) -> Callable[[Peered], None]:
    return says(200, body, link=f'<{to}>; rel="next", </issues?page=9>; rel="last"', **headers)


def test_pages_are_followed_to_the_end_and_each_item_comes_once() -> None:
    """C004 C006 C010: the last item of a page again, an empty page with a next link, no totals."""
    with peer(
        replying(
            linked([1, 2], "/issues?page=2"),
            linked([2, 3], "/issues?page=3"),
            linked([], "/issues?page=4"),
            says(200, [4]),
        )
    ) as at:
        read = listing(at)
        assert at.targets == ["/issues", "/issues?page=2", "/issues?page=3", "/issues?page=4"]
    assert (read.items, read.complete) == ((1, 2, 3, 4), True)


STOPS: dict[str, tuple[tuple[Callable[[Peered], None], ...], StopReason, tuple[int, ...]]] = {
    "page_failed": ((linked([1], "/issues?page=2"), says(502)), StopReason.PAGE_FAILED, (1,)),
    "page_refused": ((linked([1], "/issues?page=2"), says(404)), StopReason.PAGE_FAILED, (1,)),
    "loop": ((linked([1], "/issues?page=2"), linked([2], "/issues?page=2")), StopReason.LOOP, (1, 2)),
    "nothing_new": (
        (linked([1], "/issues?page=2"), linked([1], "/issues?page=3"), linked([1], "/issues?page=4")),
        StopReason.LOOP,
        (1,),
    ),
    "page_cap": (
        (linked([1], "/issues?page=2"), linked([2], "/issues?page=3"), linked([3], "/issues?page=4")),
        StopReason.PAGE_CAP,
        (1, 2, 3),
    ),
    "elsewhere": ((linked([1], "http://127.0.0.2:9/issues?page=2"),), StopReason.PAGE_FAILED, (1,)),
    "another_path": ((linked([1], "/search/issues?page=2"),), StopReason.PAGE_FAILED, (1,)),
    "decode": ((linked([1], "/issues?page=2"), says(200, {"not": "a list"})), StopReason.DECODE, (1,)),
    "cut_json": (
        (linked([1], "/issues?page=2"), lambda connection: connection.answer(200, b"[2,")),
        StopReason.DECODE,
        (1,),
    ),
    "throttled": ((linked([1], "/issues?page=2"), says(429)), StopReason.THROTTLED, (1,)),
    "clamped": ((says(200, [1], x_total="7"),), StopReason.CLAMPED, (1,)),
}


@pytest.mark.parametrize("name", STOPS)
def test_a_listing_that_is_not_whole_says_why(name: str) -> None:
    """C003 C005 C007 C008."""
    replies, stopped, items = STOPS[name]
    with peer(replying(*replies)) as at:
        read = listing(at, replace(PLAN, max_pages=3))
        requests = len(at.requests)
    assert (read.complete, read.stopped, read.items) == (False, stopped, items)
    assert read.why
    assert requests <= 7


def test_a_deadline_ends_a_listing() -> None:
    with peer(replying(linked([1], "/issues?page=2"), Peered.hang)) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        read = paged(link.transport, replace(READ, deadline=1.5), GET, PLAN)
        link.close()
    assert (read.stopped, read.items) == (StopReason.DEADLINE, (1,))


def test_a_listing_refused_on_its_first_page_is_refused_as_a_whole() -> None:
    """C121: the board's matter."""
    with peer(replying(says(410, {"message": "Issues are disabled for this repo"}))) as at, pytest.raises(ForgeRefused):
        listing(at)


def test_every_stop_reason_has_a_listing_that_ends_with_it() -> None:
    named = {stopped for _, stopped, _ in STOPS.values()} | {StopReason.DEADLINE}
    assert named | {StopReason.REFUSED} == set(StopReason)


def test_no_credential_goes_to_the_next_link_of_another_host() -> None:
    """C007."""
    with peer(answering(200, [2])) as other, peer(replying(linked([1], f"http://127.0.0.1:{other.port}/issues"))) as at:
        read = listing(at)
        assert other.accepted == 0
        assert TOKEN.encode() in at.heads[0]
    assert read.stopped is StopReason.PAGE_FAILED


def test_a_list_whose_first_page_changed_meanwhile_is_read_once_more() -> None:
    replies = (
        linked([1, 2], "/issues?page=2", etag='"a"'),
        says(200, [3]),
        linked([0, 1], "/issues?page=2", etag='"b"'),
        linked([0, 1], "/issues?page=2", etag='"b"'),
        says(200, [2, 3]),
    )
    with peer(replying(*replies)) as at:
        assert listing(at).items == (0, 1, 2, 3)
        assert len(at.requests) == 5


def test_a_limit_ends_the_reading_without_being_incomplete() -> None:
    with peer(replying(linked([1, 2], "/issues?page=2"), linked([3, 4], "/issues?page=3"))) as at:
        read = listing(at, replace(PLAN, limit=3))
        assert len(at.requests) == 2
    assert (read.items, read.complete) == ((1, 2, 3), True)


@pytest.mark.parametrize(
    ("link", "to"),
    [
        ('</b>; rel="next"', "http://h/b"),
        ('<http://h/a>; rel="prev", <http://h/c>; rel="next"', "http://h/c"),
        ("<http://h/c>; rel=next", "http://h/c"),
        ('<http://h/c?a=1,2>; title="x, y"; rel="last next"', "http://h/c?a=1,2"),
        ('<http://h/c>; rel="nextish"', ""),
        ('<http://h/c>; rel="prev"; title="rel=next"', ""),
        ("", ""),
        ("garbage", ""),
    ],
)
def test_the_next_page_is_the_one_that_says_so(link: str, to: str) -> None:
    from connectors.answer import WireRecord

    assert next_link(Answer(200, {"link": link}, b"", WireRecord(), "http://h/a")) == to
