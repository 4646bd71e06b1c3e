"""HEAD, OPTIONS, 404, 405 and what a request may carry: for programs as documents, for people as pages."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import httpx

from dispatcher.web.patience import BODY_SECONDS, HEAD_SECONDS, MOST, late
from dispatcher.web.server import WebServer
from tests.dispatcher.web.test_runs import paused

__all__ = ["paused"]

METHODS = (
    ("PUT", "/api/cards", "GET, HEAD, OPTIONS, POST"),
    ("DELETE", "/api/cards/1", "GET, HEAD, OPTIONS, PATCH"),
    ("TRACE", "/healthz", "GET, HEAD, OPTIONS"),
    ("GET", "/api/cards/1/move", "OPTIONS, POST"),
    ("PATCH", "/api/cards/views", "GET, HEAD, OPTIONS"),
    ("BREW", "/", "GET, HEAD, OPTIONS"),
)
BODIES = (
    ("/api/cards", b"{", "not JSON"),
    ("/api/cards", b"\xff", "not JSON in UTF-8"),
    ("/api/cards", b"[" * 100_000, "not JSON"),
    ("/api/cards", b'{"title": "x", "priority": ' + b"9" * 5000 + b"}", "not JSON"),
    ("/api/cards", b"[]", "The body is not a JSON object"),
    ("/api/cards", b"", "The body is missing"),
    ("/api/cards", b'{"title": "x", "colum": "ready"}', "Did you mean column?"),
    ("/api/cards", b'{"title": "x", "url": "\\ud800"}', "lone surrogate"),
    ("/api/cards/1/move", b'{"to": "ready", "reason": "\\udfff"}', "lone surrogate"),
    ("/api/cards/1/move", b'{"to": "ready", "reason": "' + b"x" * 2000 + b'"}', "reason"),
    ("/api/cards/1/move", b'{"to": "ready", "reason": "a\\u0000b"}', "NUL"),
    ("/api/session", b'{"token": "\\ud800"}', "lone surrogate"),
    ("/api/dispatcher/pause", b'{"mode": "stop"}', "'pause' or 'drain'"),
)
QUERIES = (
    ("/api/cards?limit=99999999999999999999999", "limit"),
    ("/api/cards?offset=99999999999999999999999", "offset"),
    ("/api/runs?limit=1&offset=99999999999999999999999", "offset"),
    ("/api/runs?status=finishd", "finished"),
    ("/api/runs/r1/events?since=99999999999999999999", "since"),
    ("/api/cards/1/history?limit=99999999999999999999", "limit"),
    ("/api/cards?colum=ready", "Did you mean column?"),
    ("/api/cards?text=%00", "NUL"),
    ("/api/cards/a%00b", "NUL"),
    ("/api/cards/views?board=nowhere", "Boards here: native"),
)
AS_JSON = {"Content-Type": "application/json"}
PERSON = {"Accept": "text/html,application/xhtml+xml"}


def test_head_is_get_without_the_body(client: httpx.Client, paused: str) -> None:
    for path in ("/", "/healthz", "/api/cards", "/static/page.css", "/metrics", "/api/openapi.json"):
        got, head = client.get(path), client.head(path)
        assert (head.status_code, head.content) == (200, b""), path
        assert head.headers["content-type"] == got.headers["content-type"]
        assert ("etag" in head.headers) == ("etag" in got.headers)
    stream = client.head(f"/api/runs/{paused}/events", headers={"Accept": "text/event-stream"})
    assert (stream.status_code, stream.content) == (200, b"")


def test_another_method_is_told_which_ones_there_are(client: httpx.Client) -> None:
    for method, path, allowed in METHODS:
        answer = client.request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed), path
        assert answer.json()["error"]["hint"].startswith(f"It takes {allowed}")
        options = client.options(path)
        assert (options.status_code, options.headers["allow"], options.content) == (204, allowed, b"")


def test_a_person_gets_a_refusal_as_a_page_and_a_program_as_a_document(client: httpx.Client) -> None:
    for path in ("/cards/99", "/nowhere", "/cards/1?board=none"):
        page = client.get(path, headers=PERSON)
        assert page.status_code in (404, 422)
        assert page.headers["content-type"].startswith("text/html")
        assert '<a href="/">' in page.text
        assert client.get(path).json()["error"]["hint"]
    assert client.get("/api/cards/99", headers=PERSON).json()["error"]["code"] == "card_unknown"


def test_a_body_that_is_no_use_is_told_what_it_should_be(client: httpx.Client) -> None:
    client.post("/api/cards", json={"title": "One"})
    for path, body, told in BODIES:
        answer = client.post(path, content=body, headers=AS_JSON)
        assert answer.status_code == 422, answer.text
        assert told in " ".join(map(str, answer.json()["error"].values()))
    assert [each["column"] for each in client.get("/api/cards").json()["cards"]] == ["inbox"]


def test_a_query_that_is_no_use_is_told_what_it_should_be(client: httpx.Client, paused: str) -> None:
    for path, told in QUERIES:
        answer = client.get(path)
        assert answer.status_code == 422, answer.text
        assert told in " ".join(map(str, answer.json()["error"].values()))
    for odd in ("9" * 30, "x", "-1"):
        headers = {"Accept": "text/event-stream", "Last-Event-ID": odd}
        assert client.get(f"/api/runs/{paused}/events", headers=headers).status_code == 422


def test_who_says_nothing_or_trickles_is_not_waited_for() -> None:
    assert not late(HEAD_SECONDS, 0, body=False)
    assert late(HEAD_SECONDS + 1, 10_000, body=False)
    assert not late(BODY_SECONDS, 0, body=True)
    assert late(BODY_SECONDS + 31, 30 * 1024, body=True)
    assert not late(600, 45 * 1024 * 1024, body=True)


def test_connections_are_counted_and_what_is_no_http_is_told_so(server: WebServer) -> None:
    """The file descriptors of the daemon are not for who opens connections and says nothing."""
    with ExitStack() as held:
        for _ in range(MOST):
            held.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as one_more:
            assert one_more.recv(4096).startswith(b"HTTP/1.1 503")
            assert one_more.recv(4096) == b""
    end = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as odd:
        odd.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        while part := odd.recv(4096):
            end += part
    assert end.startswith(b"HTTP/1.1 400")
    assert b'"hint"' in end
