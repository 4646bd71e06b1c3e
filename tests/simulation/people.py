"""What people do meanwhile, at the worst moment: each deed is one number, from which all its choices follow."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from connectors.errors import ConnectorError
from dispatcher.ledger import daemon_rows
from dispatcher.ledger.records import DesiredState
from engine import states
from engine.errors import Refusal
from engine.failures import FailureCode
from engine.run import BudgetAsk, RunRecord
from engine.states import RunStatus
from engine.store.changes import ClaimChange, Transition
from tests.simulation.grounds import Draft, Standing

if TYPE_CHECKING:
    from tests.simulation.play import Play

MOST = 5
"""Cards on the board at once."""
COLUMNS = ("ready", "ready", "ready", "in_progress", "backlog", "review", "done", "blocked", "awaiting_input")


def act(play: Play, number: int) -> None:
    """One deed of somebody."""
    random = Random(number)
    deed = random.choices([each for _, each in DEEDS], [weight for weight, _ in DEEDS])[0]
    deed(play, random)


def _some(play: Play, random: Random) -> Standing | None:
    cards = sorted(play.machine.cards(), key=lambda card: card.number)
    return random.choice(cards) if cards else None


def _create(play: Play, random: Random) -> None:
    cards = list(play.machine.cards())
    if len(cards) >= MOST:
        _move(play, random)
        return
    blocker = random.choice(cards) if cards and random.random() < 0.15 else None
    column = "waiting_deps" if blocker and random.random() < 0.5 else "ready"
    made = play.ground.create(Draft(column, blocker))
    play.watch.note(f"    a person makes #{made} in {column}")


def _move(play: Play, random: Random) -> None:
    card, to = _some(play, random), random.choice(COLUMNS)
    if card is not None:
        play.watch.note(f"    a person moves #{card.number} {card.column} -> {to}")
        play.ground.move(card, to, random.getrandbits(8) if play.ground.remote else 0)


def _close(play: Play, random: Random) -> None:
    card = _some(play, random)
    if card is not None:
        play.watch.note(f"    a person closes #{card.number}")
        play.ground.close(card)


def _delete(play: Play, random: Random) -> None:
    card = _some(play, random)
    if card is not None:
        play.watch.note(f"    a person deletes #{card.number}")
        play.ground.delete(card)


def _edit(play: Play, random: Random) -> None:
    card = _some(play, random)
    if card is not None:
        play.ground.edit(card, random.randrange(3))


def _newest(play: Play, random: Random) -> RunRecord | None:
    card = _some(play, random)
    runs = play.machine.runs_of((card.board, card.id)) if card is not None else []
    return runs[-1] if runs else None


def _resume(play: Play, random: Random) -> None:
    """``pointsman resume --force`` in a process of its own, which may be killed later."""
    card = _some(play, random)
    if card is None:
        return
    key = (card.board, card.id)
    runs = play.machine.runs_of(key)
    if not runs or not states.can_person_resume(runs[-1].status):
        return
    record, change = runs[-1], ClaimChange(digest=play.machine.digest)
    if any(play.machine.held(each.id) for each in runs) or any(not states.is_final(each.status) for each in runs[:-1]):
        return
    play.machine.watch.doors[key] = 0
    try:
        play.machine.resume(key, record.id, play.machine.process("p"), change, lambda: None, attended=True)
        play.watch.note(f"    a person resumes {record.id} of #{card.number}")
    except Refusal:
        return


def _cancel(play: Play, random: Random) -> None:
    record = _newest(play, random)
    if record is None:
        return
    if play.machine.stop(record.id, "cancel"):
        play.watch.note(f"    a person cancels {record.id}, which runs")
    elif states.can_be_cancelled(record.status) and not states.is_running(record.status):
        change = Transition(RunStatus.CANCELLED, frozenset({RunStatus(record.status)}))
        play.machine.store.runs.transition(record.id, change)
        play.watch.note(f"    a person cancels {record.id}, which was {record.status}")


def _kill_a_command(play: Play, random: Random) -> None:
    mine = sorted(name for name in play.machine.processes if name.startswith("p"))
    if mine:
        play.machine.kill(random.choice(mine), random.choice((0.0, 50.0, 900.0)))
        play.watch.note("    a person's command is killed")


def _desire(play: Play, random: Random) -> None:
    wanted = random.choice(("paused", "draining", "running", "running", "running"))
    with play.database.write_alone() as connection:
        daemon_rows.want(connection, DesiredState(wanted, "a person", play.clock.now()))
        if wanted == "running":
            daemon_rows.close_breakers(connection, "board")
    play.watch.note(f"    a person wants it {wanted}")


def _source(play: Play, random: Random) -> None:
    play.machine.digest = random.choice(("d1", "d1", "d2"))
    play.watch.note(f"    the source is {play.machine.digest}")


def _raise_cap(play: Play, random: Random) -> None:
    record = _newest(play, random)
    if record is not None and record.failure_code == FailureCode.BUDGET_EXCEEDED:
        play.machine.store.runs.set_ask(record.id, BudgetAsk(max_tokens=record.ask.max_tokens + 20))
        play.machine.raises.add(record.id)
        play.watch.note(f"    a person raises the cap of {record.id}")


def _lose_workspace(play: Play, random: Random) -> None:
    card = _some(play, random)
    key = next((key for key in sorted(play.marks) if card is not None and play.marks[key].card_id == card.id), None)
    if key is not None and not play.machine.works((play.ground.name, play.marks[key].card_id)):
        del play.marks[key]
        play.watch.note(f"    the workspace {key} is lost")


def careful(play: Play, number: int) -> None:
    """As ``act``; what the board refuses a person, he reads and leaves."""
    try:
        act(play, number)
    except ConnectorError as refused:
        play.watch.note(f"    refused: {refused}")


Deed = Callable[["Play", Random], None]
DEEDS: tuple[tuple[int, Deed], ...] = (
    (20, _create),
    (24, _move),
    (5, _close),
    (2, _delete),
    (3, _edit),
    (14, _resume),
    (7, _cancel),
    (4, _kill_a_command),
    (4, _desire),
    (4, _source),
    (4, _raise_cap),
    (1, _lose_workspace),
)
