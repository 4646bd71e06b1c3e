"""Connections of the configuration as clients of forges, and boards over them. Made by ``wiring``, once per process.

The only place where secrets of the configuration become credentials. One limiter per credential, one client per
connection and repository; everything is made when it is asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from config.boards import AppSettings, BoardSettings, ColumnMapping, ConnectionSettings
from connectors.card import Column
from connectors.errors import Unsupported
from connectors.forge.client import ForgeClient, ProjectTarget, Target
from connectors.forge.columns import ColumnPlace
from connectors.limiter.limiter import Limiter, Limiters
from connectors.native.defaults import DEFAULT_COLUMNS
from connectors.observer import Observer
from connectors.posting import posting
from connectors.registry import AppIdentity, app_credential, client_class, client_headers
from connectors.secrets import Redactor, Secret, SecretTooShort
from connectors.transport.client import Credential, Parts, TokenCredential, Transport
from connectors.transport.exchanging import Setting
from connectors.transport.exchanging import Target as Place
from connectors.transport.validators import MemoryValidators
from dispatcher.secrecy import Where, remember
from engine.ports import Clock

if TYPE_CHECKING:
    from config.settings import Settings
    from connectors.limiter.state import LimiterStore

Connected = BoardSettings | ConnectionSettings
PUBLIC: Mapping[str, str] = {"github": "https://api.github.com", "gitlab": "https://gitlab.com"}
"""The address of a forge whose connection names none."""
HEADERS: Mapping[str, tuple[str, str]] = {
    "github": ("authorization", "Bearer "),
    "gitlab": ("private-token", ""),
    "forgejo": ("authorization", "token "),
}
"""Where each forge wants its token."""
READ_SECONDS, WRITE_SECONDS = 30.0, 60.0
_FLAGS = {column.name: column for column in DEFAULT_COLUMNS}


@dataclass(frozen=True, slots=True)
class ForgeWords:
    """Texts of one connection, made fit for its forge. Implements ``connectors.forge.desk.Words``."""

    kind: str
    allow_mentions: tuple[str, ...]
    redactor: Redactor
    observer: Observer
    run_id: str = ""

    def compose(self, text: str, marker: str = "", *, keep_closing: bool = False) -> str:
        """The text cleaned, neutralised, cut, with the marker as its last line."""
        where = posting.Posting(self.kind, self.allow_mentions, keep_closing, self.run_id)
        made = posting.compose(text, where, self.redactor, marker)
        if made.redacted:
            self.observer.event("effect.secret_redacted", "warning", forge=self.kind, places=made.redacted)
            self.observer.count("pointsman_redactions_total", made.redacted, where=Where.TEXT.value)
        return made.text

    def title(self, text: str) -> str:
        """A title of one line."""
        return posting.title(text, posting.Posting(self.kind, self.allow_mentions), self.redactor)


@dataclass(frozen=True, slots=True)
class World:
    """What all connections of a process share."""

    clock: Clock
    limits: LimiterStore
    observer: Observer
    redactor: Redactor = field(default_factory=Redactor)


class Forges:
    """Clients by connection. Safe to share between threads."""

    def __init__(self, settings: Settings, world: World) -> None:
        self.world = world
        self._settings = settings
        self._limiters = Limiters(world.limits, world.clock, world.observer)
        self._clients: dict[tuple[str, str], ForgeClient] = {}
        self._paces: dict[str, Limiter] = {}
        self._opened: list[Any] = []
        self._lock = threading.Lock()
        remember(world.redactor, settings)

    def connection(self, name: str) -> Connected:
        """A connection, or a board as one. Raises ``Unsupported``."""
        found: Connected | None = self._settings.connections.get(name)
        found = found or next((board for board in self._settings.boards if board.name == name), None)
        if found is None or found.kind == "native":
            text = f'There is no connection "{name}" to a forge.'
            raise Unsupported(text, "Configure it under `connections:`.")
        return found

    def client(self, name: str, repo: str = "") -> ForgeClient:
        """The client of a connection, for its repository or the one that is named. Raises ``Unsupported``."""
        settings = self.connection(name)
        path = repo or settings.repo or ""
        with self._lock:
            if (name, path) not in self._clients:
                self._clients[name, path] = self._made(name, settings, path)
            return self._clients[name, path]

    def limiter(self, name: str) -> Limiter:
        """The limits of a connection's credential. Raises ``Unsupported``."""
        self.client(name)
        return self._paces[name]

    def words(self, name: str, run_id: str = "") -> ForgeWords:
        """How texts are made fit for a connection."""
        settings = self.connection(name)
        return ForgeWords(settings.kind, settings.allow_mentions, self.world.redactor, self.world.observer, run_id)

    def seconds(self, name: str) -> float:
        """Seconds that all tries of one change take at most."""
        return self.connection(name).deadline or WRITE_SECONDS

    def connections_to(self, board: BoardSettings) -> frozenset[str]:
        """The names of all connections to the same repository."""
        every = {each.name: each for each in self._settings.boards} | dict(self._settings.connections)
        here = (board.kind, board.url, board.repo)
        return frozenset(name for name, each in every.items() if (each.kind, each.url, each.repo) == here)

    def close(self) -> None:
        """Close idle connections."""
        for each in self._opened:
            each.close()

    def setting(self, place: Place) -> Setting:
        """The world around one connection."""
        return Setting(place, self.world.clock)

    def transport(self, setting: Setting, credential: Credential, limiter: Limiter, parts: Parts) -> Transport:
        """What one connection sends with."""
        return Transport(setting, credential, limiter, parts)

    def _made(self, name: str, settings: Connected, repo: str) -> ForgeClient:
        address = settings.url or PUBLIC[settings.kind]
        place = Place(address, settings.allow_private, settings.proxy or "")
        setting, host = self.setting(place), urlsplit(address).netloc
        parts = Parts(
            settings.kind,
            headers=client_headers(settings.kind),
            read_deadline=settings.deadline or READ_SECONDS,
            write_deadline=settings.deadline or WRITE_SECONDS,
            observer=self.world.observer,
            redactor=self.world.redactor,
            validators=MemoryValidators(),
        )
        more: dict[str, object] = {"url": address} if settings.kind == "github" else {}
        if settings.app is not None and settings.token is None:
            credential: Credential = self._app(settings, settings.app, setting, parts)
            more["app"] = credential
            self._opened.append(credential)
        else:
            credential = _token(settings)
        limiter = self._limiters.of(settings.kind, host, credential.key, settings.writes_per_minute)
        self._paces[name] = limiter
        transport = self.transport(setting, credential, limiter, parts)
        self._opened.append(transport)
        given = settings.project
        project = ProjectTarget(given.owner, given.number, given.field) if given else None
        make: Callable[..., ForgeClient] = client_class(settings.kind)
        return make(transport, Target(repo, settings.max_pages, project), **more)

    def _app(self, settings: Connected, app: AppSettings, setting: Setting, parts: Parts) -> Credential:
        """The credential of an app's installation. Raises ``Unsupported`` where the forge has no apps."""
        key = _secret(app.key.get_secret_value(), "app.key")
        limiter = self._limiters.of(settings.kind, urlsplit(setting.target.url).netloc, key.digest)
        return app_credential(settings.kind, AppIdentity(app.id, app.installation, key), setting, limiter, parts)


def _token(settings: Connected) -> TokenCredential:
    header, prefix = HEADERS[settings.kind]
    if settings.token is None:
        raise Unsupported("The connection has neither token nor app.", "Give it a `token`.")
    return TokenCredential(_secret(settings.token.get_secret_value(), "token"), header, prefix)


def _secret(value: str, key: str) -> Secret:
    try:
        return Secret(value)
    except SecretTooShort as error:
        raise Unsupported(f"The {key} cannot be used: {error}.", "Give it as the forge issued it.") from None


def places(columns: Mapping[str, ColumnMapping]) -> dict[str, ColumnPlace]:
    """How each column shows on the forge."""
    return {name: ColumnPlace(each.label or "", each.status or "", each.closed) for name, each in columns.items()}


def columns(names: Iterable[str], mapped: Mapping[str, ColumnPlace]) -> tuple[Column, ...]:
    """The columns with their flags: those of the names that a native board begins with, and closed is terminal."""
    return tuple(_column(name, mapped[name]) for name in names)


def _column(name: str, place: ColumnPlace) -> Column:
    known = _FLAGS.get(name)
    title = place.name or (known.title if known else name)
    eligible = known.eligible if known else False
    terminal = place.closed is True or (known.terminal if known else False)
    return Column(name, name, title, eligible, terminal)
