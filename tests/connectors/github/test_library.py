"""The library on our connection: the same verdicts as everywhere, one request per change, and nobody else disturbed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import github
import pytest
from github import Auth
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, Requester

from connectors.answer import Proof
from connectors.errand import Errand
from connectors.errors import (
    AmbiguousEffect,
    EffectMissing,
    ForgeRefused,
    NotSent,
    RateLimited,
    Unreachable,
    Unsupported,
)
from connectors.forge.client import Target
from connectors.forge.records import IssueDraft, LabelDef
from connectors.github.connector import HEADERS, GitHubClient
from tests.connectors.transport.test_proof import FAULTS, patience, reached, started
from tests.connectors.transport.test_reading import BROKEN, replying, says
from tests.kit.clock import FakeClock
from tests.kit.github import client_at
from tests.kit.wire import MUTATION, READ, Link, Peer, Peered, answering, closed_port, peer, trusting

DRAFT = IssueDraft("one", "text")
SLOW = replace(READ, deadline=60.0)


def create(client: GitHubClient, errand: Errand = MUTATION) -> None:
    try:
        client.create_issue(DRAFT, errand)
    finally:
        client.close()


def add_label(client: GitHubClient, errand: Errand = MUTATION) -> None:
    try:
        client.add_label(1, LabelDef("1", "ready"), errand)
    finally:
        client.close()


CALLS: dict[str, Callable[..., None]] = {"issue.create": create, "label.add": add_label}


def over(at: Peer, fault: Any) -> GitHubClient:
    link = reached(fault, at, "github")
    url = f"https://forge.test:{at.port}" if fault.tls else f"http://127.0.0.1:{at.port}"
    return GitHubClient(link.transport, Target("octo/demo"), url=url)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", FAULTS)
def test_the_verdict_is_that_of_the_transport(name: str, call: str) -> None:
    """C058 C084 C085 C091 C092 C093 C094 C097 C098, through the library."""
    fault = FAULTS[name]
    with peer(started(fault)) as at:
        client = over(at, fault)
        with pytest.raises(NotSent if fault.proof else AmbiguousEffect) as caught:
            CALLS[call](client, patience(fault))
        at.settle(1)
        assert len(at.requests) == (1 if fault.whole and not fault.proof else 0)
    assert caught.value.evidence.proof == (fault.proof or "")
    assert caught.value.evidence.status == fault.status


def test_a_refused_connection_and_a_name_without_address_are_not_sent() -> None:
    """C082."""
    with pytest.raises(NotSent) as refused:
        create(client_at(f"http://127.0.0.1:{closed_port()}"))
    assert refused.value.evidence.proof == Proof.NOT_CONNECTED

    def unresolved(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    with pytest.raises(NotSent):
        create(client_at("https://forge.test", resolver=unresolved, trusted=trusting()))


def test_a_token_that_no_header_can_hold_is_found_before_the_client() -> None:
    """C087."""
    with peer(answering(201)) as at, pytest.raises(NotSent) as caught:
        create(client_at(f"http://127.0.0.1:{at.port}", token="token\nwith-a-line-end"))
    assert caught.value.evidence.proof == Proof.NOT_SERIALISABLE
    assert caught.value.evidence.wire["phase"] == "none"


def test_a_text_that_cannot_be_encoded_is_not_sent() -> None:
    """C090."""
    with peer(answering(201)) as at:
        client = client_at(f"http://127.0.0.1:{at.port}")
        with pytest.raises(NotSent):
            client.create_issue(IssueDraft("one", "\ud800"), MUTATION)
        client.close()
        assert at.accepted == 0


def test_an_answer_without_its_number_is_a_lost_answer_and_no_success() -> None:
    """C057 C058: the library by itself takes it for a success with number none."""
    with peer(answering(201, {"title": "one"})) as at, pytest.raises(AmbiguousEffect, match="number"):
        create(client_at(f"http://127.0.0.1:{at.port}"))


@pytest.mark.parametrize("body", [b"{", b"", b"[]", b"null", b'"text"'])
def test_an_answer_of_another_shape_is_a_lost_answer(body: bytes) -> None:
    """C057 C097."""

    def script(connection: Peered) -> None:
        connection.request()
        connection.answer(201, body)

    with peer(script) as at, pytest.raises(AmbiguousEffect) as caught:
        create(client_at(f"http://127.0.0.1:{at.port}"))
    assert caught.value.evidence.status == 201
    assert caught.value.effect_id == MUTATION.effect_id


METHODS: dict[str, Callable[[GitHubClient], object]] = {
    "GET": lambda client: client.issue(1, SLOW),
    "POST": lambda client: client.create_issue(DRAFT, MUTATION),
    "PUT": lambda client: client.merge_pull(1, "a" * 40, "merge", MUTATION),
    "PATCH": lambda client: client.set_state(1, False, MUTATION),
    "DELETE": lambda client: client.delete_ref("one", MUTATION),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fault", BROKEN)
def test_the_library_repeats_nothing(fault: str, method: str) -> None:
    """C104 C101: with the library's own repetitions off, reads 1 + 3 of ours, changes once."""
    with peer(replying(BROKEN[fault])) as at:
        client = client_at(f"http://127.0.0.1:{at.port}", clock=FakeClock())
        with pytest.raises(Unreachable if method == "GET" else AmbiguousEffect):
            METHODS[method](client)
        client.close()
        assert at.methods == [method] * (4 if method == "GET" else 1)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", ["/elsewhere", ""], ids=["with", "without"])
def test_the_library_follows_no_redirect_of_a_change(status: int, location: str) -> None:
    """C118: by itself it would send the change again."""
    with peer(replying(says(status, None, **({"location": location} if location else {})))) as at:
        with pytest.raises(AmbiguousEffect) as caught:
            create(client_at(f"http://127.0.0.1:{at.port}"))
        assert at.targets == ["/repos/octo/demo/issues"]
    assert caught.value.evidence.kind == "moved"


@pytest.mark.parametrize(
    ("status", "headers", "error"),
    [
        (401, {}, ForgeRefused),
        (403, {}, ForgeRefused),
        (403, {"retry_after": "60"}, RateLimited),
        (404, {}, ForgeRefused),
        (422, {}, ForgeRefused),
        (429, {}, RateLimited),
        (500, {}, AmbiguousEffect),
        (504, {"retry_after": "1"}, AmbiguousEffect),
    ],
)
def test_an_answer_means_the_same_through_the_library(status: int, headers: dict[str, str], error: type) -> None:
    """C105 C106."""
    with peer(replying(says(status, {"message": "no"}, **headers))) as at:
        with pytest.raises(error):
            create(client_at(f"http://127.0.0.1:{at.port}"))
        assert len(at.requests) == 1


def test_two_threads_with_one_client_never_get_each_others_answers() -> None:
    def script(connection: Peered) -> None:
        while True:
            head, _ = connection.request()
            number = head.split(b" ")[1].rsplit(b"/", 1)[1]
            connection.answer(404 if number == b"0" else 410, json.dumps({"message": number.decode()}).encode())

    with peer(script) as at:
        client = client_at(f"http://127.0.0.1:{at.port}")
        wrong: list[str] = []

        def ask(number: int) -> None:
            for _ in range(25):
                found = client.issue(number, SLOW)
                if str(getattr(found, "kind", "")) != ("not_found" if number == 0 else "gone"):
                    wrong.append(str(found))

        threads = [threading.Thread(target=ask, args=(number,)) for number in (0, 1, 0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        client.close()
    assert not wrong


def test_a_change_without_an_effect_row_sends_nothing() -> None:
    with peer(answering(201)) as at:
        client = client_at(f"http://127.0.0.1:{at.port}")
        with pytest.raises(EffectMissing):
            client.create_issue(DRAFT, READ)
        client.close()
        assert at.accepted == 0


def test_the_pinned_version_and_our_name_go_with_every_request() -> None:
    with peer(answering(201, {"title": "x"})) as at:
        with pytest.raises(AmbiguousEffect):
            create(client_at(f"http://127.0.0.1:{at.port}"))
        head = at.heads[0].decode().lower()
    assert "x-github-api-version: 2022-11-28" in head
    assert "user-agent: pointsman" in head
    assert head.count("authorization:") == 1
    assert "python" not in head


@pytest.mark.parametrize(
    ("base", "path"),
    [("", "/repos/octo/demo/issues"), ("/api/v3", "/api/v3/repos/octo/demo/issues")],
    ids=["public", "own_server"],
)
def test_a_server_of_ones_own_lies_below_its_prefix(base: str, path: str) -> None:
    with peer(answering(200, {"title": "x"})) as at:
        with pytest.raises(AmbiguousEffect):
            create(client_at(f"http://127.0.0.1:{at.port}{base}"))
        client = client_at(f"http://127.0.0.1:{at.port}{base}")
        with pytest.raises(Unreachable):
            client._library.graphql(SLOW, "query { viewer { login } }", {})
        client.close()
        assert at.targets == [path, f"{base.removesuffix('/v3')}/graphql"]


def classes() -> tuple[object, object]:
    """What the library would give a client that is made now."""
    made = github.Github(auth=Auth.Token("another-program"), base_url="http://127.0.0.1:9").requester
    return (
        made._Requester__connectionClass,  # type: ignore[attr-defined]
        Requester._Requester__httpsConnectionClass,  # type: ignore[attr-defined]
    )


def test_a_program_that_uses_the_library_for_itself_keeps_its_connections() -> None:
    """C164: while our connector is open and after it was closed; each speaks through its own."""
    usual = (HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass)
    assert classes() == usual
    account = {"login": "someone", "id": 1, "url": "https://forge.test/users/someone"}
    with peer(answering(200, account)) as at, peer(answering(404, {"message": "Not Found"})) as ours:
        theirs = github.Github(auth=Auth.Token("another-program"), base_url=f"http://127.0.0.1:{at.port}", retry=None)
        client = client_at(f"http://127.0.0.1:{ours.port}")
        assert classes() == usual
        assert theirs.get_user().login == "someone"
        client.issue(1, SLOW)
        client.close()
        assert classes() == usual
        assert theirs.get_user().login == "someone"
        theirs.close()
        assert (len(at.requests), len(ours.requests)) == (2, 1)
        assert b"another-program" in at.heads[0]


def test_a_connector_over_another_client_refuses_to_start() -> None:
    """C139."""
    import httpx

    with httpx.Client() as plain, pytest.raises(Unsupported):
        GitHubClient(plain, Target("octo/demo"))  # type: ignore[arg-type]


def test_the_usual_headers_are_the_transports_own() -> None:
    assert HEADERS["accept"] == "application/vnd.github+json"
    assert Link("http://127.0.0.1:9", kind="github", headers=HEADERS).transport.parts.headers == HEADERS
