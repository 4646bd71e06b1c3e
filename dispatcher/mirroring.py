"""A forge's board copied into a native one, and the native one's columns shown on the forge (docs/forges.md).

Called at the beginning of T5 for each native board with ``mirror``. A row per card holds its copy, the column that both
sides agreed on last, and the version that was copied: what differs from the row on one side is that side's change, what
both show alike is agreed, so that neither sees its own move come back. Both changed: the forge's column holds, and the
history says so. Only a complete listing is believed; a card that it lacks is read by its number before it counts as
closed or gone. Every change of the forge goes through its board's guarded move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from connectors.base import Absent, Listing, Lookup, Move, Moved, Refused
from connectors.card import Card, Mover, MoverKind
from connectors.drafts import CardDraft, CardPatch
from connectors.errors import ConnectorError, UnknownColumn
from connectors.text import fit_title
from dispatcher import log
from dispatcher.ledger.mirrors import Copy, copies, copy_of, keep
from dispatcher.world import World
from engine.errors import StoreError

if TYPE_CHECKING:
    from connectors.forge.board import LabelBoard
    from connectors.native.board import NativeBoard
    from dispatcher.ledger import Ledger

_log = log.get(__name__)
GONE = "-"
"""The agreed column of a card that is gone from the forge, or whose copy was deleted: it is left alone from then on."""


@dataclass(slots=True)
class Pair:
    """A native board and the forge's board that it mirrors, in one tick."""

    world: World
    native: NativeBoard
    forge: LabelBoard
    columns: frozenset[str] = frozenset()
    """The columns that both have."""
    closing: str = ""
    """Where a closed card goes when the forge's board has no column for it."""
    known: dict[str, Copy] = field(default_factory=dict)

    def save(self, copy: Copy) -> None:
        """Write the row when it says something new."""
        if self.known.get(copy.source_id) != copy:
            keep(self.world.station.ledger, copy)
            self.known[copy.source_id] = copy


@dataclass(frozen=True, slots=True)
class Porter:
    """Who may make a copy start: asked of the card on the forge that it is a copy of. Implements ``Gatekeeper``."""

    ledger: Ledger
    board: str
    forge: LabelBoard

    def _source(self, card: Card) -> Card | None:
        """The card on the forge; None for one that was made here, or is gone there. Raises ``ForgeError``."""
        copy = copy_of(self.ledger, self.board, card.id)
        found = self.forge.get(copy.source_id) if copy is not None and copy.column != GONE else None
        return found if isinstance(found, Card) else None

    def entrant(self, card: Card) -> str:
        """The login of whoever moved it in on the forge; empty for a card that was made here."""
        source = self._source(card)
        return self.forge.entrant(source) if source is not None else ""

    def entered_again(self, card: Card) -> Card | None:
        """The copy, when its card was taken out and put back on the forge since it was seen there."""
        source = self._source(card)
        return card if source is not None and self.forge.entered_again(source) is not None else None

    def may_write(self, login: str) -> bool:
        """Whether the forge lets this person write."""
        return self.forge.may_write(login)

    def unchanged(self, card: Card) -> bool:
        """Whether the card's text on the forge is what it was when it was moved in."""
        source = self._source(card)
        return source is None or self.forge.unchanged(source)


def mirror(world: World) -> None:
    """Bring every pair together. A forge that cannot be read now is left for the next tick; its copies stay."""
    station = world.station
    for name, forge in station.mirrors.items():
        seen = world.reads.get(name)
        if world.dry or seen is None or seen.standby:
            continue
        native = cast("NativeBoard", station.boards[name])
        try:
            with world.in_time(forge.name):
                _bring_together(Pair(world, native, forge))
        except ConnectorError as error:
            _log.warning("mirror.unread", board=name, mirrors=forge.name, error=error.message)


def _bring_together(pair: Pair) -> None:
    pair.forge.finish_moves()
    listing = pair.forge.list_cards(None)
    if not listing.complete:
        why = listing.why or str(listing.stopped)
        _log.warning("mirror.partial", board=pair.native.name, mirrors=pair.forge.name, why=why)
        return
    columns = pair.native.columns()
    pair.columns = frozenset(each.name for each in columns) & {each.name for each in pair.forge.columns()}
    failed = pair.world.roles(pair.native.name).failed
    pair.closing = next((each.name for each in columns if each.terminal and each.name != failed), "")
    pair.known = copies(pair.world.station.ledger, pair.native.name)
    here = pair.native.get_many([copy.card_id for copy in pair.known.values()])
    found, gone = _sources(pair, listing, here)
    fresh = [card for card in found.values() if card.id not in pair.known]
    urls = _urls(pair) if fresh else {}
    for card in sorted(found.values(), key=lambda each: each.number):
        copy = pair.known.get(card.id)
        try:
            if copy is None:
                _adopt(pair, card, urls)
            elif copy.column != GONE:
                _follow(pair, card, copy, here)
        except (ConnectorError, StoreError) as error:
            if isinstance(error, StoreError):
                raise
            told = {"board": pair.native.name, "mirrors": pair.forge.name, "card_id": card.id}
            _log.warning("mirror.card_waits", **told, error=error.message)
    for source_id in gone:
        _end(pair, pair.known[source_id])


def _sources(pair: Pair, listing: Listing, here: Lookup) -> tuple[dict[str, Card], list[str]]:
    """The forge's cards that matter now, and the ids of those that are gone: the open ones, and by their numbers those
    that left the list, or whose copy was moved."""
    found = {card.id: card for card in listing.cards}
    closed = {each.name for each in pair.forge.columns() if each.terminal} | {pair.closing}
    asked = []
    for copy in pair.known.values():
        native = here.found.get(copy.card_id)
        moved = native is not None and native.column != copy.column
        if copy.source_id not in found and copy.column != GONE and (moved or copy.column not in closed):
            asked.append(copy.source_id)
    lookup = pair.forge.get_many(asked)
    return found | dict(lookup.found), [*lookup.gone, *lookup.moved]


def _urls(pair: Pair) -> Mapping[str, Card]:
    """address -> native card: a copy whose row was not written before a crash is found by it."""
    return {card.url: card for card in pair.native.list_cards(None).cards if card.url}


def _adopt(pair: Pair, source: Card, urls: Mapping[str, Card]) -> None:
    """A card that has no copy yet; one that is in no column of both boards gets none."""
    column = _column(pair, source)
    if not column or source.closed:
        return
    known = urls.get(source.url)
    if known is None:
        draft = CardDraft(
            title=fit_title(source.title),
            body=source.body,
            column=column,
            labels=_labels(pair, source),
            priority=source.priority,
            assignee=source.assignee,
            url=source.url,
        )
        known = pair.native.create(draft, Mover(MoverKind.FORGE, source.author))
    pair.save(Copy(pair.native.name, source.id, known.id, known.column or column, source.version))


def _follow(pair: Pair, source: Card, copy: Copy, here: Lookup) -> None:
    """One card and its copy: the texts first, then who moved."""
    native = here.found.get(copy.card_id)
    if native is None:
        if copy.card_id in here.gone:
            pair.save(replace(copy, column=GONE))
        return
    if source.version != copy.version:
        native = _copied(pair, source, native)
        copy = replace(copy, version=source.version)
        pair.save(copy)
    theirs, ours = _column(pair, source), native.column or ""
    if theirs == ours:
        pair.save(replace(copy, column=ours))
    elif theirs and theirs != copy.column:
        _pull(pair, source, native, copy)
    elif ours != copy.column and ours in pair.columns and len(source.columns_seen) < 2:
        _push(pair, source, native, copy)


def _copied(pair: Pair, source: Card, native: Card) -> Card:
    patch = CardPatch(
        title=fit_title(source.title),
        body=source.body,
        labels=_labels(pair, source),
        priority=source.priority,
        assignee=source.assignee,
        url=source.url,
    )
    return pair.native.update(native.id, patch, Mover(MoverKind.FORGE, pair.forge.name))


def _pull(pair: Pair, source: Card, native: Card, copy: Copy) -> None:
    """The forge's column holds, also when the copy was moved elsewhere meanwhile."""
    theirs, ours = _column(pair, source), native.column or ""
    both = ours != copy.column
    reason = f"moved there on {pair.forge.name}, whose column holds over {ours} here" if both else "moved on the forge"
    answer = pair.native.move(native.id, Move(theirs, _mover(pair, source), native.column, reason=reason))
    if isinstance(answer, Moved):
        pair.save(replace(copy, column=theirs))
        _log.info("mirror.followed", board=native.board, card_id=native.id, to=theirs, conflict=both)


def _push(pair: Pair, source: Card, native: Card, copy: Copy) -> None:
    """The copy's column is shown on the forge, if the card is still where both agreed that it was."""
    ours = native.column or ""
    mover = Mover(native.column_by, native.column_mover, native.column_run)
    try:
        answer = pair.forge.move(source.id, Move(ours, mover, source.column, reason="moved on its copy"))
    except UnknownColumn:
        return
    if isinstance(answer, Moved):
        pair.save(replace(copy, column=ours, version=answer.card.version))
        _log.info("mirror.pushed", board=pair.forge.name, card_id=source.id, to=ours)
    elif isinstance(answer, Refused):
        _log.info("mirror.overtaken", board=pair.forge.name, card_id=source.id, why=answer.why)


def _end(pair: Pair, copy: Copy) -> None:
    """The card is gone from the forge: its copy is closed, and left alone from then on."""
    card = pair.native.get(copy.card_id)
    if not isinstance(card, Absent) and not card.closed and pair.closing:
        mover = Mover(MoverKind.FORGE, pair.forge.name)
        pair.native.move(card.id, Move(pair.closing, mover, card.column, reason="it is gone from the forge"))
    pair.save(replace(copy, column=GONE))


def _column(pair: Pair, source: Card) -> str:
    """The column that the copy should be in; empty when there is none that both have."""
    if source.closed and source.column not in pair.columns:
        return pair.closing
    return source.column if source.column in pair.columns and source.column else ""


def _labels(pair: Pair, source: Card) -> tuple[str, ...]:
    """The labels that say no column."""
    columns = {column.title.casefold() for column in pair.forge.columns()}
    return tuple(label for label in source.labels if label.casefold() not in columns)


def _mover(pair: Pair, source: Card) -> Mover:
    """Who put the card where it is, as the forge tells it: gestures go by that name."""
    if not source.column_mover:
        try:
            told = pair.forge.last_move_in(source.id)
        except ConnectorError:
            told = None
        return told or Mover(MoverKind.FORGE, source.author)
    by = source.column_by if source.column_by is MoverKind.BOT else MoverKind.FORGE
    return Mover(by, source.column_mover, source.column_run)
