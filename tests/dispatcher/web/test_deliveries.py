"""Webhooks over a real port: signed or refused, kept once, a wake-up and nothing more (connectors.md 15)."""

from __future__ import annotations

import base64
import gzip
import hmac
import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from hashlib import sha1, sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from config.settings import Settings
from connectors import deliveries
from dispatcher.ledger.deliveries import last_of
from dispatcher.web.backstage import Backstage
from dispatcher.web.server import Listener, WebServer
from dispatcher.wiring import Wiring
from engine.run import EffectRecord, EffectState
from tests.dispatcher.web.conftest import NotingDoor
from tests.kit.clock import FakeClock

SECRET = "a-webhook-secret"
REPO = "Octo/Web"
DATA = Path(__file__).parents[2] / "data"
KINDS = ("github", "gitlab", "forgejo")
URLS = {"github": "https://api.github.com", "gitlab": "https://gitlab.com", "forgejo": "https://forge.example.org"}
EVENT = {"github": "X-GitHub-Event", "gitlab": "X-Gitlab-Event", "forgejo": "X-Forgejo-Event"}
ID = {"github": "X-GitHub-Delivery", "gitlab": "Idempotency-Key", "forgejo": "X-Forgejo-Delivery"}


def board(kind: str, secret: str | None = SECRET, repo: str = REPO) -> dict[str, Any]:
    given: dict[str, Any] = {"name": kind, "kind": kind, "url": URLS[kind], "repo": repo, "token": "t" * 20}
    return {**given, "columns": {"ready": {"label": "ready"}}, **({"webhook_secret": secret} if secret else {})}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def wiring(tmp_path: Path, clock: FakeClock) -> Iterator[Wiring]:
    boards = [*(board(kind) for kind in KINDS), {**board("github", None, "octo/open"), "name": "open"}]
    store = tmp_path / ".pointsman"
    made = Wiring(
        Settings(boards=boards),  # type: ignore[arg-type]
        store_dir=store,
        store_url=f"sqlite:///{store / 'pointsman.db'}",
    )
    made.clock = clock
    yield made
    made.close()


def payload(kind: str, repo: str = REPO, **more: Any) -> bytes:
    held = {"project": {"path_with_namespace": repo}} if kind == "gitlab" else {"repository": {"full_name": repo}}
    return json.dumps({"action": "labeled", **held, **more}, ensure_ascii=False).encode()


def digest(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, sha256).hexdigest()


def proofs(kind: str, body: bytes, clock: FakeClock, secret: str = SECRET) -> dict[str, str]:
    if kind == "github":
        return {"X-Hub-Signature-256": f"sha256={digest(body, secret)}"}
    if kind == "forgejo":
        return {"X-Forgejo-Signature": digest(body, secret)}
    return message(body, int(clock.now().timestamp()), secret)


def message(body: bytes, at: int, secret: str = SECRET) -> dict[str, str]:
    signed = hmac.new(secret.encode(), f"m1.{at}.".encode() + body, sha256).digest()
    mine = "v1," + base64.b64encode(signed).decode()
    return {"webhook-id": "m1", "webhook-timestamp": str(at), "webhook-signature": mine}


def post(
    client: httpx.Client, kind: str, body: bytes, given: Mapping[str, str], delivery: str = "d1", event: str = "issues"
) -> httpx.Response:
    headers = {"Content-Type": "application/json", ID[kind]: delivery, EVENT[kind]: event, **given}
    return client.post(f"/api/hooks/{kind}", content=body, headers=headers)


@pytest.mark.parametrize("kind", KINDS)
def test_a_delivery_is_signed_over_its_raw_bytes(
    client: httpx.Client, door: NotingDoor, clock: FakeClock, kind: str
) -> None:
    """C123, F35: emoji, CRLF, an escaped slash and a key twice; one byte more and it is refused."""
    body = payload(kind, title="\U0001f680 caf\u00e9 \r\n")[:-1] + b',"path":"a\\/b","path":"c"}'
    assert post(client, kind, body, proofs(kind, body, clock)).status_code == 202
    assert door.asked == [("refresh", "webhook")]
    spoilt = post(client, kind, body + b" ", proofs(kind, body, clock), "d2")
    assert (spoilt.status_code, spoilt.json()["error"]["code"]) == (401, "unauthorized")


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({}, 401),
        ({"X-Hub-Signature-256": "sha256=" + "0" * 64}, 401),
        ({"X-Hub-Signature-256": "RIGHT"}, 202),
        ({"X-Hub-Signature-256": "TRUNCATED"}, 401),
        ({"X-Hub-Signature-256": "UPPER"}, 202),
        ({"X-Hub-Signature": "SHA1"}, 401),
    ],
)
def test_only_the_whole_signature_counts(
    client: httpx.Client, wiring: Wiring, given: Mapping[str, str], status: int
) -> None:
    """C124: what is refused is not kept."""
    body = payload("github")
    right = f"sha256={digest(body)}"
    old = "sha1=" + hmac.new(SECRET.encode(), body, sha1).hexdigest()
    made = {"RIGHT": right, "TRUNCATED": right[:-2], "UPPER": "sha256=" + digest(body).upper(), "SHA1": old}
    answer = post(client, "github", body, {name: made.get(value, value) for name, value in given.items()})
    assert answer.status_code == status
    assert (last_of(wiring.ledger, "github") is not None) == (status == 202)


def test_a_wrong_native_signature_is_not_mended_by_an_alias(client: httpx.Client) -> None:
    """C125."""
    body = payload("forgejo")
    aliases = {"X-Gitea-Signature": digest(body), "X-Hub-Signature-256": f"sha256={digest(body)}"}
    assert post(client, "forgejo", body, {"X-Forgejo-Signature": "0" * 64, **aliases}).status_code == 401
    assert post(client, "forgejo", body, aliases).status_code == 202


def test_gitlab_signs_with_a_time_and_every_proof_must_hold(client: httpx.Client, clock: FakeClock) -> None:
    """C126."""
    body, now = payload("gitlab"), int(clock.now().timestamp())
    assert post(client, "gitlab", body, message(body, now - 360)).status_code == 401
    assert post(client, "gitlab", body, {**message(body, now), "X-Gitlab-Token": "wrong"}).status_code == 401
    assert post(client, "gitlab", body, {**message(body, now, "other"), "X-Gitlab-Token": SECRET}).status_code == 401
    assert post(client, "gitlab", body, {"X-Gitlab-Token": SECRET}).status_code == 202
    assert post(client, "gitlab", body, {**message(body, now), "X-Gitlab-Token": SECRET}, "d2").status_code == 202


def test_an_id_counts_once_and_a_body_again_is_only_a_wake_up(
    client: httpx.Client, door: NotingDoor, clock: FakeClock
) -> None:
    """C127: wake-ups before a tick are one, so the same body under a new id costs nothing."""
    body = payload("github")
    given = proofs("github", body, clock)
    results = [post(client, "github", body, given, each).json()["result"] for each in ("d1", "d1", "d2")]
    assert results == ["accepted", "duplicate", "accepted"]
    assert door.asked == [("refresh", "webhook")] * 2
    clock.advance(8 * 24 * 3600)
    assert post(client, "github", body, given, "d1").json()["result"] == "accepted"


@pytest.mark.parametrize(
    ("event", "more"),
    [("issues", {"action": "transferred"}), ("moon_landing", {"moon": {"far_side": True}}), ("ping", {"zen": "x"})],
)
def test_nothing_that_a_delivery_says_is_an_error(
    client: httpx.Client, backstage: Backstage, clock: FakeClock, event: str, more: Mapping[str, Any]
) -> None:
    """C128: unknown events, actions and fields are taken and counted."""
    body = payload("github", **more)
    assert post(client, "github", body, proofs("github", body, clock), event=event).status_code == 202
    assert b'pointsman_webhooks_total{forge="github",result="accepted"} 1' in backstage.metrics.text()


@pytest.mark.parametrize("body", [b"{}", b"[]", b"{", b'{"repository": 7}', payload("github", "octo/other")])
def test_without_a_repository_of_ours_nothing_is_found(client: httpx.Client, clock: FakeClock, body: bytes) -> None:
    """C128."""
    assert post(client, "github", body, proofs("github", body, clock)).status_code == 404


def test_an_event_about_our_own_comment_wakes_nobody(
    client: httpx.Client, wiring: Wiring, door: NotingDoor, clock: FakeClock
) -> None:
    """C130: the comment carries the marker of an effect of this store."""
    wiring.store.effects.open_apart(an_effect(clock))
    ours, foreign = (f"done\n\n<!-- pointsman effect={each} run=r1 -->" for each in ("e1", "e999"))
    for number, (text, result) in enumerate([(ours, "own_event"), (foreign, "accepted")]):
        body = payload("github", comment={"body": text})
        answer = post(client, "github", body, proofs("github", body, clock), f"d{number}", "issue_comment")
        assert answer.json()["result"] == result
    assert door.asked == [("refresh", "webhook")]


@pytest.mark.parametrize(
    ("kind", "who"),
    [
        ("github", {"sender": {"login": "Our-Bot"}}),
        ("forgejo", {"sender": {"login": "our-bot"}}),
        ("gitlab", {"user": {"username": "our-bot"}}),
    ],
)
def test_who_did_it_is_read_from_each_forges_delivery(kind: str, who: Mapping[str, Any], clock: FakeClock) -> None:
    """dispatcher.md 14, 15: an echo of our own account wakes nobody."""
    headers = {name.lower(): value for name, value in proofs(kind, b"", clock).items()}
    found = deliveries.understood(kind, headers, payload(kind, **who))
    assert found is not None
    assert found.sender.lower() == "our-bot"
    plain = deliveries.understood(kind, headers, payload(kind, sender=None, user=7))
    assert plain is not None
    assert plain.sender == ""


@pytest.mark.parametrize(
    ("kind", "told", "card"),
    [
        ("github", {"issue": {"number": 7}}, "7"),
        ("github", {"issue": {"number": 7, "pull_request": {"url": "x"}}}, ""),
        ("forgejo", {"issue": {"number": 7, "pull_request": None}}, "7"),
        ("gitlab", {"object_kind": "issue", "object_attributes": {"iid": 7}}, "7"),
        ("gitlab", {"object_kind": "note", "object_attributes": {"iid": 9}, "issue": {"iid": 7}}, "7"),
        ("gitlab", {"object_kind": "merge_request", "object_attributes": {"iid": 7}}, ""),
        ("github", {"issue": {"number": "7; drop"}}, ""),
        ("github", {"issue": [7]}, ""),
    ],
)
def test_which_card_it_is_about_is_read_from_each_forges_delivery(
    kind: str, told: Mapping[str, Any], card: str
) -> None:
    """dispatcher.md 15: wake-ups of one card are counted."""
    found = deliveries.understood(kind, {}, payload(kind, **told))
    assert found is not None
    assert found.card == card


def test_what_is_too_long_or_has_no_secret_is_refused(client: httpx.Client, clock: FakeClock) -> None:
    """C131."""
    long = payload("github", text="x" * (26 * 1024 * 1024))
    assert post(client, "github", long, proofs("github", long, clock)).status_code == 413
    body = payload("github", "octo/open")
    assert post(client, "github", body, proofs("github", body, clock)).status_code == 404
    assert client.post("/api/hooks/sourcehut", json={}).status_code == 404


def test_a_busy_store_does_not_keep_the_forge_waiting(
    client: httpx.Client, wiring: Wiring, door: NotingDoor, clock: FakeClock, tmp_path: Path
) -> None:
    """C132: 503 within two and a half seconds; it is kept when the store is free."""
    assert last_of(wiring.ledger, "github") is None
    body = payload("github")
    busy = sqlite3.connect(tmp_path / ".pointsman" / "pointsman.db", isolation_level=None)
    busy.execute("BEGIN IMMEDIATE")
    begun = time.monotonic()
    answer = post(client, "github", body, proofs("github", body, clock))
    took = time.monotonic() - begun
    busy.execute("ROLLBACK")
    busy.close()
    assert (answer.status_code, took < 2.5) == (503, True)
    looking, end = threading.Event(), time.monotonic() + 30
    while not door.asked:
        assert time.monotonic() < end
        looking.wait(0.02)


def github_examples() -> list[tuple[str, dict[str, Any]]]:
    events = json.loads(gzip.decompress((DATA / "github-webhooks.json.gz").read_bytes()))
    return [(event["name"], example) for event in events for example in event["examples"]]


def test_published_deliveries_of_every_event_are_taken(client: httpx.Client, clock: FakeClock) -> None:
    """C133: each with our repository in the place of its own; those without one belong to no board."""
    statuses = {}
    for number, (event, example) in enumerate(github_examples()):
        if isinstance(example.get("repository"), dict):
            example["repository"]["full_name"] = REPO.lower()
        body = json.dumps(example).encode()
        answer = post(client, "github", body, proofs("github", body, clock), f"d{number}", event)
        statuses[event] = (answer.status_code, isinstance(example.get("repository"), dict))
    assert len(statuses) > 50
    assert {status for status, held in statuses.values() if held} == {202}
    assert {status for status, held in statuses.values() if not held} == {404}


def test_no_token_is_asked_of_a_forge(backstage: Backstage, clock: FakeClock) -> None:
    """connectors.md 15: the signature is the proof; everything else keeps its token."""
    server = WebServer(Listener("127.0.0.1", 0, token="s3cret-token"), backstage)
    server.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
            body = payload("github")
            assert post(client, "github", body, proofs("github", body, clock)).status_code == 202
            assert client.get("/api/dispatcher").status_code == 401
    finally:
        server.stop()


def an_effect(clock: FakeClock) -> EffectRecord:
    return EffectRecord(
        id="e1",
        run_id="",
        node_id="",
        branch_path="",
        iteration_path="",
        attempt=0,
        connection="github",
        operation="github.issue.comment",
        fingerprint="f",
        marker="",
        state=EffectState.INTENDED,
        created_at=clock.now(),
    )
