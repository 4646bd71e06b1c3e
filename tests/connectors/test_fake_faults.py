"""Each fault of the fake forge does what its row says, and only that (connectors.md 24)."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pytest

from connectors.fake_forge.lost import LOST
from connectors.fake_forge.running import FakeForge, Setup, running
from connectors.fake_forge.script import FAULTS, ScriptError, Stage, read_script
from tests.house.tables import ROOT
from tests.kit.fakes import Caller, fake

REPO = "/repos/octo/demo"
POST: dict[str, Any] = {"method": "POST"}


@pytest.fixture
def forge() -> Iterator[FakeForge]:
    with fake("github") as running_one:
        yield running_one


@pytest.fixture
def call(forge: FakeForge) -> Iterator[Caller]:
    with Caller(forge) as caller:
        yield caller


def comments(forge: FakeForge, number: int) -> int:
    return len(forge.card(number).comments)


def test_every_fault_is_used_by_a_test() -> None:
    """C161: each fault of the table is named, in quotes, by a test outside the fake's own source."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in FAULTS if f'"{name}"' not in text] == []


def test_every_fault_after_the_act_has_its_function() -> None:
    assert set(LOST) == {name for name, fault in FAULTS.items() if fault.stage is Stage.AFTER}


def patience(fault: str) -> float:
    """Seconds: short only where silence is what is waited for."""
    return 1 if fault in ("act_then_hang", "stall_mid_upload", "tls_hang") else 30


def read_in_pieces(call: Caller, path: str, fault: str) -> None:
    """Send a comment and read the answer; one that drips is given up after some bytes."""
    with call.http.stream("POST", path, json={"body": "x"}, timeout=patience(fault)) as answer:
        for count, _ in enumerate(answer.iter_raw() if fault == "drip" else answer.iter_bytes()):
            if count == 5:
                raise TimeoutError


@pytest.mark.parametrize(
    ("fault", "given", "error"),
    [
        ("act_then_close", {}, httpx.RemoteProtocolError),
        ("act_then_reset", {}, httpx.ReadError),
        ("act_then_hang", {}, httpx.ReadTimeout),
        ("act_then_cut_head", {}, httpx.RemoteProtocolError),
        ("act_then_cut_body", {}, httpx.RemoteProtocolError),
        ("act_then_cut_body", {"chunked": True}, httpx.RemoteProtocolError),
        ("act_then_bad_gzip", {}, httpx.DecodingError),
        ("tls_garbage_after", {}, httpx.RemoteProtocolError),
        ("drip", {"bytes_per_s": 50}, TimeoutError),
    ],
)
def test_a_performed_call_whose_answer_is_lost(
    forge: FakeForge, call: Caller, fault: str, given: dict[str, Any], error: type[Exception]
) -> None:
    number = forge.issue()
    forge.script({"match": POST, "fault": fault, "with": given})
    with pytest.raises(error):
        read_in_pieces(call, f"{REPO}/issues/{number}/comments", fault)
    assert comments(forge, number) == 1
    assert forge.requests("POST")[0]["performed"]


@pytest.mark.parametrize(
    ("fault", "given", "status", "body"),
    [
        ("act_then_5xx", {"status": 504, "body": "<html>"}, 504, b"<html>"),
        ("act_then_bad_json", {}, 201, b'{"id": 12, "number":'),
        ("act_then_empty", {}, 201, b""),
    ],
)
def test_a_performed_call_whose_answer_says_nothing(
    forge: FakeForge, call: Caller, fault: str, given: dict[str, Any], status: int, body: bytes
) -> None:
    number = forge.issue()
    forge.script({"match": POST, "fault": fault, "with": given})
    answer = call("POST", f"{REPO}/issues/{number}/comments", {"body": "x"})
    assert (answer.status_code, answer.content) == (status, body)
    assert comments(forge, number) == 1


@pytest.mark.parametrize("fault", ["close_before_read", "reset_on_connect"])
def test_a_connection_that_ends_before_anything_is_read(forge: FakeForge, fault: str) -> None:
    forge.script({"match": {"nth": 1}, "fault": fault})
    with Caller(forge) as call:
        with pytest.raises(httpx.TransportError):
            call("GET", REPO)
        assert call("GET", REPO).status_code == 200
    assert len(forge.requests()) == 1


@pytest.mark.parametrize("fault", ["reset_mid_upload", "stall_mid_upload"])
def test_an_upload_that_breaks_is_not_performed(forge: FakeForge, call: Caller, fault: str) -> None:
    number = forge.issue()
    forge.script({"match": POST, "fault": fault, "with": {"bytes": 10}})
    with pytest.raises(httpx.TransportError):
        call(
            "POST",
            f"{REPO}/issues/{number}/comments",
            {"body": "x" * 20_000_000},
            timeout=patience(fault),
        )
    assert comments(forge, number) == 0
    assert not forge.requests("POST")[0]["performed"]


def test_a_kept_connection_ends_on_the_second_request(forge: FakeForge, call: Caller) -> None:
    forge.script({"match": {"nth": 1}, "fault": "close_idle", "with": {"when": "second"}})
    assert call("GET", REPO).status_code == 200
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        call("GET", REPO)
    assert call("GET", REPO).status_code == 200


def test_a_kept_connection_ends_while_it_is_idle(forge: FakeForge) -> None:
    forge.script({"fault": "close_idle"})
    with socket.create_connection(("127.0.0.1", httpx.URL(forge.url).port or 0), timeout=5) as kept:
        kept.sendall(f"GET {REPO} HTTP/1.1\r\nHost: x\r\nAuthorization: token {forge.token}\r\n\r\n".encode())
        with kept.makefile("rb") as answer:
            whole = answer.read()
    assert whole.startswith(b"HTTP/1.1 200")
    assert b"close" not in whole.split(b"\r\n\r\n")[0].lower()


def test_nobody_listens_and_then_somebody_does(forge: FakeForge) -> None:
    forge.script({"fault": "refuse"})
    with Caller(forge) as call:
        with pytest.raises(httpx.ConnectError):
            call("GET", REPO)
        forge.script()
        assert call("GET", REPO).status_code == 200
        forge.script({"fault": "refuse", "match": {"after": 1}}, {"fault": "act_then_close"})
        with pytest.raises(httpx.RemoteProtocolError):
            call("GET", REPO)
        with pytest.raises(httpx.ConnectError):
            call("GET", REPO)


def test_a_connection_that_is_never_answered(forge: FakeForge) -> None:
    forge.script({"fault": "hang_on_connect"})
    with Caller(forge) as call:
        with pytest.raises(httpx.ConnectTimeout):
            call("GET", REPO, timeout=0.3)
        forge.script()
        assert call("GET", REPO).status_code == 200


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("tls_untrusted", httpx.ConnectError),
        ("tls_wrong_name", httpx.ConnectError),
        ("tls_reset", httpx.ConnectError),
        ("tls_hang", httpx.ConnectTimeout),
        ("tls_garbage_after", httpx.ReadError),
    ],
)
def test_tls_breaks_in_every_way(fault: str, error: type[Exception]) -> None:
    with running("github", Setup(tls=True)) as forge:
        context = ssl.create_default_context(cafile=str(forge.authority))
        headers = {"Authorization": f"Bearer {forge.token}"}
        with httpx.Client(base_url=forge.url, headers=headers, verify=context, trust_env=False) as client:
            assert client.get(REPO).status_code == 200
        forge.script({"fault": fault, "match": {"nth": 1}})
        with httpx.Client(base_url=forge.url, headers=headers, verify=context, trust_env=False) as client:
            with pytest.raises(error):
                client.get(REPO, timeout=patience(fault))
            assert client.get(REPO).status_code == 200


def test_a_plain_refusal_is_not_performed(forge: FakeForge, call: Caller) -> None:
    number = forge.issue()
    forge.script({"fault": "status", "with": {"code": 418, "body": {"a": 1}, "headers": {"X-Y": "z"}}})
    answer = call("POST", f"{REPO}/issues/{number}/comments", {"body": "x"})
    assert (answer.status_code, answer.json(), answer.headers["x-y"]) == (418, {"a": 1}, "z")
    assert comments(forge, number) == 0


@pytest.mark.parametrize(
    ("fault", "status", "header"),
    [
        ("throttle_primary", 403, "x-ratelimit-reset"),
        ("throttle_secondary", 403, "retry-after"),
        ("throttle_plain", 429, ""),
        ("throttle_date_form", 429, "retry-after"),
        ("graphql_throttle", 200, ""),
    ],
)
def test_limits_come_in_each_dress(forge: FakeForge, call: Caller, fault: str, status: int, header: str) -> None:
    forge.script({"fault": fault, "match": {"nth": 1}})
    answer = call("GET", REPO)
    assert answer.status_code == status
    assert not header or header in answer.headers
    if fault == "throttle_date_form":
        waits = parsedate_to_datetime(answer.headers["retry-after"]) - parsedate_to_datetime(answer.headers["date"])
        assert waits == timedelta(seconds=60)
    if fault == "graphql_throttle":
        assert answer.json()["errors"][0]["type"] == "RATE_LIMITED"
    assert call("GET", REPO).status_code == 200


@pytest.mark.parametrize(
    ("fault", "given", "location"),
    [
        ("redirect", {"to": "https://elsewhere.example/x", "code": 307}, "https://elsewhere.example/x"),
        ("redirect_empty", {}, None),
        ("redirect_loop", {}, REPO),
    ],
)
def test_redirects_lead_elsewhere_nowhere_or_round(
    forge: FakeForge, call: Caller, fault: str, given: dict[str, Any], location: str | None
) -> None:
    forge.script({"fault": fault, "with": given})
    answer = call("GET", REPO)
    assert (answer.status_code, answer.headers.get("location")) == (given.get("code", 301), location)


def test_objects_live_and_die_by_script(forge: FakeForge, call: Caller) -> None:
    one, two, three = forge.issue(), forge.issue(), forge.issue()
    forge.script(
        {"fault": "transfer", "match": {"path": f"*/issues/{one}", "nth": 1}},
        {"fault": "gone", "match": {"path": f"*/issues/{two}", "nth": 1}},
        {"fault": "hide", "match": {"path": f"*/issues/{three}", "nth": 1}},
    )
    assert [call("GET", f"{REPO}/issues/{each}").status_code for each in (one, two, three)] == [301, 410, 404]
    forge.script({"fault": "archive"})
    assert call("POST", f"{REPO}/issues", {"title": "x"}).status_code == 403
    forge.script({"fault": "issues_off"})
    assert call("GET", f"{REPO}/issues").status_code == 410
    forge.script({"fault": "rename_repo", "with": {"to": "octo/new"}, "match": {"nth": 1}})
    assert call("GET", REPO).status_code == 301


def test_reads_lag_behind_what_was_written(forge: FakeForge, call: Caller) -> None:
    number = forge.issue(labels=["ready"])
    forge.script({"fault": "lag", "with": {"seconds": 30, "what": "lists"}})
    forge.act("close", number=number)
    assert len(call("GET", f"{REPO}/issues").json()) == 1
    assert call("GET", f"{REPO}/issues/{number}").json()["state"] == "closed"
    forge.clock(advance=31)
    assert call("GET", f"{REPO}/issues").json() == []
    forge.script({"fault": "lag", "with": {"seconds": 30, "what": "comments"}})
    call("POST", f"{REPO}/issues/{number}/comments", {"body": "x"})
    assert call("GET", f"{REPO}/issues/{number}/comments").json() == []


def numbers(call: Caller) -> list[list[int]]:
    """The pages that following the links leads to, at most six."""
    answer = call("GET", f"{REPO}/issues", params={"per_page": "2", "direction": "asc"})
    found = [[each["number"] for each in answer.json()]]
    while "next" in answer.links and len(found) < 6:
        answer = call.http.get(answer.links["next"]["url"])
        found.append([each["number"] for each in answer.json()])
    return found


@pytest.mark.parametrize(
    ("fault", "given", "pages"),
    [
        ("page_overlap", {}, [[1, 2], [2, 3, 4], [4, 5]]),
        ("page_loop", {}, [[1, 2], [3, 4], [1, 2], [3, 4], [1, 2], [3, 4]]),
        ("page_empty_next", {}, [[1, 2], [], [3, 4], [5]]),
        ("page_clamp", {"to": 1}, [[1], [2], [3], [4], [5]]),
        ("page_clamp", {"to": 1, "links": False}, [[1]]),
        ("shift_while_reading", {}, [[1, 2], [4, 5]]),
    ],
)
def test_pages_misbehave_in_each_way(
    forge: FakeForge, call: Caller, fault: str, given: dict[str, Any], pages: list[list[int]]
) -> None:
    for _ in range(5):
        forge.issue()
    forge.script({"fault": fault, "with": given})
    assert numbers(call) == pages


def test_pages_are_cut_or_have_no_totals(forge: FakeForge, call: Caller) -> None:
    for _ in range(5):
        forge.issue()
    forge.script({"fault": "no_totals"})
    assert "last" not in call("GET", f"{REPO}/issues", params={"per_page": "2"}).links
    forge.script({"fault": "page_cut"})
    with pytest.raises(ValueError):
        call("GET", f"{REPO}/issues").json()


def test_labels_behave_as_seen_elsewhere(forge: FakeForge, call: Caller) -> None:
    number = forge.issue(labels=["ready", "bug"])
    path = f"{REPO}/issues/{number}/labels"
    forge.script({"fault": "unknown_label_dropped"})
    assert len(call("POST", path, {"labels": ["nobody"]}).json()) == 2
    forge.script({"fault": "unknown_filter_ignored"})
    assert len(call("GET", f"{REPO}/issues", params={"labels": "nobody"}).json()) == 1
    forge.script({"fault": "remove_by_name_404"})
    assert call("DELETE", f"{path}/ready").status_code == 404
    forge.script({"fault": "put_replaces"})
    assert [each["name"] for each in call("POST", path, {"labels": ["review"]}).json()] == ["review"]
    with fake("forgejo") as other, Caller(other) as ask:
        made = other.issue()
        other.script({"fault": "unknown_label_created"})
        ask("POST", f"/api/v1/repos/octo/demo/issues/{made}/labels", {"labels": ["new"]})
        assert other.labels_of(made) == ["new"]


def test_columns_change_their_identity(forge: FakeForge, call: Caller) -> None:
    before = [option.id for option in forge.world.projects[0].fields[0].options]
    forge.script(
        {"fault": "options_regenerated", "match": {"nth": 1}},
    )
    call("GET", REPO)
    assert not set(before) & {option.id for option in forge.world.projects[0].fields[0].options}
    forge.script({"fault": "label_renamed", "with": {"from": "ready", "to": "go"}, "match": {"nth": 1}})
    call("GET", REPO)
    forge.script({"fault": "label_recased", "with": {"from": "review"}, "match": {"nth": 1}})
    call("GET", REPO)
    names = {label.name for label in forge.here.labels.values()}
    assert {"go", "REVIEW"} <= names
    assert not {"ready", "review"} & names


def test_clock_credential_and_people_change_between_calls(forge: FakeForge, call: Caller) -> None:
    number = forge.issue(labels=["ready"])
    forge.clock(frozen=True, set=datetime(2026, 3, 1, tzinfo=UTC).isoformat())
    forge.script({"fault": "clock_skew", "with": {"seconds": 600}, "match": {"nth": 1}})
    assert parsedate_to_datetime(call("GET", REPO).headers["date"]) == datetime(2026, 3, 1, 0, 10, tzinfo=UTC)
    move = {"do": "move", "number": number, "from": "ready", "to": "review"}
    forge.script({"fault": "person", "with": {"act": move, "when": "after"}, "match": {"nth": 1}})
    first, second = (call("GET", f"{REPO}/issues/{number}").json()["labels"][0]["name"] for _ in range(2))
    assert (first, second) == ("ready", "review")
    forge.script({"fault": "scope_missing", "with": {"scope": "issues"}})
    assert call("POST", f"{REPO}/issues", {"title": "x"}).status_code == 403
    forge.script({"fault": "revoke_token"})
    assert call("GET", REPO).status_code == 401


def test_rules_count_what_fits_them_and_the_first_wins(forge: FakeForge, call: Caller) -> None:
    forge.script(
        {"fault": "status", "with": {"code": 500}, "match": {"operation": "repo.get", "nth": [2, 3]}},
        {"fault": "status", "with": {"code": 503}, "match": {"method": "get", "path": "/repos/*", "every": 3}},
        {"fault": "status", "with": {"code": 504}, "match": {"after": 4}},
    )
    assert [call("GET", REPO).status_code for _ in range(6)] == [200, 500, 500, 200, 504, 503]


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([{"fault": "act_than_close"}], "Did you mean act_then_close?"),
        ([{"fault": "drip", "with": {"speed": 1}}], 'drip takes bytes_per_s in "with", not "speed"'),
        ([{"fault": "drip", "mach": {}}], 'Rule 1: there is no key "mach". Did you mean match?'),
        ({"fault": "drip"}, "A script is a list of rules."),
        ([{"fault": "drip"}, {}], "Rule 2: fault: Field required"),
    ],
)
def test_a_script_that_cannot_be_used_is_told_so(document: Any, told: str) -> None:
    with pytest.raises(ScriptError) as caught:
        read_script(document)
    assert told in str(caught.value)
