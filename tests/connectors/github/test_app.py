"""An app instead of a token: bought with a signed claim, renewed early, once at a time, kept nowhere else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from connectors.deadline import Deadline
from connectors.errors import ForgeRefused, NotSent, Unreachable
from connectors.fake_forge.running import FakeForge, Setup
from connectors.forge.client import Target
from connectors.forge.records import Missing, Subject
from connectors.github.app import AppClaim, AppCredential
from connectors.github.connector import HEADERS, GitHubClient
from connectors.secrets import Secret
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.github import READ, WRITE
from tests.kit.wire import Link, closed_port

KEY = Secret(
    rsa.generate_private_key(public_exponent=65537, key_size=2048)
    .private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    .decode()
)


@dataclass
class Appled:
    """An app's connection and what a test looks at."""

    forge: FakeForge
    clock: FakeClock
    credential: AppCredential
    client: GitHubClient
    link: Link

    @property
    def tokens(self) -> int:
        return len(self.forge.requests(operation="app.token"))


def connected(forge: FakeForge | None, clock: FakeClock, key: Secret = KEY, url: str = "") -> Appled:
    url = url or (forge.url if forge else "")
    claim = AppClaim(7, key, clock)
    to_app = Link(url, kind="github", headers=HEADERS, clock=clock, credential=claim)
    credential = AppCredential(11, claim, to_app.transport, to_app.redactor)
    link = Link(url, kind="github", headers=HEADERS, clock=clock, credential=credential)
    client = GitHubClient(link.transport, Target("octo/demo"), url=url, app=credential)
    return Appled(forge, clock, credential, client, to_app)  # type: ignore[arg-type]


@pytest.fixture
def app() -> Iterator[Appled]:
    clock = FakeClock(datetime.now().astimezone())
    with fake("github", Setup(clock=clock)) as forge:
        found = connected(forge, clock)
        yield found
        found.client.close()
        found.link.close()


def test_an_app_reads_and_writes_as_its_bot(app: Appled) -> None:
    number = app.forge.issue()
    account = app.client.whoami(READ)
    assert account.login == "pointsman-bot[bot]"
    made = app.client.create_comment(Subject(number), "text", WRITE)
    assert made.author == account.login
    assert app.tokens == 1


def test_a_token_is_renewed_before_two_thirds_of_its_life(app: Appled) -> None:
    app.client.repository(READ)
    app.clock.advance(35 * 60)
    app.client.repository(READ)
    assert app.tokens == 1
    app.clock.advance(4 * 60)
    app.client.repository(READ)
    assert app.tokens == 2


def test_many_threads_renew_once(app: Appled) -> None:
    begin = threading.Barrier(4)
    headers: list[tuple[str, str]] = []

    def ask() -> None:
        begin.wait(10)
        headers.append(app.credential.authorise(Deadline.after(app.clock, 10)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert app.tokens == 1
    assert len(set(headers)) == 1


def test_an_old_token_serves_while_the_forge_sells_no_new_one(app: Appled) -> None:
    app.client.repository(READ)
    app.clock.advance(40 * 60)
    app.forge.script({"match": {"operation": "app.token"}, "fault": "status", "with": {"code": 502}})
    assert not isinstance(app.client.repository(READ), Missing)
    app.clock.advance(25 * 60)
    with pytest.raises(Unreachable):
        app.client.repository(READ)
    number = app.forge.issue()
    with pytest.raises(NotSent) as proof:
        app.client.create_comment(Subject(number), "text", WRITE)
    assert proof.value.evidence.proof == "no_credential"
    assert not app.forge.requests(operation="issue.comment")


@pytest.mark.parametrize("minutes", [-20, 20])
def test_a_forge_whose_clock_differs_gets_claims_of_its_own_time(app: Appled, minutes: int) -> None:
    app.forge.clock(skew=minutes * 60)
    assert not isinstance(app.client.repository(READ), Missing)
    app.clock.advance(30 * 60)
    app.client.repository(READ)
    assert app.tokens == 2


def test_a_token_is_known_to_the_redactor_and_stands_nowhere(app: Appled) -> None:
    """C141 C142."""
    app.client.repository(READ)
    token = app.credential.authorise(Deadline.after(app.clock, 10))[1].removeprefix("Bearer ")
    assert token not in repr(vars(app.credential))
    assert app.link.redactor.clean(f"the token {token}") == "the token ***"


def test_a_key_that_is_none_proves_that_nothing_was_sent() -> None:
    clock = FakeClock()
    with fake("github", Setup(clock=clock)) as forge:
        found = connected(forge, clock, Secret("no key at all, but long enough"))
        with pytest.raises(NotSent) as proof:
            found.client.create_comment(Subject(1), "text", WRITE)
        assert "no key at all" not in proof.value.message
        assert proof.value.evidence.proof == "no_credential"
        found.client.close()
        assert not forge.requests()


def test_a_forge_that_is_away_sells_no_token() -> None:
    found = connected(None, FakeClock(), url=f"http://127.0.0.1:{closed_port()}")
    with pytest.raises(NotSent):
        found.client.create_comment(Subject(1), "text", WRITE)
    found.client.close()


def test_a_refused_app_is_unauthorised(app: Appled) -> None:
    app.forge.script({"match": {"operation": "app.token"}, "fault": "status", "with": {"code": 401}})
    with pytest.raises(ForgeRefused) as refused:
        app.client.create_comment(Subject(1), "text", WRITE)
    assert refused.value.status == 401
