"""Every operation of the catalogue on every forge that has it: done, refused, and with its answer lost (C069).

Through the guard, over the real transport, against the fake: what the forge shows afterwards is the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from connectors.catalogue.operations import NAMES, OPERATIONS, Probe
from connectors.effects.guard import Effect, Guard, Known
from connectors.effects.markers import marker_of
from connectors.errand import Errand, Purpose
from connectors.errors import AmbiguousEffect, ForgeRefused
from connectors.fake_forge.running import FakeForge, Setup
from connectors.forge import operations
from connectors.forge.desk import Desk
from connectors.forge.operations import Call, Made, Unseen, parameters
from connectors.observer import Silent
from connectors.secrets import Redactor
from dispatcher.forges import ForgeWords
from tests.kit import forges, github
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.operation_cases import CASES, Given

EFFECT = "e0123456789abcdef"
ERRAND = Errand(Purpose.ACTION)
every = pytest.mark.parametrize("name", NAMES)


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

    @property
    def entry(self) -> Any:
        return NAMES[self.name][1]

    @property
    def desk(self) -> Desk:
        params = parameters(self.name, self.given, bound=True)
        words = ForgeWords(NAMES[self.name][0], (), Redactor(), Silent())
        return Desk(self.client, words, self.clock, params, ERRAND, EFFECT, marker_of(EFFECT))

    def run(self, row: Row | None = None) -> dict[str, Any]:
        guard = Guard(self.client.pace, self.clock)
        return operations.run(self.name, self.desk, guard, row or Row(), Call(ERRAND, 60.0))

    def probe(self) -> object:
        return operations.probe(self.name, replace(self.desk, sent_at=self.clock.now()))

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
            client = forges.client_at(kind, forge.url, forge.token, clock=clock)
        try:
            yield Stage(name, forge, client, clock, given)
        finally:
            client.close()


def first_change(name: str) -> int:
    """Which of its requests, counted from one, an operation's change is."""
    with stage(name) as dry:
        dry.run()
        return dry.changes()[0]


def test_each_operation_has_its_case() -> None:
    """C069."""
    assert CASES.keys() == OPERATIONS.keys()
    assert all((case.seen is None) == (OPERATIONS[suffix].effect is Effect.READ) for suffix, case in CASES.items())


@every
def test_an_operation_is_done_once_and_answers_its_result(name: str) -> None:
    """C069: success."""
    with stage(name) as on:
        assert on.seen() in (0, None)
        row = Row()
        result = on.run(row)
        NAMES[name][1].result.model_validate(result)
        assert on.seen() in (1, None)
        assert len(on.changes()) == row.sent == (0 if on.entry.effect is Effect.READ else 1)


@every
def test_an_operation_that_is_refused_changes_nothing(name: str) -> None:
    """C069: refusal."""
    entry = NAMES[name][1]
    nth = 1 if entry.effect is Effect.READ else first_change(name)
    with stage(name) as on:
        on.forge.script({"fault": "status", "with": {"code": 403}, "match": {"nth": nth}})
        row = Row()
        with pytest.raises(ForgeRefused) as caught:
            on.run(row)
        assert caught.value.status == 403
        assert on.seen() in (0, None)
        assert row.sent == (0 if entry.effect is Effect.READ else 1)


@every
def test_a_lost_answer_is_decided_by_the_class_of_the_operation(name: str) -> None:
    """C069: lost answer. C051 to C053: one request, and what happened is found."""
    entry = NAMES[name][1]
    effect = entry.effect_on(NAMES[name][0])
    nth = 1 if effect is Effect.READ else first_change(name)
    with stage(name) as on:
        on.forge.script({"fault": "act_then_5xx", "with": {"status": 502}, "match": {"nth": nth}})
        row = Row()
        if effect is not Effect.AMBIGUOUS:
            entry.result.model_validate(on.run(row))
            assert on.seen() in (1, None)
            blind = entry.suffix == "reaction.add"
            assert len(on.changes()) == (0 if effect is Effect.READ else 2 if blind else 1)
            return
        with pytest.raises(AmbiguousEffect):
            on.run(row)
        assert (on.seen(), len(on.changes())) == (1, 1)
        answer = on.probe()
        if entry.probe is Probe.NONE:
            assert isinstance(answer, Unseen)
        else:
            assert isinstance(answer, Made), answer
            entry.result.model_validate(answer.response)
        assert len(on.changes()) == 1
