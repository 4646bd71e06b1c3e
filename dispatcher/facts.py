"""From what a tick read to the facts that ``policy`` and ``gates`` judge: no decision of its own (dispatcher.md 6).

Asked by settling, parking and picking, and by ``explain``; all three get the same facts, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import MAXYEAR
from pathlib import Path

from connectors.base import AbsentKind
from connectors.card import Card, MoverKind
from connectors.chains import cycles
from dispatcher import breakers, doubts
from dispatcher.candidate import Blocker, BoardFacts, Candidate, Full, Pending, Problem, RetryWait
from dispatcher.hours import opening
from dispatcher.ledger.records import FAILURES, OWED, Key, Link
from dispatcher.policy import NEVER_RUN, Action, Found, Life, RunFacts, facets_of, row_for
from dispatcher.reasons import Reason
from dispatcher.routing import Names, Route, rendered, route, undeclared
from dispatcher.slots import Work
from dispatcher.station import REMOVED, Station
from dispatcher.waiting import waited
from dispatcher.workspaces import Found as Place
from dispatcher.world import BoardRead, World, park_texts
from engine import states
from engine.failures import Allowance, row_of
from engine.run import RunRecord


@dataclass(frozen=True, slots=True)
class Choice:
    """The bot of a card for this tick: where its run would start from, or why there is none."""

    route: Route | None
    problem: Problem | None


def gesture(world: World, card: Card, link: Link | None, record: RunRecord | None) -> bool:
    """Whether the card came into an eligible column after its run ended, by anybody but us and the run's own tools.

    "After" compares store sequences (dispatcher.md 1).
    """
    read = world.reads.get(card.board)
    if link is None or read is None or card.column not in read.eligible or card.closed:
        return False
    if card.column_by is MoverKind.DISPATCHER:
        return _owed(world, card, link, record)
    if card.column_by is MoverKind.BOT and card.column_run == link.last_run:
        return False
    retry = world.snapshot.retries.get((card.board, card.id))
    since = record.outcome_sequence if record is not None else (retry.sequence if retry else 0)
    if record is None and retry is None and (card.board, card.id) not in world.snapshot.give_ups:
        if not link.attempts or not link.column_sequence:
            return False
        since = link.column_sequence  # starts failed before there was a run, then the card was taken out
    return card.column_sequence > max(since, link.handled_sequence)


def _owed(world: World, card: Card, link: Link, record: RunRecord | None) -> bool:
    """Whether a gesture is still owed its start, which was broken off when the card was in the running column already.

    By a crash, a stop, or a failing hook (dispatcher.md 7).
    """
    begun = world.snapshot.intents.get((card.board, card.id))
    if begun is None or begun.point != OWED or record is None:
        return False
    same = begun.run_id == record.id == link.last_run
    return same and card.column == world.roles(card.board).running


def consumed(card: Card, link: Link | None) -> bool:
    """Whether a start has taken the card's present place into account: one gesture resets the count once."""
    return link is not None and card.column_sequence <= link.column_sequence


def run_facts(world: World, card: Card) -> RunFacts:
    """What is stored about the card's ``last_run``."""
    key = (card.board, card.id)
    link = world.link(key)
    if why := world.snapshot.damaged.get(key):
        run_id = link.last_run if link is not None else ""
        return RunFacts(run_id or "?", Found.UNREADABLE, texts={"error": f"a row of the card: {why}"})
    if link is None:
        return NEVER_RUN
    if not link.last_run:
        moved_in = gesture(world, card, link, None)
        return RunFacts(
            gesture=moved_in, attempts=link.attempts, max_attempts=world.station.settings.retry.max_attempts
        )
    world.know_runs([link.last_run])
    found, why = world.found[link.last_run]
    record = world.runs.get(link.last_run)
    if record is None:
        moved_in = gesture(world, card, link, None)
        return RunFacts(link.last_run, found, gesture=moved_in, attempts=link.attempts, texts={"error": why})
    return _present(world, card, link, record)


def _present(world: World, card: Card, link: Link, record: RunRecord) -> RunFacts:
    alive = world.alive.get(record.id)
    told = RunFacts(
        run_id=record.id,
        found=Found.PRESENT,
        status=record.status,
        outcome=record.outcome_sequence,
        failure_code=record.failure_code,
        life=alive.life if alive else Life.HELD,
        settled=world.is_settled(record),
        gesture=gesture(world, card, link, record),
        ours=link.ours,
        answered=states.requires_answers(record.status) and world.is_answered(record.id),
        attempts=link.attempts,
        max_attempts=world.station.settings.retry.max_attempts,
        cap_raised=_cap_raised(world, card, record),
        effects_settled=_effects_settled(world, record),
        texts=_texts(world, (card.board, card.id), record, alive.texts if alive else {}),
    )
    return _with_place(world, card, link, record, told) if _asks_for(told) is Action.RESUME else told


def _effects_settled(world: World, record: RunRecord) -> bool:
    """Whether the calls that stopped the run are settled (engine.md 4.3); asked only where the code wants it."""
    wants = row_of(record.failure_code).unattended is Allowance.IF_SETTLED
    return wants and doubts.settled(doubts.stopping(world, record.id))


def _with_place(world: World, card: Card, link: Link, record: RunRecord, told: RunFacts) -> RunFacts:
    """What only a resume needs to know: whether source and workspace are as the run left them."""
    station = world.station
    return replace(
        told,
        source_changed=station.engine.source_changed(record.file_path, record.digest),
        workspace_missing=workspace_missing(station, card, link, record),
    )


def _asks_for(told: RunFacts) -> Action:
    row = row_for(facets_of(told))
    return row.attended if told.gesture else row.unattended


def workspace_missing(station: Station, card: Card, link: Link, record: RunRecord) -> bool:
    """Whether the run's folder is gone or not provably ours; of a run that we did not start, whether it is gone."""
    path = Path(record.workspace)
    if not link.ours or not link.workspace:
        return not path.is_dir()
    return station.workspaces.look(path.name, card.id) is not Place.OURS


def _cap_raised(world: World, card: Card, record: RunRecord) -> bool:
    """Whether the run's stored ask is now above what stopped it (engine.md 4.3, ``if_raised``)."""
    if row_of(record.failure_code).unattended is not Allowance.IF_RAISED:
        return False
    park = world.snapshot.parks.get((card.board, card.id))
    if park is None:
        return False
    told = park_texts(park)
    if "axis" not in told:  # parked for another reason by now
        told = world.station.engine.budget_stop(record.id)
    asked = {
        "iterations": record.ask.max_iterations,
        "tokens": record.ask.max_tokens,
        "cost_usd": record.ask.max_cost_usd,
        "duration": record.ask.max_duration,
    }
    now = asked.get(str(told.get("axis", "")), 0)
    used, limit = told.get("used", 0), told.get("limit", 0)
    return bool(now) and isinstance(used, int | float) and isinstance(limit, int | float) and now > max(used, limit)


def _texts(world: World, key: Key, record: RunRecord, alive: Mapping[str, object]) -> Mapping[str, object]:
    """What the braces of the run's reasons are filled with: stored facts, so that they do not change by themselves."""
    error = " ".join(record.error.split())
    told: dict[str, object] = {"error": error, "message": error, "path": record.workspace, "owner": record.owner.pid}
    park = world.snapshot.parks.get(key)
    if park is not None and park.run_id == record.id:
        told |= park_texts(park)
    return told | dict(alive)


def choose(world: World, card: Card) -> Choice:
    """The card's route, and whether its bot and values are fit to start."""
    station = world.station
    found = route(card, station.board_settings(card.board), world.find_bot)
    if isinstance(found, Problem):
        return Choice(None, found)
    wrong = undeclared(found, lambda: world.fields_of(card.board))
    if wrong is not None:
        return Choice(found, wrong)
    names = Names(
        "run", str(station.workspaces.path_of(station.workspace_key(card, world.link((card.board, card.id)))))
    )
    values = fitting(station, found, rendered(found, card, names))
    return Choice(found, station.engine.problem(found.path, values))


def fitting(station: Station, found: Route, values: Mapping[str, object]) -> dict[str, object]:
    """The values whose names the bot declares; a start warns about the others (dispatcher.md 20)."""
    declared = station.engine.declared(found.path)
    if declared is None:
        return dict(values)
    return {name: value for name, value in values.items() if name in declared}


def board_facts(world: World, name: str) -> BoardFacts:
    """What holds every card of that board."""
    read = world.reads[name]
    facts: dict[str, object] = {}
    held = credential(read, world.station.boards[name].kind)
    if read.error and not held:
        facts["unreadable"] = unreadable(world, read)
    if read.standby:
        facts["standby"] = read.standby
    if read.degraded or name in world.station.removed:
        facts["degraded"] = {"board": name, "what": read.degraded or REMOVED}
    facts["outside_hours"] = _outside_hours(world, name)
    return BoardFacts(
        name=name,
        eligible=read.eligible,
        partial=None if held else read.partial,
        breaker=breakers.of_board(world, name),
        throttled=held.get(Reason.CREDENTIAL_THROTTLED),
        refused=held.get(Reason.CREDENTIAL_REFUSED),
        wip_full=_wip_full(world, read),
        **facts,  # type: ignore[arg-type]
    )


def unreadable(world: World, read: BoardRead, error: str = "") -> Mapping[str, object]:
    """What fills the text of a board that could not be read, as a whole or in ``error``."""
    memory = world.station.memory
    last = memory.last_complete.get(read.name)
    seconds = (world.now - (last or memory.since or world.now)).total_seconds()
    age = f"{seconds:.0f} s" if last else f"more than {seconds:.0f} s"  # what an earlier process read, this one forgot
    return {"board": read.name, "error": error or read.error, "age": age}


def credential(read: BoardRead, kind: str) -> dict[Reason, Mapping[str, object]]:
    """Whether the board's credential is refused by its forge, or waits for it; at most one, with its facts."""
    told = read.credential
    if told is None:
        return {}
    if told.refused:
        return {Reason.CREDENTIAL_REFUSED: {"forge": kind, "credential": told.credential, "status": told.refused}}
    if told.waits_until is None:
        return {}
    until = told.waits_until.isoformat(timespec="seconds").replace("+00:00", "Z")
    return {Reason.CREDENTIAL_THROTTLED: {"credential": told.credential, "until": until}}


def _outside_hours(world: World, name: str) -> Mapping[str, object] | None:
    settings = world.station.settings
    hours = world.station.board_settings(name).working_hours or settings.working_hours
    begins = opening(hours, world.now) if hours is not None else None
    if begins is None:
        return None
    at = "never" if begins.year == MAXYEAR else begins.isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"hours": str(hours), "at": at}


def _wip_full(world: World, read: BoardRead) -> Mapping[str, object] | None:
    for column, limit in world.station.settings.concurrency.wip.items():
        name = read.called(column)
        held = read.counts.get(name, 0)
        if held >= limit:
            return {"column": name, "n": held, "limit": limit}
    return None


def candidate(world: World, card: Card, board: BoardFacts, *, released: bool = False) -> Candidate:
    """Everything that decides about one card."""
    key = (card.board, card.id)
    run = run_facts(world, card)
    pending = world.snapshot.pending.get(key)
    stamp = world.snapshot.give_ups.get(key)
    settling = world.snapshot.settlements.get(key)
    if settling is not None and settling.follows in FAILURES and board.breaker is None:
        board = replace(board, breaker=breakers.failing(world, card.board, card.id))
    return Candidate(
        card=card,
        daemon=world.daemon,
        board=board,
        run=run,
        parked=key in world.snapshot.parks or key in world.snapshot.damaged,
        released=released,
        breaker=breakers.of_card(world, card),
        pending=Pending(pending.origin, pending.to, pending.effect_id) if pending else None,
        run_stopping=world.waiting_to_settle.get(key),
        gave_up={"n": stamp.attempts, "code": stamp.code, "error": stamp.error} if stamp else None,
        consumed=consumed(card, world.link(key)),
        retry=_retry(world, key),
        blockers=blockers(world, card),
        cycle=_cycle(world, key),
        caps=_caps(world, card, None),
    )


def with_bot(world: World, found: Candidate) -> Candidate:
    """The candidate with what its bot says: asked last, and only of a card that nothing else holds (or ``explain``)."""
    if not starts_something(found.run):
        return found
    choice = choose(world, found.card)
    return found._replace(
        routing=choice.problem if choice.route is None else None,
        bot=choice.problem if choice.route is not None else None,
        caps=_caps(world, found.card, choice.route),
    )


def starts_something(run: RunFacts) -> bool:
    """Whether the bot of the card matters: for a fresh run, not for a run that has its own source."""
    return _asks_for(run) is Action.FRESH


def _retry(world: World, key: Key) -> RetryWait | None:
    row = world.snapshot.retries.get(key)
    if row is None:
        return None
    due = waited(world.station.memory.waits, row, world.now, world.station.clock.monotonic())
    return RetryWait(row.attempt, world.station.settings.retry.max_attempts, row.code, row.not_before, due)


def blockers(world: World, card: Card) -> tuple[Blocker, ...]:
    """The cards that this one waits for and that are not done (dispatcher.md 19)."""
    if not card.blockers:
        return ()
    found = []
    for ref in card.blockers:
        key = (ref.board or card.board, ref.id)
        other = world.cards.get(key)
        if other is None:
            found.append(_absent(world, key))
        elif not satisfied(world, other):
            found.append(Blocker(f"#{other.number}", other.column or "no column"))
    return tuple(found)


def _absent(world: World, key: Key) -> Blocker:
    """A blocker that no read gave: gone for good, which a person has to say, or not to be read now."""
    board, card_id = key
    label = f"#{card_id}" if card_id.isdigit() else card_id
    if key in world.gone:
        why = world.gone[key]
        lost = {AbsentKind.GONE.value: "deleted", AbsentKind.UNKNOWN.value: "nobody knows it"}
        return Blocker(label, lost=lost.get(why, why))
    return Blocker(label, error="its card cannot be read" if board in world.station.boards else f"no board is {board}")


def _cycle(world: World, key: Key) -> str:
    """The chain through which the card waits for itself, empty when it does not; all cards are looked at in one go."""
    if world.cycles is None:
        world.cycles = cycles({each: _open_links(world, card) for each, card in world.cards.items() if card.blockers})
    chain = world.cycles.get(key)
    if not chain:
        return ""
    return " → ".join(f"#{world.cards[each].number}" for each in chain)


def _open_links(world: World, card: Card) -> list[Key]:
    """The blockers of the card that are there and not done."""
    named = [(ref.board or card.board, ref.id) for ref in card.blockers or ()]
    return [key for key in named if key in world.cards and not satisfied(world, world.cards[key])]


def satisfied(world: World, card: Card) -> bool:
    """Whether a blocker is done: in a terminal column that is not the failed one."""
    read = world.reads.get(card.board)
    return read is not None and card.column in read.terminal and card.column != world.roles(card.board).failed


def _assignees(world: World, work: Work) -> tuple[str, ...]:
    """Who a run counts for: those at its start, or, of one that another process started, those of its card."""
    card = world.cards.get(work.key)
    return work.assignees or (card.assignees if card is not None else ())


def _caps(world: World, card: Card, chosen: Route | None) -> tuple[Full, ...]:
    """The caps that are used up for this card (dispatcher.md 16); a cap counts only what it governs."""
    caps = world.station.settings.concurrency
    if not (caps.by_board or caps.by_column or caps.by_bot or caps.by_assignee):
        return ()
    executing = world.at_work()
    link = world.link((card.board, card.id))
    bot = chosen.bot if chosen else (link.bot if link else "")
    called, column = world.columns_of(card.board).called, card.column or ""
    by_column = {called(name): limit for name, limit in caps.by_column.items()}
    found = [
        (Reason.CAP_BOARD, card.board, caps.by_board, sum(work.key[0] == card.board for work in executing)),
        (Reason.CAP_COLUMN, column, by_column, sum(called(work.column) == column for work in executing)),
        (Reason.CAP_BOT, bot, caps.by_bot, sum(work.bot == bot for work in executing)),
    ]
    found += [
        (Reason.CAP_ASSIGNEE, who, caps.by_assignee, sum(who in _assignees(world, work) for work in executing))
        for who in card.assignees
    ]
    return tuple(
        Full(reason, name, n, limits[name]) for reason, name, limits, n in found if name in limits and n >= limits[name]
    )
