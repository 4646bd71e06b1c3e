"""The one door to PyGithub, on a connection class of ours: the library words requests, our transport sends them.

The library repeats nothing (``retry=None``), pauses nothing (both intervals 0), asks for nothing by itself (``lazy``),
follows nothing and sees successes only: whatever else came raises our own exceptions from inside it, with the verdict
of the one table (connectors.md 11 and 20). It takes connection classes for the whole process; ``Library`` puts ours in
while it makes its own objects, which keep it, and takes it out again, so that others who use the library here are left
alone. Nothing in this room hands the library an address of another host.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar
from urllib.parse import urlsplit

from github import Github
from github.Consts import DEFAULT_BASE_URL
from github.GithubException import GithubException
from github.GithubObject import NotSet, Opt
from github.Repository import Repository
from github.Requester import Requester

from connectors.answer import AnswerKind, Proof, StopReason
from connectors.errand import Errand
from connectors.errors import AmbiguousEffect, ConnectorError, EffectMissing, Evidence, NotSent, Unreachable
from connectors.transport.client import Transport
from connectors.transport.request import Answer, Request

API_VERSION = "2022-11-28"
USER_AGENT = "pointsman"
_LEFT_OUT = frozenset({"authorization", "user-agent", "content-type", "content-length", "host"})
"""Headers of the library that the transport gives by itself."""


class Seen:
    """What one errand's request brought, for whoever asked: the answer, None while there is none."""

    def __init__(self, errand: Errand) -> None:
        self.errand = errand
        self._answer: Answer | None = None

    @property
    def answer(self) -> Answer:
        """The answer. Raises ``LookupError`` when the library asked for nothing."""
        if self._answer is None:
            raise LookupError("the library sent no request")
        return self._answer

    @property
    def was_sent(self) -> bool:
        """Whether a request was answered."""
        return self._answer is not None

    def take(self, answer: Answer) -> None:
        """Note the answer."""
        self._answer = answer


_ERRAND: ContextVar[Seen | None] = ContextVar("errand", default=None)


class Answered:
    """An answer in the shape that the library reads."""

    def __init__(self, answer: Answer) -> None:
        self.status = answer.status
        self._answer = answer

    def getheaders(self) -> list[tuple[str, str]]:
        """Names and values."""
        return list(self._answer.headers.items())

    def read(self) -> str:
        """The body as text."""
        return self._answer.body.decode("utf-8", "replace")


class Connection:
    """What the library takes for its connection: remembers one request per thread and sends it through a transport."""

    transport: ClassVar[Transport]

    def __init__(self, host: str, port: int | None = None, *_: object, **__: object) -> None:
        self.host = host
        self.port = port
        self._asked = threading.local()

    def request(self, verb: str, url: str, given: Any, headers: Mapping[str, str], stream: bool = False) -> None:
        """Remember what is to be sent."""
        told = {name: value for name, value in headers.items() if name.lower() not in _LEFT_OUT}
        body = None if given is None else json.loads(given)
        graphql = urlsplit(url).path.endswith("/graphql")
        resource = "graphql" if graphql else "core"
        self._asked.request = Request(verb, self.transport.origin + url, headers=told, body=body, resource=resource)

    def getresponse(self) -> Answered:
        """Send it. Raises our own exceptions for everything but a success."""
        seen = _ERRAND.get()
        if seen is None:
            raise EffectMissing("The library wanted to send a request that nobody asked for.", "Nothing was sent.")
        request: Request = self._asked.request
        if seen.errand.effect_id:
            if seen.was_sent:
                raise EffectMissing("The library wanted to send a second request for one effect.", "It was not sent.")
            answer = self.transport.mutate(seen.errand, request)
        else:
            asks = request.resource == "graphql"
            asked = Request(request.method, request.path, (), request.headers, request.body, request.resource, asks)
            answer = self.transport.read(seen.errand, asked)
        seen.take(answer)
        return Answered(answer)

    def close(self) -> None:
        """Nothing: the transport is closed by its owner."""


_INJECTING = threading.Lock()


@contextmanager
def injected(transport: Transport) -> Iterator[None]:
    """Our connection class in the library, for as long as the objects of one connection are made."""
    ours: Any = type("TransportConnection", (Connection,), {"transport": transport})
    with _INJECTING:
        Requester.injectConnectionClasses(ours, ours)
        try:
            yield
        finally:
            Requester.resetConnectionClasses()


class Library:
    """PyGithub for one repository, sending through one transport."""

    def __init__(self, transport: Transport, base: str, repo: str) -> None:
        self._transport = transport
        self._base = base
        with injected(transport):
            self._github = Github(
                base_url=base,
                timeout=max(1, int(transport.parts.write_deadline)),
                user_agent=USER_AGENT,
                per_page=100,
                retry=None,
                seconds_between_requests=0,
                seconds_between_writes=0,
                lazy=True,
                api_version=API_VERSION,
            )
            self.repo: Repository = self._github.get_repo(repo)

    @property
    def requester(self) -> Requester:
        """What words requests for which the library has no method."""
        return self._github.requester

    @contextmanager
    def calling(self, errand: Errand) -> Iterator[Seen]:
        """One request of the library for one errand.

        What the library raises by itself becomes ours: before an answer nothing was sent; behind one, a change was
        performed and its result is unreadable.
        """
        seen = Seen(errand)
        token = _ERRAND.set(seen)
        try:
            yield seen
        except ConnectorError:
            raise
        except (
            GithubException,
            ArithmeticError,
            AssertionError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as e:
            raise _ours(e, seen) from e
        finally:
            _ERRAND.reset(token)

    def ask(self, errand: Errand, method: str, path: str, body: object = None) -> Answer:
        """One request below the repository's address for which the library has no method; ``path`` is encoded."""
        with self.calling(errand) as seen:
            self.requester.requestJsonAndCheck(method, self.repo.url + path, input=body)
        return seen.answer

    def graphql(self, errand: Errand, query: str, variables: Mapping[str, object]) -> Answer:
        """One GraphQL document."""
        with self.calling(errand) as seen:
            self.requester.graphql_query(query, dict(variables))
        return seen.answer

    def close(self) -> None:
        """Let go of the library's objects."""
        self._github.close()


def _ours(error: Exception, seen: Seen) -> ConnectorError:
    said = " ".join(str(error).split()) or type(error).__name__
    if not seen.was_sent:
        evidence = Evidence(message=said, proof=Proof.NOT_SERIALISABLE.value)
        return NotSent(f"The request could not be written: {said}.", "Nothing was sent.", evidence=evidence)
    wire = seen.answer.wire
    evidence = Evidence(kind=AnswerKind.LOST.value, status=wire.status, message=said, wire=wire.as_json())
    text = f"GitHub answered {wire.status}, and what it sent cannot be used: {said}."
    if not seen.errand.effect_id:
        return Unreachable(text, "", evidence=evidence, stopped=StopReason.DECODE)
    hint = "It was probably done. It is looked up; what is not found, a person settles."
    return AmbiguousEffect(text, hint, effect_id=seen.errand.effect_id, evidence=evidence)


def given(value: str | None) -> Opt[str]:
    """A value as the library takes it: what is None is left out of the request."""
    return NotSet if value is None else value


PUBLIC = DEFAULT_BASE_URL
"""The address of github.com's interface."""
