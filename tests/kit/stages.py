"""One operation on one fake forge, through the guard and the real transport, for tests of operations and probes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from connectors.catalogue.operations import NAMES
from connectors.effects.guard import Guard, Known
from connectors.effects.markers import marker_of
from connectors.errand import Errand, Purpose
from connectors.fake_forge.running import FakeForge, Setup
from connectors.forge import operations
from connectors.forge.desk import Desk
from connectors.forge.operations import Call, parameters
from connectors.observer import Silent
from connectors.secrets import Redactor
from dispatcher.forges import ForgeWords
from tests.kit import forge_clients, github
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.operation_cases import CASES, Given

EFFECT = "e0123456789abcdef"
ERRAND = Errand(Purpose.ACTION)


@dataclass
class Row:
    """The row of one call, in memory."""

    effect_id: str = EFFECT
    marker: str = marker_of(EFFECT)
    sent: int = 0
    known: list[Known] = field(default_factory=list)

    def stopped(self) -> bool:
        return False

    def sending(self) -> None:
        self.sent += 1

    def note(self, known: Known) -> None:
        self.known.append(known)


@dataclass
class Stage:
    """One operation on one forge."""

    name: str
    forge: FakeForge
    client: Any
    clock: FakeClock
    given: Given
    foreign: list[str] = field(default_factory=list)
    """Addresses of texts of others that carried the marker."""

    def __post_init__(self) -> None:
        self.begun = self.clock.now()

    @property
    def entry(self) -> Any:
        return NAMES[self.name][1]

    @property
    def desk(self) -> Desk:
        params = parameters(self.name, self.given, bound=True)
        words = ForgeWords(NAMES[self.name][0], (), Redactor(), Silent())
        desk = Desk(self.client, words, self.clock, params, ERRAND, EFFECT, marker_of(EFFECT))
        return replace(desk, foreign=self.foreign.append)

    def run(self, row: Row | None = None, errand: Errand = ERRAND) -> dict[str, Any]:
        guard = Guard(self.client.pace, self.clock)
        return operations.run(self.name, self.desk, guard, row or Row(), Call(errand, 60.0))

    def probe(self) -> object:
        """What the forge shows of the call, which was sent when the stage was set."""
        return operations.probe(self.name, replace(self.desk, sent_at=self.begun))

    def seen(self) -> int | None:
        case = CASES[self.entry.suffix]
        return case.seen(self.forge, self.given) if case.seen else None

    def changes(self) -> list[int]:
        """The places, among all requests, of those that change something."""
        return [
            place
            for place, each in enumerate(self.forge.requests(), 1)
            if each["method"] != "GET"
            and not (each["operation"] == "graphql" and "mutation" not in each["body"]["query"])
        ]


@contextmanager
def stage(name: str) -> Iterator[Stage]:
    """The fake and a client, after what the case prepares; nothing was asked yet."""
    kind, entry = NAMES[name]
    clock = FakeClock()
    with fake(kind, Setup(clock=clock)) as forge:
        given = CASES[entry.suffix].prepare(forge)
        clock.advance(60)
        if kind == "github":
            client: Any = github.client_at(forge.url, token=forge.token, clock=clock, project=github.PROJECT)
        else:
            client = forge_clients.client_at(kind, forge.url, forge.token, clock=clock)
        try:
            yield Stage(name, forge, client, clock, given)
        finally:
            client.close()
