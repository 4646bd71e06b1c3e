"""Running one operation of the catalogue over a forge's client, and asking what became of one (connectors.md 7 to 10).

Called by ``dispatcher/remote``. Which request an operation makes, and which read decides a lost answer, stands in
``reads``, ``issue_changes`` and ``code_changes``; whether it may be sent, and sent again, is for ``effects.guard``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from connectors.catalogue.operations import NAMES
from connectors.catalogue.params import Params
from connectors.effects.guard import Change, Conflict, Done, Effect, Guard, Row
from connectors.errand import Errand
from connectors.errors import BadCard, ConnectorError
from connectors.forge.code_changes import CHANGES
from connectors.forge.desk import Desk
from connectors.forge.reads import READS

REPOSITORY = "repo"


class BadParameters(BadCard):
    """The operation's parameters cannot be used."""

    code = "bad_parameters"


@dataclass(frozen=True, slots=True)
class Made:
    """A probe's answer: the call was made, and this is what it answers. ``note`` names duplicates."""

    response: Mapping[str, object]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Unmade:
    """A complete read shows that it is not as wanted, and a repeat is safe."""

    why: str


@dataclass(frozen=True, slots=True)
class Unseen:
    """Nothing was found, which proves nothing; or somebody else decided meanwhile: ``why``."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Unread:
    """The forge could not be asked."""

    why: str


def parameters(operation: str, given: Mapping[str, object], *, bound: bool) -> Params:
    """The parameters as the operation's model. ``bound``: the connection has a repository of its own.

    Raises ``BadParameters``, which names the first field that does not fit.
    """
    entry = NAMES[operation][1]
    try:
        params = entry.params.model_validate(dict(given))
    except ValidationError as problem:
        first = problem.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the parameters"
        raise BadParameters(f"{operation}: the parameter {where} does not fit: {first['msg']}") from None
    if bound and params.repo is not None:
        raise BadParameters(f"{operation}: the connection has its repository; the parameter repo is not taken")
    if not bound and params.repo is None:
        raise BadParameters(f"{operation}: the connection is bound to no repository; the parameter repo is missing")
    return params


def run(operation: str, desk: Desk, guard: Guard, row: Row, call: Call) -> dict[str, Any]:
    """Make the call; its result as plain JSON values. Raises what ``Guard.carry_out`` and reads raise."""
    entry = NAMES[operation][1]
    if entry.effect is Effect.READ:
        result: Any = READS[entry.suffix](desk)
    else:
        change = CHANGES[entry.suffix](desk)
        result = guard.carry_out(change, row, call.errand, call.seconds)
    return dumped(result)


@dataclass(frozen=True, slots=True)
class Call:
    """How a call is made: each request by ``errand``, all tries within ``seconds``."""

    errand: Errand
    seconds: float


def probe(operation: str, desk: Desk) -> Made | Unmade | Unseen | Unread:
    """What the forge shows of a call whose answer was lost; raises nothing of the forge's."""
    forge, entry = NAMES[operation]
    try:
        change = CHANGES[entry.suffix](desk)
    except ConnectorError as error:
        return Unread(error.message)
    return looked(change, desk, entry.effect_on(forge))


def looked(change: Change[Any], desk: Desk, effect: Effect) -> Made | Unmade | Unseen | Unread:
    """What the read of a change says; a change that somebody else decided meanwhile is for a person."""
    if change.look is None:
        return Unseen("this operation cannot be looked up")
    try:
        seen = change.look(desk.errand)
    except ConnectorError as error:
        return Unread(error.message)
    if isinstance(seen, Done):
        return Made(dumped(seen.result), seen.note)
    if isinstance(seen, Conflict):
        return Unseen(seen.why)
    return Unseen() if effect is Effect.AMBIGUOUS else Unmade("read back: it is not as wanted")


def dumped(result: Any) -> dict[str, Any]:
    """A result as plain JSON values; what is absent is left out."""
    made: dict[str, Any] = result.model_dump(mode="json", exclude_none=True)
    return made
