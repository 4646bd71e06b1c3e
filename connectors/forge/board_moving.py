"""Moving a card of a label board: add the new label, take the old one away, read back (connectors.md 6).

The card never has no column: the new label comes first. Each request has its row and its guard; between the two the
remembered crossing makes two labels no contradiction. A crash between them is finished by ``finish`` of the next tick.
Used by ``board``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from connectors.base import Absent, AbsentKind, Move, Moved, Refused
from connectors.card import Card, MoverKind
from connectors.card import Mover as By
from connectors.deadline import Timekeeper
from connectors.effects.guard import Change, Conflict, Done, Effect, Ready, Row, Sight
from connectors.effects.journal import Desk, Order
from connectors.errand import Errand, Purpose
from connectors.errors import ColumnLost, ConnectorError, ForgeRefused, MovePending, UnknownColumn
from connectors.forge.board_reading import STALE, BoardReader
from connectors.forge.board_reading import Sight as Seen
from connectors.forge.cards import moved_card, text_digest
from connectors.forge.columns import same
from connectors.forge.memory import Crossing, Placed
from connectors.forge.records import Issue, LabelDef, LabelSwap, Missing
from connectors.moves import place_of
from connectors.observer import Observer

SETTLING = Errand(Purpose.SETTLE)
LAGS = (0.0, 3.0, 6.0)
"""Seconds between the reads back: three over ten seconds."""


@dataclass(frozen=True, slots=True)
class Step:
    """One request of a move. ``is_open`` sets the state; a label is added or taken away."""

    add: LabelDef | None = None
    remove: LabelDef | None = None
    is_open: bool | None = None

    @property
    def word(self) -> str:
        """For the row's place."""
        named = [f"add {self.add.name}"] if self.add else []
        named += [f"remove {self.remove.name}"] if self.remove else []
        named += [] if self.is_open is None else ["reopen" if self.is_open else "close"]
        return ", ".join(named)


def steps(present: Sequence[LabelDef], to: LabelDef | None, *, state: bool | None, swaps: bool) -> tuple[Step, ...]:
    """The requests of a move in their order. ``state``: the card is to be opened or closed, None: as it is. Pure.

    ``present`` are the labels to be taken away. A closing is confirmed before they go, a card is opened when they are
    gone; a label that comes is there before another goes.
    """
    if to is not None and any(each.id == to.id for each in present):
        there = to.id
        present, to = [each for each in present if each.id != there], None
    if swaps:
        swap = Step(to, next(iter(present), None), state)
        return (*(Step(remove=each) for each in present[1:]), *([swap] if swap != Step() else []))
    made = [Step(add=to)] if to is not None else []
    made += [Step(remove=each) for each in present]
    if state is None:
        return tuple(made)
    return (*made, Step(is_open=True)) if state else (Step(is_open=False), *made)


@dataclass(frozen=True, slots=True)
class Mover:
    """The hands of one board."""

    reader: BoardReader
    desk: Desk
    clock: Timekeeper
    observer: Observer

    def move(self, card_id: str, move: Move) -> Moved | Refused | Absent:
        """Raises ``UnknownColumn``, ``ColumnLost``, ``MovePending`` and what the forge's calls raise."""
        plan = self.reader.plan
        if move.to not in plan.places and move.to not in plan.roles:
            names = ", ".join(plan.places)
            raise UnknownColumn(f'There is no column "{move.to}" on this board.', f"Its columns: {names}.")
        seen = self._look(card_id)
        if isinstance(seen, Absent):
            return seen
        target = move.to if move.to in plan.places else ""
        answer = self._decide(seen, move, target)
        if answer is not None:
            return answer
        return self._go(seen, seen.crossing or Crossing(seen.spotted.column, target), target, move.mover)

    def _decide(self, seen: Seen, move: Move, target: str) -> Moved | Refused | None:
        """Whether the move may be made; None when it may."""
        card, crossing = seen.card, seen.crossing
        under_way = crossing is not None and crossing.to == target
        if under_way and len(self._labelled(seen)) > 1:
            return None
        if seen.spotted.columns == ((target,) if target else ()):
            if crossing is not None:
                self.reader.memory.cross(card.id, None)
            return Moved(card, changed=False)
        if move.version is not None and move.version != card.version:
            return Refused(card, f"the card changed: it is at version {card.version} in {place_of(card)}")
        if len(seen.spotted.columns) > 1:
            return Refused(card, f"the card is in {' and in '.join(seen.spotted.columns)}")
        if move.expected is not None and move.expected != place_of(card):
            return Refused(card, f"the card is in {place_of(card)}, not in {move.expected}")
        if card.closed and move.mover.kind is MoverKind.DISPATCHER:
            return Refused(card, f"the card is closed in {place_of(card)}; only a person reopens it")
        return None

    def _labelled(self, seen: Seen) -> tuple[str, ...]:
        """The columns whose labels the issue carries, whatever is under way."""
        return tuple(
            name
            for name, each in seen.found.items()
            if each.label is not None and any(self._same(each.label.name, label) for label in seen.issue.labels)
        )

    def _same(self, one: str, other: str) -> bool:
        folds = self.reader.client.traits.folds_case
        return same(one.lower(), other.lower()) if folds else same(one, other)

    def _go(self, seen: Seen, crossing: Crossing, target: str, mover: By) -> Moved | Refused | Absent:
        """Make the requests that are left, and read back."""
        card, memory = seen.card, self.reader.memory
        origin = self._label(seen, crossing.origin, must=False)
        to = self._label(seen, target, must=True)
        memory.cross(card.id, crossing)
        present = [origin] if origin is not None and self._carries(seen.issue, origin) else []
        present += self._left_on(seen, crossing, target)
        missing = to if to is not None and not self._carries(seen.issue, to) else None
        state, last = self._state(seen.issue, target), ""
        try:
            for step in steps(present, missing, state=state, swaps=self.reader.client.traits.swaps):
                last = self._carry(seen.issue.number, step, crossing, origin)
            return self._read_back(card.id, crossing, target, mover)
        except ForgeRefused as error:
            if error.evidence.kind not in ("superseded", "conflict"):
                if not last:  # else half of it is made: the next look goes on from there
                    memory.cross(card.id, None)
                raise
        except MovePending as error:
            error.effect_id = last
            raise
        return self._read_back(card.id, crossing, target, mover)

    def _left_on(self, seen: Seen, crossing: Crossing, target: str) -> list[LabelDef]:
        """The labels of other columns that stayed on a closed card; they would count again once it is open."""
        if seen.issue.is_open or not self.reader.plan.closed_column or self.reader.plan.closed_column == target:
            return []
        others = [name for name in self._labelled(seen) if name not in (crossing.origin, target)]
        return [label for name in others if (label := seen.found[name].label) is not None]

    def _elsewhere(self, seen: Seen, crossing: Crossing) -> bool:
        """Whether somebody put the card somewhere else since the move began: by another column's label, or closed it.

        A closed card is in no column of a label; the one that opens it again began with it closed.
        """
        closed = self.reader.plan.closed_column
        place = self.reader.plan.places.get(crossing.to)
        if not seen.issue.is_open and not (place is not None and place.closed):
            return not closed or crossing.origin != closed
        others = set(self._labelled(seen)) - {crossing.origin, crossing.to}
        return bool(others) and (seen.issue.is_open or not closed)

    def _state(self, issue: Issue, target: str) -> bool | None:
        place = self.reader.plan.places.get(target)
        wanted = not place.closed if place is not None and place.closed is not None else True
        return None if wanted == issue.is_open else wanted

    def _label(self, seen: Seen, column: str, *, must: bool) -> LabelDef | None:
        place = self.reader.plan.places.get(column)
        if place is None or not place.name:
            return None
        found = seen.found[column].label
        if found is None and must:
            hint = f'make the label "{place.name}" on the forge, or mend boards[].columns.{column}'
            raise ColumnLost(f'the label "{place.name}" of column {column} is not on the forge', hint)
        return found

    def _carries(self, issue: Issue, label: LabelDef) -> bool:
        return any(self._same(label.name, each) for each in issue.labels)

    def _carry(self, number: int, step: Step, crossing: Crossing, origin: LabelDef | None) -> str:
        """Make one request; its row."""
        order, rows = self._order(number, step, crossing), []

        def declare(row: Row) -> Change[None]:
            rows.append(row.effect_id)
            return Change(order.effect, self._send(number, step), self._looking(number, step, origin))

        self.desk.carry(order, declare, SETTLING)
        return str(rows[0])

    def _order(self, number: int, step: Step, crossing: Crossing) -> Order:
        plan, client = self.reader.plan, self.reader.client
        place = f"move {crossing.origin or '-'} to {crossing.to or '-'}: {step.word}"
        params = {"number": number, "from": crossing.origin, "to": crossing.to, "step": step.word}
        effect = Effect.IDEMPOTENT if step.is_open is None else Effect.GUARDED
        return Order(plan.name, str(number), place, f"{client.kind}.board.move", effect, params)

    def _send(self, number: int, step: Step) -> Callable[[Errand], None]:
        client = self.reader.client

        def send(errand: Errand) -> None:
            if client.traits.swaps:
                client.swap_labels(number, LabelSwap(step.add, step.remove, step.is_open), errand)
            elif step.is_open is not None:
                client.set_state(number, step.is_open, errand)
            elif step.add is not None:
                client.add_label(number, step.add, errand)
            elif step.remove is not None:
                client.remove_label(number, step.remove, errand)

        return send

    def _looking(self, number: int, step: Step, origin: LabelDef | None) -> Callable[[Errand], Sight[None]]:
        """How one request is decided when its answer was lost: done, to be sent again, or somebody else's decision."""

        def look(errand: Errand) -> Sight[None]:
            issue = self.reader.client.issue(number, errand)
            if isinstance(issue, Missing):
                return Conflict("the card is not there any more")
            added = step.add is None or self._carries(issue, step.add)
            removed = step.remove is None or not self._carries(issue, step.remove)
            stated = step.is_open is None or issue.is_open == step.is_open
            if added and removed and stated:
                return Done(None)
            still = origin is None or self._carries(issue, origin) or added
            return Ready() if still else Conflict("somebody moved the card meanwhile")

        return look

    def _read_back(self, card_id: str, crossing: Crossing, target: str, mover: By) -> Moved | Refused | Absent:
        """What the forge shows after the requests, in up to three reads. Raises ``MovePending`` when it lags."""
        for wait in LAGS:
            if wait:
                self.clock.wait(threading.Event(), wait)
            seen = self._look(card_id)
            if isinstance(seen, Absent):
                return seen
            if self._there(seen, crossing, target):
                return Moved(self._confirmed(seen, target, mover))
            if self._elsewhere(seen, crossing):
                return self._lost(seen, crossing)
        text = f"the move of card {card_id} to {target or 'no column'} was sent and does not show yet"
        raise MovePending(text, "it is looked at again with each tick")

    def _there(self, seen: Seen, crossing: Crossing, target: str) -> bool:
        """Whether the card shows the move as made: in its new column, and in the old one no more."""
        labelled, place = set(self._labelled(seen)), self.reader.plan.places.get(target)
        if place is not None and place.closed is True:
            return not seen.issue.is_open and crossing.origin not in labelled
        if place is not None and place.closed is False:
            return seen.issue.is_open and not labelled
        return seen.issue.is_open and labelled == ({target} if target else set())

    def _confirmed(self, seen: Seen, target: str, mover: By) -> Card:
        """The card at its new place, by whoever had it moved."""
        memory = self.reader.memory
        placed = seen.card
        if (placed.column or "") != target or placed.column_by is not mover.kind:
            kept = (placed.entrant, placed.pinned)
            if mover.kind not in (MoverKind.DISPATCHER, MoverKind.BOT):
                kept = ("", text_digest(placed.title, placed.body))
            place = Placed(target, mover.kind, self.clock.now(), mover.name, mover.run_id, 0, *kept)
            made = memory.place({placed.id: place}, moved=True)
            placed = moved_card(placed, made[placed.id])
        memory.cross(placed.id, None)
        return placed

    def _lost(self, seen: Seen, crossing: Crossing) -> Refused:
        """Somebody else decided: their column stands; our extra label goes when it is the one too many."""
        others = [name for name in self._labelled(seen) if name not in (crossing.origin, crossing.to)]
        ours = self._label(seen, crossing.to, must=False)
        if ours is not None and self._is_left(seen, crossing, others, ours):
            self._take_back(seen.issue.number, ours, crossing)
        self.reader.memory.cross(seen.card.id, None)
        again = self._look(seen.card.id)
        card = seen.card if isinstance(again, Absent) else again.card
        self.observer.event("board.move_superseded", "info", board=card.board, card_id=card.id, column=card.column)
        did = "closed the card" if card.closed else f"moved the card to {place_of(card)}"
        return Refused(card, f"somebody {did} meanwhile")

    def _take_back(self, number: int, ours: LabelDef, crossing: Crossing) -> None:
        """Our label away; one that is gone already is what was wanted."""
        try:
            self._carry(number, Step(remove=ours), crossing, None)
        except ForgeRefused as error:
            if error.status != 404:
                raise

    def _is_left(self, seen: Seen, crossing: Crossing, others: Sequence[str], ours: LabelDef) -> bool:
        """Whether our label is to go. One that was sent a moment ago is there, whatever a read says that lags."""
        if self._carries(seen.issue, ours):
            return self._is_extra(seen, crossing, others, ours)
        return bool(others) and self._sent_lately(seen, crossing)

    def _is_extra(self, seen: Seen, crossing: Crossing, others: Sequence[str], ours: LabelDef) -> bool:
        """Whether the label that we added is one too many: beside a person's, or on a closed card beside the first."""
        if others:
            return self._goes(seen, others[0], ours)
        origin = self._label(seen, crossing.origin, must=False)
        return not seen.issue.is_open and origin is not None and self._carries(seen.issue, origin)

    def _goes(self, seen: Seen, other: str, ours: LabelDef) -> bool:
        """Whether our label is the one too many: we put it there ourselves, or the other column's came after it.

        Where our account put on both, another store has it too and would say the same of itself: the earlier one stays.
        Unknown counts as not.
        """
        theirs = seen.found[other].label
        if theirs is None or not self.reader.client.traits.label_history:
            return False
        try:
            read = self.reader.client.label_events(seen.issue.number, SETTLING)
            login = self.reader.login(SETTLING)
        except ConnectorError:
            return False
        added = [event for event in read.items if event.added and event.closed is None]
        ordered = sorted(added, key=lambda event: event.at)
        last = {event.label: (place, event.actor) for place, event in enumerate(ordered)}
        mine, other_s = last.get(ours.name), last.get(theirs.name)
        if mine is None or other_s is None:
            return other_s is not None or (mine is not None and mine[1] == login)
        if mine[1] == login:
            return other_s[1] != login or other_s < mine
        return other_s > mine

    def _look(self, card_id: str) -> Seen | Absent:
        if not card_id.isdigit():
            return Absent(card_id, AbsentKind.UNKNOWN)
        found = self.reader.look(int(card_id), SETTLING)
        if isinstance(found, Missing):
            answer = self.reader.get(card_id)
            assert isinstance(answer, Absent)
            return answer
        return found

    def finish(self) -> None:
        """Carry every move that a crash or a lag left half done to its end, under the same guard (connectors.md 6)."""
        for card_id, crossing in self.reader.memory.crossings().items():
            try:
                self._finish_one(card_id, crossing)
            except ConnectorError as error:
                self.observer.event(
                    "board.move_unfinished",
                    "warning",
                    board=self.reader.plan.name,
                    card_id=card_id,
                    error=error.message,
                )

    def _finish_one(self, card_id: str, crossing: Crossing) -> None:
        seen = self._look(card_id)
        if isinstance(seen, Absent):
            self.reader.memory.cross(card_id, None)
            return
        labelled = set(self._labelled(seen))
        if self._elsewhere(seen, crossing):
            self._lost(seen, crossing)
        elif crossing.to and crossing.to in (labelled or set(seen.spotted.columns)):
            self._go(seen, crossing, crossing.to, By(MoverKind.DISPATCHER))
        elif not self._sent_lately(seen, crossing):
            self.reader.memory.cross(card_id, None)

    def _sent_lately(self, seen: Seen, crossing: Crossing) -> bool:
        """Whether a request of this move left so lately that the read may be older than what it did."""
        origin, to = (self._label(seen, each, must=False) for each in (crossing.origin, crossing.to))
        state, swaps = self._state(seen.issue, crossing.to), self.reader.client.traits.swaps
        present = [origin] if origin is not None else []
        for step in steps(present, to, state=state, swaps=swaps):
            past = self.desk.journal.newest(self._order(seen.issue.number, step, crossing))
            if past is not None and past.sent_at is not None and self.clock.now() - past.sent_at < STALE:
                return True
        return False
