"""``Transport``: everything that one connection sends, and what became of it (connectors.md 11 to 14).

``mutate`` sends once and answers, or raises ``NotSent``, ``AmbiguousEffect``, ``RateLimited``, ``ForgeRefused``,
``EffectPending``. ``read`` repeats, follows redirects of its own origin by hand and reuses what the forge says is
unchanged; it raises ``RateLimited``, ``ForgeRefused``, ``Unreachable``. Used by the forges' clients and by nobody else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from connectors.answer import AnswerError, AnswerKind, Proof, StopReason, WireRecord
from connectors.deadline import Deadline, Timekeeper
from connectors.errand import Errand
from connectors.errors import (
    AmbiguousEffect,
    EffectMissing,
    EffectPending,
    Evidence,
    ForgeError,
    ForgeRefused,
    NotSent,
    RateLimited,
    Unreachable,
    Unsupported,
    when,
)
from connectors.limiter.limiter import Limiter
from connectors.observer import Observer, Silent
from connectors.secrets import Redactor, Secret
from connectors.transport import answers
from connectors.transport.exchanging import Exchanger, Setting
from connectors.transport.reading import Lent, Reader
from connectors.transport.request import Answer, CredentialMissing, Request
from connectors.transport.validators import NoValidators, Validators
from connectors.transport.verdicts import judge

Broken = Callable[[Errand, Request, Exception, WireRecord], ForgeError]
"""Makes of an exception what its caller raises."""


class Credential(Protocol):
    """What a request is signed with."""

    @property
    def key(self) -> str:
        """A digest that names the credential and stays while its tokens are renewed."""
        ...

    def authorise(self, deadline: Deadline) -> tuple[str, str]:
        """Header and value. Raises ``ForgeError`` when the credential must be renewed and cannot be."""
        ...


class TokenCredential:
    """A token in a header: ``Authorization: Bearer …`` unless the forge wants it elsewhere."""

    def __init__(self, secret: Secret, header: str = "authorization", prefix: str = "Bearer ") -> None:
        self._secret = secret
        self._header = header
        self._prefix = prefix

    @property
    def key(self) -> str:
        """The secret's digest."""
        return self._secret.digest

    def authorise(self, deadline: Deadline) -> tuple[str, str]:
        """The header as configured."""
        return self._header, self._prefix + self._secret.reveal()


@dataclass(frozen=True, slots=True)
class Parts:
    """What a transport is made with besides its target. Deadlines in seconds; ``headers`` go with every request."""

    kind: str
    headers: Mapping[str, str] = field(default_factory=dict)
    read_deadline: float = 30.0
    write_deadline: float = 60.0
    observer: Observer = field(default_factory=Silent)
    redactor: Redactor = field(default_factory=Redactor)
    validators: Validators = field(default_factory=NoValidators)


class Transport:
    """The one way to a forge. Safe to share between threads."""

    def __init__(self, setting: Setting, credential: Credential, limiter: Limiter, parts: Parts) -> None:
        self._exchanger = Exchanger(setting)
        self._credential = credential
        self._limiter = limiter
        self._clock: Timekeeper = setting.clock
        self.skew = timedelta()
        """What is added to our clock to have the forge's, by its last answer."""
        self._reader = Reader(self._exchanger.origin, setting.clock, parts.validators, credential.key)
        self.parts = parts

    @property
    def pace(self) -> Limiter:
        """The limiter of the credential, for writes to wait at."""
        return self._limiter

    @property
    def clock(self) -> Timekeeper:
        """Whose time holds."""
        return self._clock

    @property
    def origin(self) -> str:
        """Scheme, host and port of the base address."""
        return self._exchanger.origin.text

    @property
    def credential_key(self) -> str:
        """The digest that names the credential."""
        return self._credential.key

    def close(self) -> None:
        """Close idle connections."""
        self._exchanger.close()

    def deadline_of(self, errand: Errand) -> Deadline:
        """The errand's own, else the connection's for reads or for writes; reads end with their caller's time."""
        usual = self.parts.write_deadline if errand.effect_id else self.parts.read_deadline
        made = Deadline.after(self._clock, errand.deadline or usual)
        return made if errand.effect_id else made.bounded()

    def read(self, errand: Errand, request: Request) -> Answer:
        """Read, with all patience that the deadline allows. Raises ``EffectMissing`` for a request that could change
        something."""
        if not request.reads:
            raise EffectMissing(
                f"{request.method} {_path(request)} is no read.", "Nothing was sent. Changes go through ``mutate``."
            )
        deadline = self.deadline_of(errand)
        lent = Lent(
            attempt=lambda asked, until: self._once(errand, asked, until, self._broken_read),
            judged=self._judged,
            error=self._read_error,
        )
        with self._limiter.reading(errand.purpose, request.resource, deadline):
            answer = self._reader.read(lent, request, deadline, self.parts.headers)
        if request.method == "GET":
            result = "kept" if answer.kept else "fresh"
            self.parts.observer.count("pointsman_conditional_reads_total", result=result)
        return answer

    def mutate(self, errand: Errand, request: Request) -> Answer:
        """Send a change once. Raises ``EffectMissing`` before anything for an errand without an effect id."""
        if not errand.effect_id:
            raise EffectMissing(
                f"{request.method} {_path(request)} would change the forge and has no effect row.",
                "Nothing was sent. Changes go through the effects' guard.",
            )
        deadline = self.deadline_of(errand)
        with self._limiter.in_flight(deadline):
            answer = self._once(errand, request, deadline, self._broken_mutation)
        problem = self._judged(answer, request)
        if problem is None:
            return answer
        raise self._mutation_error(errand, request, problem, answer.wire)

    def _once(self, errand: Errand, request: Request, deadline: Deadline, broken: Broken) -> Answer:
        """One exchange, whatever the status. Raises what ``broken`` makes of an exception, in its light of the wire."""
        wire = WireRecord()
        try:
            headers = self._headers(deadline)
            with self._exchanger.exchange(errand, deadline) as exchange:
                try:
                    answer = self._exchanger.send(exchange, request, headers)
                finally:
                    wire = exchange.record()
        except ForgeError:
            raise
        except Exception as error:
            self._count(errand, request, "none")
            raise broken(errand, request, error, wire) from error
        self._count(errand, request, str(answer.status))
        self.parts.observer.seconds(
            "pointsman_forge_request_seconds", wire.seconds, credential=self._limiter.key, purpose=errand.purpose.value
        )
        return answer

    def _broken_mutation(
        self, errand: Errand, request: Request, error: Exception, wire: WireRecord
    ) -> NotSent | AmbiguousEffect:
        proof = judge(error, wire)
        if proof is Proof.ADDRESS_REFUSED:
            self._address_refused(error)
        said = self.parts.redactor.clean(_said(error))
        what = f"{request.method} {_path(request)}"
        if proof is not None:
            evidence = Evidence(message=said, proof=proof.value, wire=wire.as_json())
            return NotSent(f"{what}: nothing was sent ({proof.value}): {said}.", _HINTS[proof], evidence=evidence)
        evidence = Evidence(kind=AnswerKind.LOST.value, status=wire.status, message=said, wire=wire.as_json())
        return AmbiguousEffect(
            f"{what}: the answer was lost ({wire.phase.word}): {said}.",
            "It may have been done. It is looked up; what is not found, a person settles.",
            effect_id=errand.effect_id,
            evidence=evidence,
        )

    def _mutation_error(self, errand: Errand, request: Request, problem: AnswerError, wire: WireRecord) -> ForgeError:
        evidence = self._evidence(problem, wire)
        what = f"{request.method} {_path(request)} was answered {problem.status}"
        text = f"{what}: {evidence.message}." if evidence.message else f"{what}."
        if problem.kind is AnswerKind.THROTTLED:
            return self._throttled(problem, evidence)
        if problem.kind is AnswerKind.PENDING:
            return EffectPending(text, "It is looked up until it is done.", evidence=evidence)
        if problem.kind in (AnswerKind.LOST, AnswerKind.MOVED):
            hint = "It may have been done. It is looked up; what is not found, a person settles."
            return AmbiguousEffect(text, hint, effect_id=errand.effect_id, evidence=evidence)
        return ForgeRefused(text, _REFUSALS.get(problem.kind, ""), status=problem.status, evidence=evidence)

    def _broken_read(self, errand: Errand, request: Request, error: Exception, wire: WireRecord) -> Unreachable:
        proof = judge(error, wire)
        if proof is Proof.ADDRESS_REFUSED:
            self._address_refused(error)
        said = self.parts.redactor.clean(_said(error))
        evidence = Evidence(
            kind=AnswerKind.LOST.value,
            status=wire.status,
            message=said,
            proof=proof.value if proof else "",
            wire=wire.as_json(),
        )
        return Unreachable(
            f"{request.method} {_path(request)} could not be read: {said}.",
            _HINTS[proof] if proof else "",
            evidence=evidence,
            stopped=self._exchanger.stop_reason(error),
        )

    def _read_error(self, request: Request, problem: AnswerError, wire: WireRecord) -> ForgeError:
        """What a read raises for an answer that is no success, once it is not repeated any more."""
        evidence = self._evidence(problem, wire)
        text = f"{request.method} {_path(request)} was answered {problem.status}"
        text = f"{text}: {evidence.message}." if evidence.message else f"{text}."
        if problem.kind is AnswerKind.THROTTLED:
            return self._throttled(problem, evidence)
        if problem.kind is AnswerKind.LOST:
            return Unreachable(text, "", evidence=evidence, stopped=StopReason.PAGE_FAILED)
        return ForgeRefused(text, _REFUSALS.get(problem.kind, ""), status=problem.status, evidence=evidence)

    def _judged(self, answer: Answer, request: Request) -> AnswerError | None:
        """What is wrong with an answer, None for a success; the budget that it tells is learned."""
        now = self._clock.now()
        if answer.date is not None:
            self.skew = answer.date - now
        problem = answers.judged(answer, self.parts.kind, now, graphql=request.resource == "graphql")
        if problem is None or problem.kind is not AnswerKind.THROTTLED:
            self._limiter.learn(answers.facts(answer, self.parts.kind, now, request.resource))
        if problem is None:
            self._limiter.accepted()
        elif problem.kind is AnswerKind.UNAUTHORISED:
            self._limiter.refused(problem.status)
        return problem

    def _evidence(self, problem: AnswerError, wire: WireRecord) -> Evidence:
        """An answer as rows keep it, without secrets."""
        return Evidence(
            kind=problem.kind.value,
            status=problem.status,
            code=problem.code,
            message=self.parts.redactor.clean(problem.message).rstrip("."),
            request_id=problem.request_id,
            where=self.parts.redactor.clean(problem.where),
            wire=wire.as_json(),
        )

    def _throttled(self, problem: AnswerError, evidence: Evidence) -> RateLimited:
        kind = "plain" if problem.status == 429 else "graphql" if problem.status == 200 else "secondary"
        until: datetime = self._limiter.throttle(problem.retry_at, kind)
        return RateLimited(
            f"The forge asks to wait until {when(until)}; nothing was done.",
            "Ask again then; a daemon does so by itself.",
            until=until,
            evidence=evidence,
        )

    def _headers(self, deadline: Deadline) -> Mapping[str, str]:
        try:
            name, value = self._credential.authorise(deadline)
        except (Unreachable, NotSent) as error:
            raise CredentialMissing(error.message) from error
        return {**self.parts.headers, name: value}

    def _count(self, errand: Errand, request: Request, status: str) -> None:
        self.parts.observer.count(
            "pointsman_forge_requests_total",
            credential=self._limiter.key,
            purpose=errand.purpose.value,
            method=request.method,
            status=status,
        )

    def _address_refused(self, error: Exception) -> None:
        self.parts.observer.count("pointsman_address_refused_total")
        self.parts.observer.event("address.refused", "warning", origin=self.origin, why=str(error))


def guarded(transport: object) -> Transport:
    """The transport itself; a connector that got another client refuses to start (connectors.md 16)."""
    if not isinstance(transport, Transport):
        raise Unsupported(
            f"A connector was given {type(transport).__name__} to send with, not the guarded transport.",
            "Make it with connectors.transport.client.Transport.",
        )
    return transport


def _path(request: Request) -> str:
    return request.path.split("?", 1)[0]


def _said(error: Exception) -> str:
    """One line about an exception for people: its text without the system's number, or its kind when it has none."""
    return _NUMBER.sub("", " ".join(str(error).split())).rstrip(".") or type(error).__name__


_NUMBER = re.compile(r"\[Errno -?\d+\] ?")


_HINTS: Mapping[Proof, str] = {
    Proof.ADDRESS_REFUSED: "If it is meant to be reached, set allow_private for this connection in the configuration.",
    Proof.NOT_RESOLVED: "Check the host name and this machine's name service.",
    Proof.NOT_CONNECTED: "Check that the forge is up and that this machine may reach it.",
    Proof.TLS_NOT_ESTABLISHED: "Check the forge's certificate and those that this machine trusts (SSL_CERT_FILE).",
    Proof.NO_POOL_SLOT: "All connections were busy; it is tried again.",
    Proof.NOT_SERIALISABLE: "Check the token for blanks and line ends, and the text for characters that are none.",
    Proof.TUNNEL_REFUSED: "Check the proxy of this connection: it refused to go there.",
    Proof.UNUSABLE_ADDRESS: "Check the url of this connection.",
    Proof.NO_CREDENTIAL: "Check the app's id, installation and key, and that the forge is up.",
}
"""What to do about each proof; a test proves it total."""

_REFUSALS: Mapping[AnswerKind, str] = {
    AnswerKind.UNAUTHORISED: "Check the token of this connection.",
    AnswerKind.FORBIDDEN: "Check the rights of the token: pointsman doctor names those that are needed.",
    AnswerKind.NOT_FOUND_OR_HIDDEN: "It does not exist, or the token may not see it.",
    AnswerKind.ARCHIVED_OR_LOCKED: "The repository is archived, or the object is locked.",
}
