"""The door of every change: what each class does after each kind of answer, how often it sends (connectors.md 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from connectors.effects.guard import Change, Conflict, Done, Effect, Guard, Known, Ready, Sight
from connectors.errand import Errand, Purpose
from connectors.errors import (
    AmbiguousEffect,
    ConnectorError,
    EffectPending,
    Evidence,
    ForgeRefused,
    NotSent,
    RateLimited,
    Unreachable,
    Withdrawn,
)
from tests.kit.clock import FakeClock

ERRAND = Errand(Purpose.ACTION)
CLASSES = [Effect.IDEMPOTENT, Effect.GUARDED, Effect.AMBIGUOUS]


@dataclass
class Desk:
    """Row, pace and forge of one change; ``answers`` are given in turn, ``sights`` by each look."""

    answers: list[object]
    sights: list[object] = field(default_factory=list)
    effect_id: str = "e1"
    marker: str = "<!-- pointsman effect=e1 -->"
    told: list[str] = field(default_factory=list)
    known: list[Known] = field(default_factory=list)
    is_stopped: bool = False

    def stopped(self) -> bool:
        return self.is_stopped

    def sending(self) -> None:
        self.told.append("sent")

    def note(self, known: Known) -> None:
        self.known.append(known)

    def admit(self, errand: Errand, stopped: Callable[[], bool]) -> None:
        self.told.append("admitted")
        if stopped():
            raise Withdrawn("taken back")

    def send(self, errand: Errand) -> str:
        assert errand.effect_id == "e1"
        self.told.append("request")
        errand.hearing.handed_over()
        return self._next(self.answers, str)

    def look(self, errand: Errand) -> Sight[str]:
        assert not errand.effect_id
        self.told.append("look")
        seen = self.sights.pop(0) if self.sights else Ready()
        if isinstance(seen, ConnectorError):
            raise seen
        assert isinstance(seen, Done | Ready | Conflict)
        return seen

    @staticmethod
    def _next(answers: list[object], kind: type[str]) -> str:
        answer = answers.pop(0)
        if isinstance(answer, ConnectorError):
            raise answer
        assert isinstance(answer, kind)
        return answer

    @property
    def requests(self) -> int:
        return self.told.count("request")


def carry(desk: Desk, clock: FakeClock, effect: Effect, **how: bool) -> str:
    change = Change(effect, desk.send, desk.look, **how)
    return Guard(desk, clock, desk.told.append).carry_out(change, desk, ERRAND, 60.0)


@pytest.mark.parametrize("effect", CLASSES)
def test_a_change_waits_for_its_turn_then_is_written_down_then_leaves(clock: FakeClock, effect: Effect) -> None:
    desk = Desk(["made"])
    assert carry(desk, clock, effect) == "made"
    assert desk.told == ["admitted", "sent", "request", "X3"]


@pytest.mark.parametrize("effect", CLASSES)
def test_a_proof_that_nothing_left_lets_every_class_be_sent_again(clock: FakeClock, effect: Effect) -> None:
    """C082, C084 at the door: twice more at most, at least a second apart."""
    desk = Desk([NotSent("refused"), NotSent("refused"), "made"])
    begun = clock.monotonic()
    assert carry(desk, clock, effect) == "made"
    assert (desk.requests, clock.monotonic() - begun) == (3, 2.0)
    desk = Desk([NotSent("refused")] * 4)
    with pytest.raises(NotSent):
        carry(desk, clock, effect)
    assert desk.requests == 3


@pytest.mark.parametrize("effect", CLASSES)
@pytest.mark.parametrize("error", [RateLimited("slow"), ForgeRefused("no", status=403)])
def test_a_throttle_and_a_refusal_are_final(clock: FakeClock, effect: Effect, error: ConnectorError) -> None:
    desk = Desk([error])
    with pytest.raises(type(error)):
        carry(desk, clock, effect)
    assert desk.requests == 1


def test_a_lost_answer_of_an_ambiguous_call_is_never_repeated(clock: FakeClock) -> None:
    desk = Desk([AmbiguousEffect("reset", evidence=Evidence(status=502, wire={"phase": "body_sent"}))])
    with pytest.raises(AmbiguousEffect) as raised:
        carry(desk, clock, Effect.AMBIGUOUS)
    assert raised.value.effect_id == "e1"
    assert (desk.requests, "look" in desk.told) == (1, False)
    assert (desk.known[-1].status, desk.known[-1].wire) == (502, {"phase": "body_sent"})


@pytest.mark.parametrize("effect", [Effect.IDEMPOTENT, Effect.GUARDED])
def test_a_lost_answer_is_read_back_before_it_is_repeated(clock: FakeClock, effect: Effect) -> None:
    """C052, C053 at the door."""
    desk = Desk([AmbiguousEffect("reset")], [Done("there")])
    assert carry(desk, clock, effect) == "there"
    assert desk.requests == 1
    assert desk.known[-1].read_back
    desk = Desk([AmbiguousEffect("reset"), "made"], [Ready()])
    assert carry(desk, clock, effect) == "made"
    assert desk.requests == 2


def test_what_somebody_else_decided_meanwhile_is_not_sent_again(clock: FakeClock) -> None:
    """C054 at the door: superseded, and final."""
    desk = Desk([AmbiguousEffect("reset")], [Conflict("a person reopened it")])
    with pytest.raises(ForgeRefused) as raised:
        carry(desk, clock, Effect.GUARDED)
    assert (raised.value.evidence.kind, desk.requests, desk.known[-1].read_back) == ("superseded", 1, True)


@pytest.mark.parametrize("effect", [Effect.IDEMPOTENT, Effect.GUARDED])
def test_without_a_read_a_lost_answer_stays_lost(clock: FakeClock, effect: Effect) -> None:
    desk = Desk([AmbiguousEffect("reset")], [Unreachable("502")])
    with pytest.raises(AmbiguousEffect, match="could not be read back"):
        carry(desk, clock, effect)
    assert desk.requests == 1


def test_a_guard_that_does_not_hold_sends_nothing(clock: FakeClock) -> None:
    desk = Desk([], [Conflict("the head is another")])
    with pytest.raises(ForgeRefused, match="the head is another"):
        carry(desk, clock, Effect.GUARDED, looks_first=True)
    assert desk.told == ["look"]
    assert carry(Desk([], [Done("so already")]), clock, Effect.GUARDED, looks_first=True) == "so already"


def test_an_order_that_is_pending_is_finished_by_a_read_alone(clock: FakeClock) -> None:
    """C055: no second request, however long it takes."""
    desk = Desk([EffectPending("202", evidence=Evidence(status=202))], [Ready(), Ready(), Done("late")])
    assert carry(desk, clock, Effect.AMBIGUOUS) == "late"
    assert (desk.requests, desk.known[-1].pending, desk.known[-1].read_back) == (1, True, True)
    desk = Desk([EffectPending("202", evidence=Evidence(status=202))])
    with pytest.raises(AmbiguousEffect, match="took the order"):
        carry(desk, clock, Effect.GUARDED)
    assert desk.requests == 1


def test_a_change_that_is_dropped_in_silence_is_a_refusal(clock: FakeClock) -> None:
    desk = Desk(["made"])
    with pytest.raises(ForgeRefused, match="does not show it"):
        carry(desk, clock, Effect.IDEMPOTENT, settles=True)
    assert desk.told.count("look") == 3
    assert carry(Desk(["made"], [Ready(), Done("shown")]), clock, Effect.IDEMPOTENT, settles=True) == "shown"


def test_a_refusal_that_means_it_exists_is_decided_by_a_read(clock: FakeClock) -> None:
    """C042 at the door."""
    exists = ForgeRefused("exists", status=422)
    assert carry(Desk([exists], [Done("it")]), clock, Effect.AMBIGUOUS, exists_is_done=True) == "it"
    with pytest.raises(ForgeRefused):
        carry(Desk([exists], [Ready()]), clock, Effect.AMBIGUOUS, exists_is_done=True)
    with pytest.raises(ForgeRefused):
        carry(Desk([exists], [Done("it")]), clock, Effect.AMBIGUOUS)


def test_an_order_taken_back_while_it_waits_is_not_sent(clock: FakeClock) -> None:
    desk = Desk(["made"], is_stopped=True)
    with pytest.raises(Withdrawn):
        carry(desk, clock, Effect.IDEMPOTENT)
    assert desk.told == ["admitted"]
