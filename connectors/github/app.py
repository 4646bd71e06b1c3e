"""An app of GitHub instead of a token: a signed claim buys a token of its installation, renewed before it grows old.

Tokens live in memory only, are told to the redactor, and are renewed before two thirds of their life, one renewal at a
time (connectors.md 17). Both ends of a claim and of a token are measured on the forge's clock.
"""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Protocol

from connectors.deadline import Deadline, Timekeeper
from connectors.errand import Errand, Purpose
from connectors.errors import ForgeRefused, Unreachable
from connectors.forge.records import Account
from connectors.github import mapping
from connectors.limiter.limiter import Limiter
from connectors.secrets import Redactor, Secret
from connectors.transport.client import Parts, Transport
from connectors.transport.exchanging import Setting
from connectors.transport.models import accept
from connectors.transport.request import CredentialMissing, Request

CLAIM_SECONDS = 300
CLAIM_BACKDATED = 60
RENEWED_AFTER = 0.6
"""Part of a token's life after which it is renewed, below two thirds."""
LEAST_SKEW = timedelta(seconds=30)
"""A difference of the clocks that may be why a claim was refused."""


class Installed(Protocol):
    """An app and where it is installed, as configured."""

    @property
    def app_id(self) -> int:
        """The app's id."""
        ...

    @property
    def installation(self) -> int:
        """The installation's id."""
        ...

    @property
    def key(self) -> Secret:
        """The app's private key, PEM."""
        ...


def credential_of(installed: Installed, setting: Setting, limiter: Limiter, parts: Parts) -> AppCredential:
    """The credential of an installation, with a transport of its own for the app's claims; ``limiter`` is that of the
    app's key."""
    claim = AppClaim(installed.app_id, installed.key, setting.clock)
    parts.redactor.add(installed.key)
    return AppCredential(installed.installation, claim, Transport(setting, claim, limiter, parts), parts.redactor)


class AppClaim:
    """The credential of the app itself: a signed claim that is made anew for each request."""

    def __init__(self, app_id: int, key: Secret, clock: Timekeeper) -> None:
        self._app_id = app_id
        self._key = key
        self._clock = clock
        self.skew = timedelta()
        """What is added to our clock to have the forge's."""

    @property
    def key(self) -> str:
        """The digest of the app's key."""
        return self._key.digest

    def authorise(self, deadline: Deadline) -> tuple[str, str]:
        """A claim for the next minutes. Raises ``CredentialMissing`` for a key that signs nothing."""
        import jwt

        now = int((self._clock.now() + self.skew).timestamp())
        claim = {"iat": now - CLAIM_BACKDATED, "exp": now + CLAIM_SECONDS, "iss": str(self._app_id)}
        try:
            return "authorization", "Bearer " + jwt.encode(claim, self._key.reveal(), algorithm="RS256")
        except (ValueError, TypeError, jwt.PyJWTError) as error:
            raise CredentialMissing("the app's key is no RSA key in PEM form") from error


class AppCredential:
    """The credential of one installation. ``transport`` sends with the app's claim."""

    def __init__(self, installation: int, claim: AppClaim, transport: Transport, redactor: Redactor) -> None:
        self._installation = installation
        self._claim = claim
        self._transport = transport
        self._redactor = redactor
        self._lock = threading.Lock()
        self._token: Secret | None = None
        self._renew_at = 0.0
        self._ends_at = 0.0
        self._account: Account | None = None

    @property
    def key(self) -> str:
        """The same for all tokens of the installation."""
        return Secret(f"{self._claim.key}/{self._installation}").digest

    def authorise(self, deadline: Deadline) -> tuple[str, str]:
        """The installation's token. Raises ``ForgeError`` when there is none and none can be had."""
        clock = deadline.clock
        if self._token is None or clock.monotonic() >= self._renew_at:
            self._renew(deadline)
        assert self._token is not None
        return "authorization", "Bearer " + self._token.reveal()

    def close(self) -> None:
        """Close the claims' idle connections."""
        self._transport.close()

    def account(self, errand: Errand) -> Account:
        """The app's bot, as it signs what it writes."""
        if self._account is None:
            answer = self._transport.read(errand, Request("GET", "/app"))
            found = accept(answer, mapping.APP, errand)
            self._account = Account(f"{found.slug}[bot]", str(found.id), "bot")
        return self._account

    def _renew(self, deadline: Deadline) -> None:
        """A new token; whoever comes meanwhile waits for it, and takes the old one where it still serves."""
        if not self._lock.acquire(timeout=deadline.remaining()):
            raise Unreachable("The app's token was not renewed in time.", "Look at the forge and the app's rights.")
        try:
            if self._token is not None and deadline.clock.monotonic() < self._renew_at:
                return
            self._buy(deadline)
        except Unreachable:
            if self._token is None or deadline.clock.monotonic() >= self._ends_at:
                raise
        finally:
            self._lock.release()

    def _buy(self, deadline: Deadline) -> None:
        errand = Errand(Purpose.SETTLE, deadline=max(deadline.remaining(), 0.001))
        began = deadline.clock.monotonic()
        request = Request("POST", f"/app/installations/{self._installation}/access_tokens", body={}, asks=True)
        try:
            answer = self._transport.read(errand, request)
        except ForgeRefused as error:
            skew = self._transport.skew
            if error.status != 401 or abs(skew - self._claim.skew) < LEAST_SKEW:
                raise
            self._claim.skew = skew
            answer = self._transport.read(errand, request)
        found = accept(answer, mapping.TOKEN, errand)
        token = Secret(found.token)
        self._redactor.add(token)
        date = answer.date or deadline.clock.now()
        life = max(0.0, (found.expires_at - date).total_seconds())
        self._token, self._renew_at, self._ends_at = token, began + life * RENEWED_AFTER, began + life
