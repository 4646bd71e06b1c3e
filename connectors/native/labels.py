"""Labels over the whole board: how often each is used, and renaming one on every card at once (dispatcher.md 29)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sqlalchemy import select

from connectors.base import CardQuery
from connectors.card import BoardEventType, Card, Mover
from connectors.drafts import check_labels
from connectors.errors import BadCard
from connectors.native import schema
from connectors.native.cards import touch
from connectors.native.reading import cards_where, columns_of, conditions_of
from connectors.native.rows import encode_labels, texts_of
from connectors.native.unit import Look, Unit
from connectors.text import check_name, same_name


def counts(look: Look) -> Mapping[str, int]:
    """The labels of all cards that are not put away, by name."""
    card = schema.CARD.c
    wanted = select(card.labels).where(card.board == look.board, card.archived_at == "")
    found: Counter[str] = Counter()
    for text in look.connection.execute(wanted).scalars():
        try:
            found.update(texts_of(text))
        except (ValueError, TypeError):
            continue
    return dict(sorted(found.items()))


def rename(unit: Unit, old: str, new: str, mover: Mover) -> int:
    """Every card that carries ``old`` carries ``new`` in its place; an empty one takes it away. Raises ``BadCard``."""
    if new:
        check_name("label", new)
    changed = 0
    for put_away in (False, True):
        conditions = conditions_of(CardQuery(label=old, archived=put_away), columns_of(unit))
        for card in [each for each in cards_where(unit, conditions) if isinstance(each, Card)]:
            wanted = (new if same_name(label) == same_name(old) else label for label in card.labels)
            touch(unit, card, encode_labels(check_labels(label for label in wanted if label)))
            changed += 1
    if not changed:
        raise BadCard(f'No card carries the label "{old}".', "See which there are: board labels.")
    unit.event(BoardEventType.LABEL_RENAMED, "", mover, {"from": old, "to": new or None, "cards": changed})
    return changed
