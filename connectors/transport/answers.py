"""What an answer means: kind by the status table, error envelope, throttle, budget (connectors.md 12 and 13).

Pure and total: every status has a kind, and no envelope that cannot be read hides the status. Nothing is decided from
an error's text, except by the one table ``THROTTLE_TEXTS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from connectors.answer import MESSAGE_CHARACTERS, AnswerError, AnswerKind
from connectors.limiter.decisions import Facts
from connectors.transport.request import Answer, BodyUnreadable, http_date

SUCCESSES = frozenset({200, 201, 203, 204, 205})

STATUSES: Mapping[int, AnswerKind] = MappingProxyType(
    {
        202: AnswerKind.PENDING,
        400: AnswerKind.INVALID,
        401: AnswerKind.UNAUTHORISED,
        402: AnswerKind.FORBIDDEN,
        403: AnswerKind.FORBIDDEN,
        404: AnswerKind.NOT_FOUND_OR_HIDDEN,
        408: AnswerKind.LOST,
        409: AnswerKind.CONFLICT,
        410: AnswerKind.GONE,
        412: AnswerKind.PRECONDITION,
        422: AnswerKind.INVALID,
        423: AnswerKind.ARCHIVED_OR_LOCKED,
        429: AnswerKind.THROTTLED,
        451: AnswerKind.UNAVAILABLE_FOR_LEGAL_REASONS,
    }
)
"""Statuses with a kind of their own; ``kind_of`` answers for all others by their hundred."""

THROTTLE_TEXTS = ("secondary rate limit", "abuse detection")
"""The only texts of a forge that decide anything: a 403 that says one of these is a throttle."""

GRAPHQL_THROTTLES = frozenset({"RATE_LIMITED", "RATE_LIMIT", "graphql_rate_limit"})
"""Types and codes of a GraphQL error that mean a throttle."""

UNREADABLE_WAIT = 60.0
LONGEST_WAIT = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Dress:
    """How one kind of forge names its limits; empty where it does not tell."""

    remaining: str = ""
    limit: str = ""
    reset: str = ""
    resource: str = ""
    request_id: str = "x-request-id"


DRESSES: Mapping[str, Dress] = MappingProxyType(
    {
        "github": Dress(
            "x-ratelimit-remaining",
            "x-ratelimit-limit",
            "x-ratelimit-reset",
            "x-ratelimit-resource",
            "x-github-request-id",
        ),
        "gitlab": Dress("ratelimit-remaining", "ratelimit-limit", "ratelimit-reset"),
        "forgejo": Dress(),
    }
)


def kind_of(status: int) -> AnswerKind | None:
    """What a status means to a mutation, None for success."""
    if status in SUCCESSES:
        return None
    if status in STATUSES:
        return STATUSES[status]
    by_hundred = {3: AnswerKind.MOVED, 4: AnswerKind.REFUSED}
    return by_hundred.get(status // 100, AnswerKind.LOST)


def judged(answer: Answer, kind: str, now: datetime, *, graphql: bool = False) -> AnswerError | None:
    """What is wrong with an answer, None for a success. ``kind`` is the forge's; ``now`` by our clock."""
    found = kind_of(answer.status)
    code, message = envelope(answer) if found is not None or graphql else ("", "")
    if found is None and graphql:
        found = _graphql(answer)
        if found is None:
            return None
    if found is None:
        return None
    if _is_throttle(answer, kind, message, found, code):
        found = AnswerKind.THROTTLED
    return AnswerError(
        kind=found,
        status=answer.status,
        code=code,
        message=message[:MESSAGE_CHARACTERS],
        retry_at=retry_at(answer, kind, now) if found is AnswerKind.THROTTLED else None,
        request_id=answer.headers.get(DRESSES[kind].request_id, ""),
        where=answer.headers.get("location", "") if found is AnswerKind.MOVED else "",
    )


def facts(answer: Answer, kind: str, now: datetime, resource: str) -> Facts:
    """What an answer tells about a budget."""
    dress = DRESSES[kind]
    remaining, limit = (_number(answer.headers.get(name, "")) for name in (dress.remaining, dress.limit))
    named = answer.headers.get(dress.resource, "") or resource
    return Facts(named, remaining, limit, _reset_at(answer, dress, now))


def retry_at(answer: Answer, kind: str, now: datetime) -> datetime | None:
    """When a throttled call may be made again, by our clock; None when the forge does not say."""
    asked = answer.headers.get("retry-after", "")
    if asked:
        return now + timedelta(seconds=_bounded(_distance(asked, answer, now)))
    dress = DRESSES[kind]
    reset = answer.headers.get(dress.reset, "")
    if reset and answer.headers.get(dress.remaining, "").strip() == "0":
        epoch = _number(reset)
        return now + timedelta(seconds=_bounded(None if epoch is None else _from_date(epoch, answer, now)))
    return None


def envelope(answer: Answer) -> tuple[str, str]:
    """(code, message) of whatever a forge or a proxy before it sent; never raises."""
    text_like = answer.content_type in ("text/plain", "nothing")
    try:
        document = answer.json()
    except BodyUnreadable:
        if text_like and answer.body:
            return "", answer.body[: MESSAGE_CHARACTERS * 4].decode("utf-8", "replace").strip()
        return "", f"unreadable {answer.content_type}, {len(answer.body)} bytes" if answer.body else ""
    if not isinstance(document, Mapping):
        return "", f"unreadable {answer.content_type}, {len(answer.body)} bytes"
    return _code(document), _message(document)


def _message(document: Mapping[str, object]) -> str:
    parts = []
    for key in ("message", "error_description", "error"):
        if document.get(key):
            parts.append(_flat(document[key]))
            break
    if document.get("errors"):
        parts.append(_flat(document["errors"]))
    return ": ".join(part for part in parts if part)


def _flat(value: object) -> str:
    """A message that is a text, a list or an object of such, as one line."""
    if isinstance(value, Mapping):
        if isinstance(value.get("message"), str):
            return str(value["message"])
        told = [f"{key} {_flat(each)}" for key, each in value.items() if key not in ("documentation_url", "locations")]
        return ", ".join(told)
    if isinstance(value, list):
        return "; ".join(_flat(each) for each in value)
    return str(value)


def _code(document: Mapping[str, object]) -> str:
    errors = document.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    if isinstance(first, Mapping):
        for key in ("type", "code"):
            if isinstance(first.get(key), str):
                return str(first[key])
        extensions = first.get("extensions")
        if isinstance(extensions, Mapping) and isinstance(extensions.get("code"), str):
            return str(extensions["code"])
    error = document.get("error")
    return error if isinstance(error, str) and " " not in error else ""


def _graphql(answer: Answer) -> AnswerKind | None:
    """A GraphQL document inside a success: errors without data were refused, errors beside data tell nothing whole."""
    try:
        document = answer.json()
    except BodyUnreadable:
        return AnswerKind.LOST
    if not isinstance(document, Mapping):
        return AnswerKind.LOST
    errors, data = document.get("errors"), document.get("data")
    if not errors:
        return None if isinstance(data, Mapping) else AnswerKind.LOST
    has_data = isinstance(data, Mapping) and any(value is not None for value in data.values())
    return AnswerKind.LOST if has_data else AnswerKind.REFUSED


def _is_throttle(answer: Answer, kind: str, message: str, found: AnswerKind, code: str) -> bool:
    if answer.status == 429:
        return True
    if answer.status == 403:
        used_up = answer.headers.get(DRESSES[kind].remaining, "").strip() == "0"
        told = any(text in message.lower() for text in THROTTLE_TEXTS)
        return "retry-after" in answer.headers or used_up or told
    graphql = answer.status == 200 and found in (AnswerKind.REFUSED, AnswerKind.LOST)
    return graphql and (code in GRAPHQL_THROTTLES or any(text in message.lower() for text in THROTTLE_TEXTS))


def _distance(asked: str, answer: Answer, now: datetime) -> float | None:
    """Seconds that ``Retry-After`` asks for, None when it cannot be read."""
    try:
        return float(int(asked.strip()))
    except ValueError:
        date = http_date(asked)
        return None if date is None else _from_date(date.timestamp(), answer, now)


def _from_date(epoch: float, answer: Answer, now: datetime) -> float:
    """Seconds from the answer's own time to an instant of the forge's clock."""
    return epoch - (answer.date or now).timestamp()


def _bounded(seconds: float | None) -> float:
    if seconds is None or seconds < 0:
        return UNREADABLE_WAIT
    return min(seconds, LONGEST_WAIT)


def _reset_at(answer: Answer, dress: Dress, now: datetime) -> datetime | None:
    epoch = _number(answer.headers.get(dress.reset, ""))
    if epoch is None:
        return None
    return (now + timedelta(seconds=_bounded(_from_date(epoch, answer, now)))).astimezone(UTC)


def _number(text: str) -> int | None:
    try:
        return max(0, int(text.strip()))
    except ValueError:
        return None
