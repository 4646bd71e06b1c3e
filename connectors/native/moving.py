"""Moves between columns and places within one, each one open change with its event (dispatcher.md 17 and 29)."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import select, update

from connectors.base import Move, Moved, Place, Refused
from connectors.card import BoardEventType, Card, Column, Mover
from connectors.errors import BadCard, InvalidColumn
from connectors.moves import Go, Refuse, Spot, decide_move, place_of, positions_for
from connectors.native import schema
from connectors.native.cards import column_values, touch
from connectors.native.reading import columns_of, need_card
from connectors.native.rows import Decoder
from connectors.native.unit import Unit
from connectors.queries import column_named
from connectors.text import check_reason

_TYPE = BoardEventType


def move(unit: Unit, card_id: str, wanted: Move) -> Moved | Refused:
    """Move a card if it is as expected; the decision is ``moves.decide_move``. Raises ``UnknownColumn`` first."""
    check_reason(wanted.reason)
    columns = columns_of(unit)
    to = column_named(columns, wanted.to)
    decoder = Decoder.of(unit.board, columns)
    card = need_card(unit, card_id, decoder)
    if card.archived:
        return Refused(card, "it is put away; bring it back first: card unarchive")
    present = next((column for column in columns if column.name == card.column), None)
    decision = decide_move(card, wanted, present, to)
    if isinstance(decision, Refuse):
        return Refused(card, decision.why)
    if not isinstance(decision, Go):
        return Moved(card, changed=False)
    values = column_values(unit, to.id, wanted.mover)
    row = touch(unit, card, {**values, "position": None})
    origin = present or Column("", place_of(card), "")
    tell_move(
        unit, card.id, (origin, to), wanted.mover, {"reason": wanted.reason, "sequence": values["column_sequence"]}
    )
    return Moved(decoder.changed(card, row))


def tell_move(unit: Unit, card_id: str, way: tuple[Column, Column], mover: Mover, told: Mapping[str, object]) -> None:
    """What the history says of a move from one column to another: the move, and that it opened or closed the card."""
    origin, to = way
    unit.event(_TYPE.CARD_MOVED, card_id, mover, {"from": origin.name, "to": to.name, **told})
    if origin.terminal and not to.terminal:
        unit.event(_TYPE.CARD_REOPENED, card_id, mover, {"column": to.name})
    if to.terminal and not origin.terminal:
        unit.event(_TYPE.CARD_CLOSED, card_id, mover, {"column": to.name})


def close(unit: Unit, card_id: str, mover: Mover, failed: str) -> Moved:
    """Move a card to the first terminal column that is not the failed one. A closed card stays where it is."""
    columns = columns_of(unit)
    card = need_card(unit, card_id)
    if card.closed:
        return Moved(card, changed=False)
    answer = move(unit, card_id, Move(to=closing_column(columns, failed).name, mover=mover, reason="closed"))
    assert isinstance(answer, Moved)
    return answer


def closing_column(columns: tuple[Column, ...], failed: str) -> Column:
    """Where closed cards go. Raises ``InvalidColumn`` on a board without such a column."""
    for column in columns:
        if column.terminal and column.name != failed and failed not in column.aliases:
            return column
    raise InvalidColumn("This board has no terminal column to close cards into.", "Add one: board columns add.")


def place(unit: Unit, card_id: str, wanted: Place, mover: Mover) -> Card:
    """Put a card right before or right behind another of its column.

    Raises BadCard for itself, for a card of another column, and where one of the two is put away.
    """
    card = need_card(unit, card_id)
    other = need_card(unit, wanted.before or wanted.behind)
    if other.id == card.id:
        raise BadCard(f"Card #{card.number} has no place beside itself.", "Name another card of its column.")
    if away := next((each for each in (card, other) if each.archived), None):
        raise BadCard(f"Card #{away.number} is put away.", f"Bring it back first: card unarchive {away.number}.")
    if other.columns_seen != card.columns_seen:
        raise BadCard(
            f"Card #{other.number} is in {place_of(other)}; card #{card.number} is in {place_of(card)}.",
            "Name another card of the same column, or move the card there first.",
        )
    spots = [spot for spot in _spots(unit, card.id) if spot.id != card.id]
    index = [spot.id for spot in spots].index(other.id) + (0 if wanted.before else 1)
    spots.insert(index, Spot(card.id, None))
    positions = positions_for(spots, index)
    table = schema.CARD
    for each, position in positions.items():
        if each != card.id:
            unit.connection.execute(update(table).where(table.c.id == each).values(position=position))
    touch(unit, card, {"position": positions[card.id]})
    told = {"position": positions[card.id], "before": wanted.before, "behind": wanted.behind}
    unit.event(_TYPE.CARD_UPDATED, card.id, mover, {"changed": {"position": told}})
    return need_card(unit, card.id)


def _spots(unit: Unit, card_id: str) -> list[Spot]:
    """The cards of the card's column with their positions, in the order without priorities."""
    card = schema.CARD.c
    here = select(card.column_id).where(card.id == card_id).scalar_subquery()
    statement = (
        select(card.id, card.position)
        .where(card.board == unit.board, card.column_id == here, card.archived_at == "")
        .order_by(card.position.is_(None), card.position, card.created_at, card.number)
    )
    return [Spot(row.id, row.position) for row in unit.connection.execute(statement)]
