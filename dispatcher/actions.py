"""What the tick does about a judged card: one hand per action, in one table (dispatcher.md 4, T10).

Called by ``picking`` with what was judged. Actions that an earlier phase carries out (settling, promoting, parking,
interrupting, unblocking, releasing) leave a card that still asks for them to that phase of the next tick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from dispatcher import facts, gates, log, parking, sharing
from dispatcher.policy import Action
from dispatcher.reasons import Reason
from dispatcher.slots import Work
from dispatcher.starting import Judged, start
from dispatcher.world import World

_log = log.get(__name__)


Hand = Callable[[World, Judged], None]


def begin_run(world: World, judged: Judged) -> None:
    """Start the card; one whose every start failed before there was a run gives up instead."""
    card, decision, candidate = judged.card, judged.decision, judged.candidate
    world.actionable += 1
    link = world.link(judged.key)
    used_up = link is not None and link.attempts >= world.station.settings.retry.max_attempts
    fresh, gesture = decision.action is Action.FRESH, candidate.run.gesture
    over = candidate.consumed if gesture else fresh
    if used_up and over and link is not None:
        parking.give_up_launching(world, card, link)
        return
    if not world.pick:
        return
    if decision.row == "R02" and world.station.memory.first_time(f"missing {candidate.run.run_id}"):
        _log.warning("run.last_run_missing", board=card.board, card_id=card.id, run_id=candidate.run.run_id)
    if world.dry:
        held = sharing.elsewhere(world, card)
        if held is None:
            world.planned.append(_planned(world, judged))
        world.note(judged.key, card.number, decision if held is None else gates.held(decision, *held))
        return
    elsewhere = sharing.claimed(world, card)
    done = start(world, judged) if elsewhere is None else gates.held(decision, *elsewhere)
    world.note(judged.key, card.number, done)
    if done.action is Action.HOLD:
        world.held[judged.key] = done


def _planned(world: World, judged: Judged) -> Work:
    """The slot that this start would use."""
    card, link = judged.card, world.link(judged.key)
    chosen = facts.choose(world, card).route if judged.decision.action is Action.FRESH else None
    bot = chosen.bot if chosen else link.bot if link else ""
    return Work(judged.key, judged.decision.run_id or "", card.column or "", bot, card.assignees)


def hold(world: World, judged: Judged) -> None:
    """The card stays, with its reason; a pause that was left by a move alone is parked again first."""
    if judged.decision.reason is Reason.RETRY_WAIT:
        world.actionable += 1
    if _to_be_parked(world, judged) and parking.park_now(world, judged.card):
        return
    world.note(judged.key, judged.card.number, judged.decision)
    world.held[judged.key] = judged.decision


def settle_again(world: World, judged: Judged) -> None:
    """An outcome that T4 passed before the card pointed at its run: the next tick looks from there again."""
    record = world.runs.get(judged.candidate.run.run_id)
    if record is not None and record.outcome_sequence:
        memory = world.station.memory
        memory.outcomes_seen = min(memory.outcomes_seen, record.outcome_sequence - 1)


def leave(_world: World, _judged: Judged) -> None:
    """An earlier phase of the next tick does it."""


def _to_be_parked(world: World, judged: Judged) -> bool:
    """A decision to park, on a card that no earlier phase looked at, because nothing was under way for it."""
    asked = judged.candidate.run.gesture and judged.decision.reason in parking.PARKS
    return asked and judged.key not in world.snapshot.active()


ACTIONS: Mapping[Action, Hand] = MappingProxyType(
    {
        Action.FRESH: begin_run,
        Action.RESUME: begin_run,
        Action.HOLD: hold,
        Action.PARK: leave,
        Action.UNPARK: leave,
        Action.SETTLE: settle_again,
        Action.PROMOTE: leave,
        Action.INTERRUPT: leave,
        Action.UNBLOCK: leave,
        Action.GIVE_UP: leave,
        Action.RELEASE: leave,
    }
)
"""action -> hand; a test proves it total."""
