"""What is remembered of forges: limits per credential, labels' ids, where cards were seen, moves under way.

Implements ``connectors.limiter.state.LimiterStore`` and ``connectors.forge.memory.ForgeMemory`` over the ledger's
tables. Every write is one short transaction; none is open while a forge is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from connectors.card import MoverKind
from connectors.forge.memory import Crossing, KnownLabel, Placed, Remembered
from connectors.limiter.state import LimitState
from dispatcher.ledger.rows import Row, change, many, one, put
from dispatcher.ledger.schema import ForgeCard, ForgeColumn, ForgeLimit
from engine.store.database import take_sequence
from engine.store.prepared import Among

if TYPE_CHECKING:
    from dispatcher.ledger.ledger import Ledger
    from engine.store.effects import Effects

_CARDS = Among(ForgeCard.columns, ForgeCard.c.card_id)
UNSEEN = 2**62
"""The sequence of a move that was seen by somebody who writes nothing: it is newer than all that is known."""
MOVES = ("label.add", "project.set_status", "issue.close", "issue.reopen")
"""Operations by which a run's own node puts a card into a column; the last two do so without a label."""
LOOKED_AT = 200
"""So many calls of runs are looked through for the one that moved a card."""


class LedgerLimits:
    """The durable rows of the limiter."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, credential: str) -> LimitState:
        """The row, an empty one for a credential that nobody used yet."""
        with self._ledger.database.read_raw() as cursor:
            return _limit(one(cursor, ForgeLimit, credential=credential), credential)

    def change(self, credential: str, decide: Callable[[LimitState], LimitState]) -> LimitState:
        """Read, decide and write as one step that no other process can split."""
        with self._ledger.write() as cursor:
            before = _limit(one(cursor, ForgeLimit, credential=credential), credential)
            after = decide(before)
            if after != before:
                put(cursor, ForgeLimit, {"credential": credential, "state": after.to_json()})
        return after


def _limit(row: Row | None, credential: str) -> LimitState:
    """A row that cannot be read is as good as none: the forge tells its limits with the next answer."""
    try:
        return LimitState.from_json(row["state"]) if row is not None else LimitState(credential)
    except (ValueError, KeyError, TypeError):
        return LimitState(credential)


@dataclass(frozen=True, slots=True)
class Seat:
    """A board with its forge and the names of all connections to the same repository, itself among them."""

    board: str
    forge: str
    connections: frozenset[str]


class BoardMemory:
    """The memory of one board. ``writes`` False: it looks only, as ``card list`` and ``--dry-run`` do;
    of what it sees it keeps its own moves alone."""

    def __init__(self, seat: Seat, ledger: Ledger, effects: Effects, *, writes: bool) -> None:
        self._seat, self._board = seat, seat.board
        self._ledger, self._effects, self._writes = ledger, effects, writes

    def columns(self) -> Mapping[str, KnownLabel]:
        """column -> its label."""
        with self._ledger.database.read_raw() as cursor:
            rows = many(cursor, ForgeColumn, board=self._board)
        return {row["name"]: KnownLabel(row["configured"], row["label_id"], row["label_name"]) for row in rows}

    def keep_columns(self, found: Mapping[str, KnownLabel]) -> None:
        """Write what was found."""
        if not self._writes or not found:
            return
        with self._ledger.write() as cursor:
            for name, label in found.items():
                told = {"configured": label.configured, "label_id": label.id, "label_name": label.name}
                put(cursor, ForgeColumn, {"board": self._board, "name": name, **told})

    def cards(self, card_ids: Collection[str]) -> Mapping[str, Remembered]:
        """Those of the cards that were ever seen."""
        with self._ledger.database.read_raw() as cursor:
            rows = _CARDS.many(cursor, card_ids)
        return {row["card_id"]: _remembered(row) for row in rows if row["board"] == self._board}

    def place(self, seen: Mapping[str, Placed], *, moved: bool = False) -> Mapping[str, Placed]:
        """Each with the next store sequence. Whose move it was is kept of our own moves, whoever makes them."""
        if not (self._writes or moved):
            return {card_id: replace(placed, sequence=UNSEEN) for card_id, placed in seen.items()}
        if not seen:
            return {}
        made = {}
        with self._ledger.write() as cursor:
            for card_id, placed in seen.items():
                made[card_id] = replace(placed, sequence=take_sequence(cursor))
                put(cursor, ForgeCard, {"board": self._board, "card_id": card_id, **_values(made[card_id])})
        return made

    def cross(self, card_id: str, crossing: Crossing | None) -> None:
        """A move of ours begins, or is over."""
        values = {"origin": crossing.origin, "target": _text(crossing.to)} if crossing else {"origin": "", "target": ""}
        with self._ledger.write() as cursor:
            change(cursor, ForgeCard, {"board": self._board, "card_id": card_id}, **values)

    def crossings(self) -> Mapping[str, Crossing]:
        """Every move of ours that is under way."""
        with self._ledger.database.read_raw() as cursor:
            rows = many(cursor, ForgeCard, board=self._board)
        found = {row["card_id"]: _remembered(row).crossing for row in rows if row["target"]}
        return {card_id: crossing for card_id, crossing in found.items() if crossing is not None}

    def keep_note(self, card_id: str, comment_id: str) -> None:
        """Our status comment on the card."""
        with self._ledger.write() as cursor:
            change(cursor, ForgeCard, {"board": self._board, "card_id": card_id}, note=comment_id)

    def run_of_move(self, card_id: str, labels: Collection[str]) -> str:
        """The run whose own call put one of these labels on the card last, or set its state."""
        operations = [f"{self._seat.forge}.{suffix}" for suffix in MOVES]
        for effect in self._effects.done_on(self._seat.connections, operations, LOOKED_AT):
            named = {effect.params.get("label"), effect.params.get("status")} - {None}
            if effect.params.get("number") == int(card_id) and (not named or named & {*labels}):
                return effect.run_id
        return ""


def _remembered(row: Row) -> Remembered:
    by = MoverKind(row["by"]) if row["by"] else MoverKind.FORGE
    placed = Placed(row["column"], by, row["since"], row["mover"], row["run_id"], row["sequence"])
    placed = replace(placed, entrant=row["entrant"], pinned=row["pinned"])
    crossing = Crossing(row["origin"], row["target"].removeprefix(_NONE)) if row["target"] else None
    return Remembered(placed, crossing, row["note"])


def _values(placed: Placed) -> dict[str, object]:
    return {
        "column": placed.column,
        "by": placed.by.value,
        "mover": placed.mover,
        "run_id": placed.run_id,
        "sequence": placed.sequence,
        "since": placed.since,
        "entrant": placed.entrant,
        "pinned": placed.pinned,
    }


_NONE = "-"
"""How a crossing to no column at all is told from none."""


def _text(to: str) -> str:
    return to or _NONE
