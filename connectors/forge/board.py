"""``LabelBoard``: the board contract over any forge, columns being labels and states (connectors.md 3 to 6).

The one implementation for GitHub, GitLab and Forgejo; what differs stands in the client and its traits. The dispatcher
drives it like the native board. Everything that changes the forge has a row and goes through the effects' guard.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from connectors.base import Absent, Capability, CardQuery, Listing, Lookup, Move, Moved, Refused
from connectors.card import Card, Column, Comment, Mover, MoverKind
from connectors.catalogue import results
from connectors.catalogue.operations import OPERATIONS
from connectors.deadline import Timekeeper
from connectors.effects.guard import Change, Done, Effect, Row
from connectors.effects.journal import Desk as SendingDesk
from connectors.effects.journal import Order, Past
from connectors.effects.markers import carries, markers_in, with_pairs
from connectors.errand import Errand
from connectors.errors import (
    AmbiguousEffect,
    CardDeleted,
    ForgeError,
    ForgeRefused,
    InvalidText,
    UnknownCard,
    UnknownColumn,
)
from connectors.forge import operations
from connectors.forge.board_moving import SETTLING
from connectors.forge.board_moving import Mover as Moving
from connectors.forge.board_reading import WATCHING, BoardReader
from connectors.forge.cards import BoardPlan, text_digest
from connectors.forge.claim_refs import ClaimRefs
from connectors.forge.claiming import ClaimComments, Claims
from connectors.forge.client import ForgeClient, Traits
from connectors.forge.code_changes import CHANGES
from connectors.forge.desk import Desk, Words
from connectors.forge.entrants import Entrants
from connectors.forge.issue_changes import edited, new_comment, own_comments
from connectors.forge.memory import ForgeMemory
from connectors.forge.records import ForgeComment, Missing, Subject
from connectors.limiter.state import Standing
from connectors.observer import Observer, Silent
from connectors.queries import column_named, page_of

STATUS_KEY = "status"
"""The key in the marker of the one status comment of a card."""
COLOR = "ededed"
"""The colour of a label that is made for a column."""


@dataclass(frozen=True, slots=True)
class Hands:
    """With what a board works besides its client."""

    memory: ForgeMemory
    sending: SendingDesk
    words: Words
    clock: Timekeeper
    observer: Observer = field(default_factory=Silent)


class LabelBoard:
    """One board over a forge. Implements ``connectors.base.Board``."""

    def __init__(self, plan: BoardPlan, client: ForgeClient, hands: Hands) -> None:
        self.name, self.kind = plan.name, client.kind
        self.client = client
        self.capabilities = _capabilities(client.traits)
        self._plan = plan
        self._reader = BoardReader(plan, client, hands.memory, hands.clock, hands.observer)
        self._hands = hands = replace(hands, sending=replace(hands.sending, closed=self._reader.place.closed))
        self._moving = Moving(self._reader, hands.sending, hands.clock, hands.observer)
        self._entrants = Entrants(plan, client, self._reader, hands.clock)
        by = ClaimRefs if plan.claims_by_ref and client.traits.refs_claim else ClaimComments
        self.claiming: Claims = by(plan.name, client, hands.sending, self._desk("", ""), hands.clock, [])
        self._shown: Listing | None = None

    def columns(self) -> tuple[Column, ...]:
        """All columns in their order, as configured; the title is the label's present name."""
        known = self._hands.memory.columns()
        titles = {name: label.name for name, label in known.items()}
        return tuple(replace(column, title=titles.get(column.name, column.title)) for column in self._plan.columns)

    def list_cards(self, columns: Collection[str] | None) -> Listing:
        """Every card that the forge shows in one of the columns. Raises ``ForgeError`` when nothing could be read."""
        listing = self._reader.list_cards(columns)
        if columns:
            self._shown = listing
        return listing

    def linked(self, cards: Sequence[Card]) -> tuple[Card, ...]:
        """Cards of a listing with what they wait for, which a listing does not ask; a few at a time."""
        return self._reader.links.completed(cards)

    def standing(self) -> Standing:
        """How the credential stands with the forge. No call."""
        return self.client.pace.standing()

    def shown(self) -> Listing | None:
        """What the last listing of named columns brought, a tick's as a rule; None before the first. No call."""
        return self._shown

    def get(self, card_id: str) -> Card | Absent:
        """One card by its number. Raises ``ForgeError`` when it cannot be read."""
        return self._reader.get(card_id)

    def resolve(self, text: str) -> str:
        """The id behind ``12`` or ``#12``; whether it is there is not asked. Raises ``UnknownCard``."""
        number = text.strip().removeprefix("#")
        if number.isascii() and number.isdigit() and int(number):
            return str(int(number))
        raise UnknownCard(f'"{text}" is no card of {self.name}.', "Its cards are named by their numbers: #12.")

    def query(self, query: CardQuery) -> Listing:
        """One filtered page of a whole listing. Raises ``UnknownColumn``, ``ForgeError``."""
        names = [column_named(self._plan.columns, name).name for name in query.columns]
        return page_of(self.list_cards(names or None), query, names)

    def get_many(self, card_ids: Collection[str]) -> Lookup:
        """Many cards by their numbers."""
        return self._reader.get_many(card_ids) if card_ids else Lookup()

    def move(self, card_id: str, move: Move) -> Moved | Refused | Absent:
        """Raises ``UnknownColumn``, ``ColumnLost``, ``MovePending`` and ``ForgeError``."""
        return self._moving.move(card_id, move)

    def finish_moves(self) -> None:
        """Carry what a crash or a lag left half done to its end; called before each reading of a tick."""
        self._moving.finish()

    def add_label(self, card_id: str, label: str) -> bool:
        """One label, which must exist; whether it was not there before. Raises what the forge's calls raise."""
        return self._operate(card_id, "label.add", {"label": label})

    def remove_label(self, card_id: str, label: str) -> bool:
        """One label; whether it was there before."""
        return self._operate(card_id, "label.remove", {"label": label})

    def missing_labels(self) -> tuple[str, ...]:
        """The labels that columns are mapped to and that the forge does not have. Raises ``ForgeError``."""
        found, places = self._reader.resolve(WATCHING), self._plan.places
        return tuple(places[name].label for name, each in found.items() if each.label is None and places[name].label)

    def define_label(self, name: str) -> None:
        """Make a label; one that exists stays as it is. A person orders it, never a move (connectors.md 4).

        Raises ``UnknownColumn`` for a label of no column, and what the forge's calls raise.
        """
        if name not in {place.label for place in self._plan.places.values()}:
            raise UnknownColumn(f'"{name}" is the label of no column.', "Map it in boards[].columns.")
        self._operate("", "label.define", {"name": name, "color": COLOR})

    def close(self, card_id: str) -> bool:
        """The state, never a label; whether the card was open before."""
        return self._operate(card_id, "issue.close", {})

    def reopen(self, card_id: str) -> bool:
        """The state; whether the card was closed before."""
        return self._operate(card_id, "issue.reopen", {})

    def _operate(self, card_id: str, suffix: str, given: Mapping[str, object]) -> bool:
        entry = OPERATIONS[suffix]
        numbered = {"number": int(card_id)} if card_id else {}
        params = entry.params.model_validate({**numbered, **given})
        place = f"{suffix} {given.get('label', '') or given.get('name', '')}".strip()
        order = Order(self.name, card_id, place, f"{self.client.kind}.{suffix}", entry.effect, params.model_dump())
        made: list[bool] = []

        def declare(row: Row) -> Change[Any]:
            change = CHANGES[suffix](replace(self._desk(row.effect_id, row.marker), params=params))

            def send(errand: Errand) -> Any:
                made.append(True)
                return change.send(errand)

            return replace(change, send=send)

        self._hands.sending.carry(order, declare, SETTLING)
        return bool(made)

    def may_write(self, login: str) -> bool:
        """Whether this person may write to the repository, as the forge said within a minute. Raises ``ForgeError``."""
        return self._entrants.may_write(login)

    def entrant(self, card: Card) -> str:
        """The login of whoever moved the card in last, ourselves left out; its author when the forge tells of no move.

        Raises ``ForgeError``.
        """
        return self._entrants.of(card)

    def entered_again(self, card: Card) -> Card | None:
        """The card, when somebody took it out and put it back since it was seen there. Raises ``ForgeError``."""
        return self._entrants.again(card)

    def unchanged(self, card: Card) -> bool:
        """Whether the card's text is what it was when it was moved in."""
        return not card.pinned or text_digest(card.title, card.body) == card.pinned

    def last_move_in(self, card_id: str) -> Mover | None:
        """Who put the card into its column, as the forge tells it; None when it does not."""
        found = self._reader.look(int(card_id), WATCHING)
        if isinstance(found, Missing):
            return None
        event = self._reader.last_move(found.issue, found.spotted, found.found, WATCHING)
        return Mover(MoverKind.FORGE, event.actor) if event is not None else None

    @property
    def known_login(self) -> str:
        """Our own account's name, empty while nothing has asked for it; asks nobody."""
        return self._reader.known_login

    def comments(self, card_id: str) -> tuple[Comment, ...]:
        """A card's comments, oldest first. Raises ``ForgeError``."""
        read = self.client.comments(Subject(int(card_id)), WATCHING)
        login = self._reader.login(WATCHING)
        return tuple(_comment(each, ours=each.author == login and any(markers_in(each.body))) for each in read.items)

    def comment(self, card_id: str, text: str, author: Mover, *, place: str = "") -> Comment:
        """One comment with its marker; one of the same ``place`` is never made twice.

        Raises ``CardDeleted``, ``InvalidText``, ``AmbiguousEffect`` and what the forge's calls raise.
        """
        self._writable(card_id, text)
        order = self._order(card_id, f"comment {place}" if place else "", Effect.AMBIGUOUS, "comment")
        past = self._hands.sending.journal.newest(order) if place else None
        if past is not None and (past.done or past.in_doubt):
            return self._earlier(card_id, past)
        return self._made(card_id, order, text)

    def _earlier(self, card_id: str, past: Past) -> Comment:
        """The comment that was made, or may have been: then it is looked for, and never made again."""
        if past.done:
            return _stored(card_id, past.response)
        desk = self._desk(past.effect_id, past.marker)
        change = new_comment(replace(desk, sent_at=past.sent_at), Subject(int(card_id)), "")
        assert change.look is not None
        seen = change.look(SETTLING)
        if isinstance(seen, Done):
            response = seen.result.model_dump(mode="json")
            self._hands.sending.journal.found(past.effect_id, response)
            return _stored(card_id, response)
        text = f"a comment on card {card_id} may have been made and is not found"
        hint = f"look at the card, then: pointsman effects show {past.effect_id}"
        raise AmbiguousEffect(text, hint, effect_id=past.effect_id)

    def _made(self, card_id: str, order: Order, text: str, **keys: str) -> Comment:
        def declare(row: Row) -> Change[results.Comment]:
            marker = with_pairs(row.marker, **keys)
            whole = self._hands.words.compose(text, marker)
            return new_comment(self._desk(row.effect_id, row.marker), Subject(int(card_id)), whole)

        try:
            made = self._hands.sending.carry(order, declare, SETTLING, lambda result: result.model_dump(mode="json"))
        except AmbiguousEffect as lost:
            return self._looked_up(card_id, order, lost)
        return _stored(card_id, made.model_dump(mode="json"))

    def _looked_up(self, card_id: str, order: Order, lost: AmbiguousEffect) -> Comment:
        """What the forge shows at once of a comment whose answer was lost; raises ``lost`` when it cannot be asked."""
        past = self._hands.sending.journal.newest(order)
        if past is None or not past.in_doubt:
            raise lost
        try:
            return self._earlier(card_id, past)
        except AmbiguousEffect:
            raise
        except ForgeError:
            raise lost from None

    def post_status(self, card_id: str, text: str, *, place: str) -> Comment:
        """The one status comment of a card: made once, edited in place, made anew when somebody deleted it.

        ``place`` says for which outcome; the same text for the same place is written once.
        """
        self._writable(card_id, text)
        order = self._order(card_id, f"status {place}", Effect.IDEMPOTENT, "status")
        past = self._hands.sending.journal.newest(order)
        if past is not None and past.done:
            return _stored(card_id, past.response)
        known = self._status(card_id)
        if past is not None and past.in_doubt and known is not None and carries(known.body, past.effect_id):
            return self._earlier(card_id, past)
        if known is None:
            created = self._order(card_id, f"status {place}", Effect.AMBIGUOUS, "status")
            if past is not None and past.in_doubt:
                return self._earlier(card_id, past)
            made = self._made(card_id, created, text, key=STATUS_KEY)
        else:
            made = self._rewritten(card_id, order, known, text)
        self._hands.memory.keep_note(card_id, made.id)
        return made

    def _status(self, card_id: str) -> ForgeComment | None:
        """Our status comment: by its stored id, else by its marker."""
        note = next((each.note for each in self._hands.memory.cards([card_id]).values()), "")
        mine = own_comments(self._desk("", ""), Subject(int(card_id)), SETTLING)
        by_id = [each for each in mine if each.id == note]
        marked = [each for each in mine if any(found.key == STATUS_KEY for found in markers_in(each.body))]
        return next(iter((*by_id, *marked)), None)

    def _rewritten(self, card_id: str, order: Order, known: ForgeComment, text: str) -> Comment:
        def declare(row: Row) -> Change[results.Comment]:
            whole = self._hands.words.compose(text, with_pairs(row.marker, key=STATUS_KEY))
            return edited(self._desk(row.effect_id, row.marker), known, whole)

        made = self._hands.sending.carry(order, declare, SETTLING, lambda result: result.model_dump(mode="json"))
        return _stored(card_id, made.model_dump(mode="json"))

    def edit_comment(self, card_id: str, comment_id: str, text: str) -> Comment:
        """Another text for a comment of ours; its marker stays. Raises ``ForgeRefused`` for another's."""
        self._writable(card_id, text)
        order = self._order(card_id, f"edit comment {comment_id}", Effect.IDEMPOTENT, "edit_comment")
        mine = own_comments(self._desk("", ""), Subject(int(card_id)), SETTLING)
        known = next((each for each in mine if each.id == comment_id), None)
        if known is None:
            raise ForgeRefused(f"comment {comment_id} is not one of ours", "only own comments are edited", status=403)
        return self._rewritten(card_id, order, known, text)

    def _writable(self, card_id: str, text: str) -> None:
        if not text.strip():
            raise InvalidText("The comment is empty.", "Write something.")
        if not card_id.isdigit():
            raise CardDeleted(f"There is no card {card_id} on this board.")

    def _order(self, card_id: str, place: str, effect: Effect, what: str) -> Order:
        operation = f"{self.client.kind}.board.{what}"
        return Order(self.name, card_id, place, operation, effect, {"number": int(card_id)})

    def _desk(self, effect_id: str, marker: str) -> Desk:
        reading: Errand = SETTLING
        return Desk(self.client, self._hands.words, self._hands.clock, None, reading, effect_id, marker)


def _probe_comment(desk: Desk) -> operations.Made | operations.Unmade | operations.Unseen | operations.Unread:
    """Whether a comment of the board was made: by its marker among our own on that card."""
    change = new_comment(desk, Subject(int(str(desk.params["number"]))), "")
    return operations.looked(change, desk, Effect.AMBIGUOUS)


def _probe_request(_desk: Desk) -> operations.Made | operations.Unmade | operations.Unseen | operations.Unread:
    """Half a move, an edit, a claim's ref: the next tick reads the card and goes on from what it shows."""
    return operations.Unmade("the card is read again by the next tick, which goes on from what it shows")


PROBES: Mapping[str, Callable[[Desk], operations.Made | operations.Unmade | operations.Unseen | operations.Unread]] = (
    MappingProxyType(
        {
            "board.comment": _probe_comment,
            "board.status": _probe_comment,
            "board.edit_comment": _probe_request,
            "board.remove_comment": _probe_request,
            "board.move": _probe_request,
            "board.tree": _probe_request,
            "board.commit": _probe_request,
            "board.ref": _probe_request,
            "board.remove_ref": _probe_request,
        }
    )
)
"""suffix of a board write -> how it is looked up."""


def _capabilities(traits: Traits) -> frozenset[Capability]:
    more = {
        Capability.HALVES: not traits.swaps,
        Capability.SINGLE_READS: traits.chunk == 1,
        Capability.CONTRADICTIONS: not traits.exclusive,
    }
    return frozenset({Capability.REMOTE, Capability.LABELS, *(each for each, has in more.items() if has)})


def _comment(comment: ForgeComment, *, ours: bool) -> Comment:
    kind = MoverKind.DISPATCHER if ours else MoverKind.FORGE
    edited_at = comment.updated_at if comment.updated_at > comment.created_at else None
    author = Mover(kind, comment.author)
    return Comment(comment.id, str(comment.number), author, comment.body, comment.created_at, edited_at)


def _stored(card_id: str, response: object) -> Comment:
    """The comment as an effect row keeps it; a person who says that it was made need not tell which it is."""
    try:
        made = results.Comment.model_validate(response)
    except ValidationError:
        return Comment("", card_id, Mover(MoverKind.DISPATCHER), "", datetime.min.replace(tzinfo=UTC))
    return Comment(made.id, card_id, Mover(MoverKind.DISPATCHER, made.author), made.body, made.created_at)
