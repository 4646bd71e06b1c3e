"""A fake forge inside this process: real HTTP on loopback, served by threads, with the control interface as methods.

``with running("github") as forge:`` for tests and rehearsals; the command line runs the same thing for itself.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from connectors.base import Clock
from connectors.fake_forge.clock import ForgeClock
from connectors.fake_forge.control import move_clock
from connectors.fake_forge.desk import Desk, Observer
from connectors.fake_forge.dialects import dialect_of
from connectors.fake_forge.records import Issue, Kind, Repo, World
from connectors.fake_forge.script import read_script
from connectors.fake_forge.seed import REPO, TOKEN
from connectors.fake_forge.server import Server
from connectors.fake_forge.tls import Certificates


@dataclass(frozen=True, slots=True)
class Setup:
    """How a fake forge starts. ``clock`` is the clock below the forge's own, the machine's when None."""

    port: int = 0
    clock: Clock | None = None
    state: Path | None = None
    script: object = ()
    """As it came from JSON."""
    tls: bool = False
    observer: Observer | None = None
    """Sees each request with the forge's own answer, before a fault loses it."""


class FakeForge:
    """A running fake forge."""

    token = TOKEN
    """The value of our account's token."""
    repo = REPO
    """The path of the first repository."""

    def __init__(self, desk: Desk, server: Server, authority: Path | None) -> None:
        self._desk = desk
        self._server = server
        self.url = server.url
        self.control_url = server.control_url
        self.authority = authority
        """The certificate file that a client trusts; None without TLS."""

    @property
    def kind(self) -> str:
        """The forge that is played."""
        return self._desk.dialect.kind.value

    @property
    def world(self) -> World:
        """Everything that it keeps. Look, and change through ``act``."""
        return self._desk.world

    @property
    def here(self) -> Repo:
        """The first repository."""
        return next(iter(self.world.repos.values()))

    def now(self) -> datetime:
        """The forge's time."""
        return self._desk.clock.now()

    def script(self, *rules: Mapping[str, Any]) -> None:
        """Another script, its counters at zero. Raises ``ScriptError``."""
        self._desk.use(read_script(rules))
        self._server.forget()

    def act(self, do: str, **given: Any) -> dict[str, Any]:
        """What a person does. Raises ``ActError``."""
        return self._desk.act(do, given)

    def clock(self, **given: Any) -> None:
        """``advance``, ``set``, ``skew``, ``frozen`` as for ``POST /_fake/clock``. Raises ``BadControl``."""
        move_clock(self._desk, given)

    def issue(self, title: str = "A card", **given: Any) -> int:
        """A person makes a card; answers its number."""
        return int(self.act("create_issue", title=title, **given)["number"])

    def card(self, number: int) -> Issue:
        """An issue or pull of the first repository."""
        return self.here.issues.get(number) or self.here.pulls[number]

    def labels_of(self, number: int) -> list[str]:
        """The names of a card's labels in their order."""
        return [self.here.labels[each].name for each in self.card(number).labels]

    def requests(self, method: str = "", operation: str = "") -> list[dict[str, Any]]:
        """What arrived, oldest first."""
        return [
            each
            for each in self._desk.requests()
            if (not method or each["method"] == method) and (not operation or each["operation"] == operation)
        ]

    def forget_requests(self) -> None:
        """Start the list of requests anew."""
        with self._desk.lock:
            self._desk.recorded.clear()

    def reset(self) -> None:
        """The world of the beginning, no script, no records."""
        self._desk.reset()
        self._server.forget()

    def delivered(self) -> None:
        """Return when every webhook on its way was answered or failed."""
        self._desk.deliveries.wait()


@contextmanager
def running(forge: str, setup: Setup | None = None) -> Iterator[FakeForge]:
    """A fake forge until the block ends. Raises ``ScriptError`` and ``StateError`` for files that cannot be used."""
    setup = setup or Setup()
    script = read_script(setup.script)
    with ExitStack() as stack:
        certificates = None
        if setup.tls:
            certificates = Certificates(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fake-forge-"))))
        desk = Desk(dialect_of(Kind(forge)), ForgeClock(setup.clock), setup.state, observer=setup.observer)
        desk.use(script)
        server = Server(desk, setup.port, certificates)
        stack.callback(server.stop)
        desk.save()
        yield FakeForge(desk, server, certificates.authority if certificates else None)
