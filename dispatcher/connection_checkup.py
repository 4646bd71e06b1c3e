"""What ``pointsman doctor`` asks of one connection: name, address, TLS, account, rights, clock (connectors.md 22).

Called by ``forge_checkup``; reads only. A connection that cannot be reached is looked at no further.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from config.boards import BoardSettings
from config.settings import Settings
from connectors.answer import Proof
from connectors.errand import Errand, Purpose
from connectors.errors import ConnectorError, ForgeError, ForgeRefused, RateLimited
from connectors.forge.client import ForgeClient
from connectors.forge.records import Account, Missing, Repository
from connectors.transport.address import AddressGuard, AddressRefused
from connectors.transport.network import system_resolver
from dispatcher.findings import Finding, failed, passed, warned
from dispatcher.forges import PUBLIC, Connected, Forges
from dispatcher.rights import judged, needs, unwritable

DOCTOR = Errand(Purpose.DOCTOR)
CLOCK_SLACK = 30.0
"""Seconds that the forge's clock may differ from ours."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One connection under examination."""

    name: str
    settings: Settings
    given: Connected
    client: ForgeClient
    now: Callable[[], datetime]


def examine(forges: Forges, name: str, settings: Settings) -> Generator[Finding, None, bool]:
    """The checks in order; whether the connection's repository could be read."""
    given = forges.connection(name)
    fault = yield from _reachable(name, given)
    if fault:
        return False
    try:
        visit = Visit(name, settings, given, forges.client(name), forges.world.clock.now)
    except ConnectorError as error:
        yield failed("conn.identity", f"{name}: {error.message}", error.hint)
        return False
    account = yield from _identity(visit, forges)
    if account is None:
        return False
    repository = (yield from _repository(visit)) if given.repo else None
    if repository is not None:
        yield from _scopes(visit, account, repository)
        yield _clock(visit, repository)
    yield _limit(visit, forges)
    return repository is not None


def _reachable(name: str, given: Connected) -> Generator[Finding, None, bool]:
    """Name and address; whether one of them keeps us from connecting."""
    url = given.proxy or given.url or PUBLIC[given.kind]
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
    try:
        addresses = system_resolver(host, port)
    except (OSError, UnicodeError) as error:
        yield failed("conn.resolve", f"{name}: {host} does not resolve: {error}", "Mend `url`, or the name service.")
        return True
    yield passed("conn.resolve", f"{name}: {host} is {', '.join(addresses[:3])}")
    try:
        AddressGuard.of(given.allow_private).check(host, addresses, plain=parts.scheme == "http")
    except AddressRefused as error:
        hint = "If it is meant to be reached, list its network in this connection's allow_private."
        yield failed("conn.address", f"{name}: refused: {error}", hint)
        return True
    told = f"allow_private is {given.allow_private}" if given.allow_private else "public addresses only"
    via = "; the proxy alone filters where calls go" if given.proxy else ""
    yield passed("conn.address", f"{name}: {told}{via}")
    return False


def _identity(visit: Visit, forges: Forges) -> Generator[Finding, None, Account | None]:
    """TLS and account, which one call shows; None when it failed."""
    name, secure = visit.name, (visit.given.url or PUBLIC[visit.given.kind]).startswith("https")
    tls = passed("conn.tls", f"{name}: the certificate is trusted" if secure else f"{name}: http, without TLS")
    try:
        account = visit.client.whoami(DOCTOR)
    except RateLimited as error:
        yield tls
        hint = f"{error.hint.rstrip('.')}; nothing else was looked at until then."
        yield warned("conn.limit", f"{name}: {error.message}", hint)
        return None
    except ForgeRefused as error:
        yield tls
        hint = f"Look at `url`: is it the address of {visit.given.kind}, as docs/forges.md has it?"
        if error.status in (401, 403):
            hint = "Give the connection a token that is valid."
        yield failed("conn.identity", f"{name}: {error.message}", hint)
        return None
    except ForgeError as error:
        broken = error.evidence.proof == Proof.TLS_NOT_ESTABLISHED
        yield failed("conn.tls" if broken else "conn.identity", f"{name}: {error.message}", error.hint)
        return None
    yield tls
    yield _account(visit, account, forges.limiter(name).key[-4:])
    return account


def _account(visit: Visit, account: Account, digest: str) -> Finding:
    """Who acts, by what kind of token; a person's own account makes comments of both look alike."""
    if visit.given.app is not None and visit.given.token is None:
        kind = "an app's installation"
    elif account.rights is None:
        kind = "a token that tells no scopes"
    else:
        kind = f"a token with the scopes {', '.join(account.rights) or 'none'}"
    text = f"{visit.name}: acts as {account.login}, by {kind} (…{digest})"
    trusted = visit.given.trust.who if isinstance(visit.given, BoardSettings) else ()
    people = {*(trusted if isinstance(trusted, tuple) else ()), (visit.given.repo or "").split("/")[0]}
    if account.login.casefold() in {each.casefold() for each in people}:
        hint = "Use an account of its own: what a person and what the machine does cannot be told apart now."
        return warned("conn.identity", f"{text}, who is a person of this repository", hint)
    return passed("conn.identity", text)


def _repository(visit: Visit) -> Generator[Finding, None, Repository | None]:
    repo = visit.given.repo
    try:
        found = visit.client.repository(DOCTOR)
    except ForgeError as error:
        yield failed("conn.scopes", f"{visit.name}: read: {error.message}", error.hint)
        return None
    if isinstance(found, Missing):
        where = f"; it moved to {found.moved_to}" if found.moved_to else ""
        text = f"{visit.name}: read: {repo} is not there for this token{where}"
        yield failed("conn.scopes", text, "Mend `repo`, or give the token the right to see it.")
        return None
    if found.moved_to:
        hint = f"Set repo: {found.moved_to}; nothing is written until then."
        yield failed("conn.scopes", f"{visit.name}: read: {repo} moved to {found.moved_to}", hint)
        return None
    return found


def _scopes(visit: Visit, account: Account, repository: Repository) -> Iterator[Finding]:
    """One line for each right that the configuration needs."""
    for need in needs(visit.settings, visit.given):
        why = judged(need, visit.client, account, repository)
        if why:
            hint = unwritable(repository) or need.remedy(visit.client.kind)
            yield failed("conn.scopes", f"{visit.name}: {need.right}: {why}", hint)
        else:
            yield passed("conn.scopes", f"{visit.name}: {need.right}: held, {need.purpose}")


def _clock(visit: Visit, repository: Repository) -> Finding:
    if repository.date is None:
        return warned("conn.clock", f"{visit.name}: the forge tells no time", "Look whether a proxy drops `Date`.")
    off = (visit.now() - repository.date).total_seconds()
    if abs(off) > CLOCK_SLACK:
        hint = "Set the clock of this host right; claims and waits are judged by the forge's time."
        return warned("conn.clock", f"{visit.name}: this host's clock is {off:+.0f} s off the forge's", hint)
    return passed("conn.clock", f"{visit.name}: this host's clock is {abs(off):.0f} s off the forge's")


def _limit(visit: Visit, forges: Forges) -> Finding:
    """What is left of the credential's budget, and who spent it."""
    limiter = forges.limiter(visit.name)
    budget, until = limiter.budget(), limiter.blocked_until()
    spent = ", ".join(f"{key} {calls}" for key, calls in sorted(limiter.usage().items(), key=lambda each: -each[1])[:4])
    by = f"; spent by {spent}" if spent else ""
    if until is not None:
        return warned("conn.limit", f"{visit.name}: the forge asked to wait until {until:%H:%M:%S} UTC", "It goes on.")
    if budget is None:
        return passed("conn.limit", f"{visit.name}: the forge tells no limit{by}")
    reset = f", new at {budget.reset_at:%H:%M} UTC" if budget.reset_at else ""
    text = f"{visit.name}: {budget.remaining} of {budget.limit} calls are left{reset}{by}"
    if budget.low:
        return warned("conn.limit", text, "Only running cards are read now; give the daemon a token of its own.")
    return passed("conn.limit", text)
