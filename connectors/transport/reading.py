"""Reads: repeated within their deadline, redirected by hand within their origin, answered from what is kept on a 304.

Used by ``client.Transport.read``, which lends its single exchange and its judgement (connectors.md 5, 13, 14).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from connectors.answer import AnswerError, AnswerKind, StopReason, WireRecord
from connectors.deadline import Deadline, Timekeeper
from connectors.errors import ForgeError, Unreachable
from connectors.transport.request import Answer, BodyUnreadable, Origin, Request, joined
from connectors.transport.validators import LARGEST_KEPT, Kept, Validators, key_of

PAUSES = (0.5, 1.0, 2.0)
"""Seconds before each repetition, each stretched or shortened by up to a quarter."""
SPREAD = 0.25
MOST_REDIRECTS = 3
FOLLOWED = frozenset({301, 302, 303, 307, 308})
FOR_GOOD = frozenset({301, 308})
FINAL = frozenset({StopReason.DEADLINE, StopReason.REFUSED, StopReason.DECODE})
"""Why an exchange failed in a way that another attempt would not change."""
_KEPT_HEADERS = ("content-type", "link", "etag", "x-total-count", "x-total-pages", "x-next-page")


@dataclass(frozen=True, slots=True)
class Lent:
    """What the transport lends: one exchange, what is wrong with an answer, and the error to raise for it."""

    attempt: Callable[[Request, Deadline], Answer]
    judged: Callable[[Answer, Request], AnswerError | None]
    error: Callable[[Request, AnswerError, WireRecord], ForgeError]


class Reader:
    """Reads of one connection."""

    def __init__(self, origin: Origin, clock: Timekeeper, validators: Validators, identity: str) -> None:
        self._origin = origin
        self._clock = clock
        self._validators = validators
        self._identity = identity

    def read(self, lent: Lent, request: Request, deadline: Deadline, headers: Mapping[str, str]) -> Answer:
        """The answer of a success, perhaps from another address of the same origin. Raises what ``lent`` says."""
        first, for_good = request, True
        for left in reversed(range(MOST_REDIRECTS + 1)):
            answer = self._current(lent, request, deadline, headers)
            problem = lent.judged(answer, request)
            if problem is None:
                moved = request is not first
                where = answer.url if moved else ""
                return replace(answer, moved_to=where, moved_for_good=moved and for_good)
            where = self._next_place(answer, problem, request)
            if not where or not left:
                raise lent.error(request, problem, answer.wire)
            for_good = for_good and answer.status in FOR_GOOD
            request = replace(request, path=where, query=())
        raise AssertionError("the last round answers or raises")

    def _next_place(self, answer: Answer, problem: AnswerError, request: Request) -> str:
        """Where a redirect leads, when it may be followed: same scheme, host and port, another address, and nothing
        but a plain GET."""
        followed = problem.kind is AnswerKind.MOVED and answer.status in FOLLOWED and request.method == "GET"
        if not followed or not problem.where:
            return ""
        where = joined(answer.url, problem.where)
        return where if self._origin.is_of(where) and where != answer.url else ""

    def _current(self, lent: Lent, request: Request, deadline: Deadline, headers: Mapping[str, str]) -> Answer:
        """The newest answer: what is kept, when the forge says that nothing changed."""
        if request.method != "GET":
            return self._repeated(lent, request, deadline)
        key = key_of(_address(request, self._origin), self._identity, {**headers, **request.headers})
        kept = self._validators.get(key)
        asked = replace(request, headers={**request.headers, **_conditions(kept)}) if kept else request
        answer = self._repeated(lent, asked, deadline)
        if answer.status == 304 and kept is not None:
            return replace(answer, status=200, headers={**answer.headers, **kept.headers}, body=kept.body, kept=True)
        if answer.status == 304:
            self._validators.drop(key)
        self._keep(key, answer)
        return answer

    def _keep(self, key: str, answer: Answer) -> None:
        etag, modified = answer.headers.get("etag", ""), answer.headers.get("last-modified", "")
        if answer.status == 200 and (etag or modified) and len(answer.body) <= LARGEST_KEPT and _is_readable(answer):
            headers = {name: answer.headers[name] for name in _KEPT_HEADERS if name in answer.headers}
            self._validators.put(key, Kept(etag, modified, answer.body, headers))

    def _repeated(self, lent: Lent, request: Request, deadline: Deadline) -> Answer:
        for pause in PAUSES:
            try:
                answer = lent.attempt(request, deadline)
            except Unreachable as error:
                if error.stopped in FINAL or not self._waited(pause, deadline):
                    raise
                continue
            if not _is_worth_repeating(answer) or not self._waited(pause, deadline):
                return answer
        return lent.attempt(request, deadline)

    def _waited(self, pause: float, deadline: Deadline) -> bool:
        """Whether there was time for a pause before another attempt."""
        # The last digits of the clock are as good as chance for keeping two readers apart.
        chance = self._clock.monotonic() * 997.0 % 1.0
        seconds = pause * (1 - SPREAD + 2 * SPREAD * chance)
        if seconds >= deadline.remaining():
            return False
        self._clock.wait(threading.Event(), seconds)
        return True


def _is_readable(answer: Answer) -> bool:
    """Whether the body is JSON: one that was spoilt on its way must not come back with each "unchanged"."""
    try:
        answer.json()
    except BodyUnreadable:
        return False
    return True


def _is_worth_repeating(answer: Answer) -> bool:
    return answer.status == 408 or answer.status >= 500


def _conditions(kept: Kept) -> Mapping[str, str]:
    if kept.etag:
        return {"if-none-match": kept.etag}
    return {"if-modified-since": kept.modified}


def _address(request: Request, origin: Origin) -> str:
    return f"{origin.text}{origin.prefix} {request.path} {request.query!r}"
