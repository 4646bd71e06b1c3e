"""Reading a board over a forge: listings, reads by number, columns' labels, who moved a card (connectors.md 5).

Used by ``board`` and ``board_writing``. Nothing here changes the forge; what is remembered is where cards were seen.
A read that fails in part says so in its answer; one that fails as a whole raises a ``ForgeError``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from connectors.answer import Read, StopReason
from connectors.base import Absent, AbsentKind, Clock, Listing, Lookup, Unread
from connectors.card import Card, MoverKind
from connectors.errand import Errand, Purpose
from connectors.errors import ConnectorError, ForgeError, ForgeRefused, Unreachable
from connectors.forge.cards import BoardPlan, Spotted, card_of, spot, text_digest
from connectors.forge.client import ForgeClient
from connectors.forge.columns import Resolved, Seen, known_of, resolve
from connectors.forge.desk import whole
from connectors.forge.links import LISTING, Links, Waits
from connectors.forge.memory import Crossing, ForgeMemory, KnownLabel, Placed, Remembered
from connectors.forge.records import Issue, IssueQuery, LabelEvent, Missing, MissingKind
from connectors.forge.whereabouts import Whereabouts
from connectors.moves import order_key
from connectors.observer import Observer

WATCHING = Errand(Purpose.WATCH)
STALE = timedelta(minutes=10)
"""So old a forge's answer may be: until then what shows nothing of our move does not prove that none was made."""
LinksOf = Callable[[Issue, Errand], Waits]
"""How a read learns what an issue waits for."""


@dataclass(frozen=True, slots=True)
class Sight:
    """An issue as a card, with where it is and what is remembered of it."""

    issue: Issue
    spotted: Spotted
    crossing: Crossing | None
    card: Card
    note: str
    found: Mapping[str, Resolved]


class BoardReader:
    """The reads of one board. Safe to share between threads as far as its memory is."""

    def __init__(
        self, plan: BoardPlan, client: ForgeClient, memory: ForgeMemory, clock: Clock, observer: Observer
    ) -> None:
        self.plan, self.client, self.memory = plan, client, memory
        self._observer = observer
        self.clock = clock
        self.place = Whereabouts(client)
        self.links = Links(plan, client, clock, observer)
        self._told: set[tuple[str, ...]] = set()
        self._login = ""

    def resolve(self, errand: Errand) -> dict[str, Resolved]:
        """column -> its label, as the forge has it now; what changed is remembered and told once.

        Raises ``ForgeError`` when the labels cannot be read to their end.
        """
        if not any(place.name for place in self.plan.places.values()):
            return {}
        known = self.memory.columns()
        try:
            read = self.client.labels(errand)
        except ForgeRefused as error:
            raise self.place.explained(error) from error
        self.place.note(read.moved_to)
        labels = whole(read)
        found = resolve(self.plan.places, known, labels, folds_case=self.client.traits.folds_case)
        self._tell_columns(known, found)
        self.memory.keep_columns(known_of(self.plan.places, found))
        return found

    def _tell_columns(self, known: Mapping[str, KnownLabel], found: Mapping[str, Resolved]) -> None:
        for column, each in found.items():
            told = {"board": self.plan.name, "column": column}
            state = (column, each.seen.value, each.near)
            if state in self._told:
                continue
            self._told = {other for other in self._told if other[0] != column} | {state}
            name = each.label.name if each.label else ""
            if each.seen is Seen.RENAMED:
                self._observer.event("column.renamed", "warning", **told, before=known[column].name, after=name)
            elif each.seen is Seen.REMADE:
                self._observer.event("column.remade", "info", **told, label=name)
            elif each.seen is Seen.LOST:
                self._observer.event("column.lost", "warning", **told, near=each.near)
            elif each.near:
                self._observer.event("column.near_miss", "warning", **told, near=each.near)

    def list_cards(self, columns: Collection[str] | None) -> Listing:
        """Every card that the forge shows in one of the columns; None means every open card."""
        if columns is not None and not columns:
            return Listing((), True, self.clock.now())
        found = self.resolve(LISTING)
        wanted = {name: self.plan.places[name] for name in self.plan.places if columns is None or name in columns}
        lost = [name for name in wanted if name in found and found[name].label is None]
        try:
            reads = [self.client.issues(query, LISTING) for query in self._queries(columns, wanted, found)]
        except ForgeRefused as error:
            raise self.place.explained(error) from error
        for read in reads[:1]:
            self.place.note(read.moved_to)
        issues = self._looked_at({issue.number: issue for read in reads for issue in read.items}, found)
        sights = self.sights(issues.values(), found, LISTING, lambda issue, _errand: self.links.known(issue))
        shown = [s.card for s in sights if columns is None or set(s.spotted.columns) & wanted.keys()]
        for read in reads:
            if read.skipped:
                self._observer.event("board.skipped", "debug", board=self.plan.name, **read.skipped)
        return self._listing(shown, reads, lost)

    def _looked_at(self, issues: Mapping[int, Issue], found: Mapping[str, Resolved]) -> Mapping[int, Issue]:
        """The issues, those read anew by their numbers that a list shows elsewhere than we put them lately.

        Lists lag: what one shows right behind our own move may be older than it, and would look like a person's word.
        """
        folds, now = self.client.traits.folds_case, self.clock.now()
        current = dict(issues)
        for card_id, known in self.memory.cards([str(number) for number in issues]).items():
            issue, placed = issues[int(card_id)], known.placed
            lately = placed.by is MoverKind.DISPATCHER and now - placed.since < STALE
            if lately and spot(self.plan, issue, found, known.crossing, folds_case=folds).column != placed.column:
                self._look_again(current, issue)
        return current

    def _look_again(self, current: dict[int, Issue], issue: Issue) -> None:
        """The issue as it is now; one that cannot be read is left out of this listing."""
        try:
            again = self.client.issue(issue.number, LISTING)
        except ForgeError as error:
            self._observer.event("board.skipped", "debug", board=self.plan.name, unread=error.message)
            again = Missing(MissingKind.NOT_FOUND)
        if isinstance(again, Missing):
            del current[issue.number]
        else:
            current[issue.number] = again

    def _queries(
        self, columns: Collection[str] | None, wanted: Mapping[str, object], found: Mapping[str, Resolved]
    ) -> list[IssueQuery]:
        if self.client.traits.lists_whole:
            return [IssueQuery(state="open" if columns is None else "all")]
        queries = []
        if columns is None or self.plan.open_column in wanted:
            queries.append(IssueQuery())
        else:
            labels = {each.label for name, each in found.items() if name in wanted and each.label is not None}
            queries += [IssueQuery(label=label) for label in sorted(labels, key=lambda label: label.name)]
        if columns is not None and self.plan.closed_column in wanted:
            queries.append(IssueQuery(state="closed"))
        return queries

    def _listing(self, cards: list[Card], reads: Iterable[Read[Issue]], lost: list[str]) -> Listing:
        unread = {
            each.number: Unread(str(each.number), f"the field {each.where} does not fit", each.number)
            for read in reads
            for each in read.unfit
        }
        cut = next((read for read in reads if not read.complete), None)
        stopped, why = (cut.stopped, cut.why) if cut is not None else (None, "")
        gone = f"column {', '.join(lost)} lost: the forge has no such label" if lost and cut is None else ""
        if gone:
            stopped, why = StopReason.REFUSED, gone
        complete = cut is None and not lost
        ordered = tuple(sorted(cards, key=order_key))
        degraded = "; ".join(filter(None, (self.place.closed(), gone)))
        return Listing(ordered, complete, self.clock.now(), stopped, why, tuple(unread.values()), degraded)

    def get(self, card_id: str) -> Card | Absent:
        """One card. Raises ``ForgeError`` when it cannot be read."""
        lookup = self._many([card_id], self.links.asked)
        if card_id in lookup.unread:
            hint = "try again later; pointsman doctor tells what is wrong with the connection"
            raise Unreachable(f"card {card_id} cannot be read: {lookup.unread[card_id]}", hint)
        if card_id in lookup.moved:
            return Absent(card_id, AbsentKind.GONE, lookup.moved[card_id])
        return lookup.found.get(card_id) or lookup.gone.get(card_id) or Absent(card_id, AbsentKind.UNKNOWN)

    def get_many(self, card_ids: Collection[str]) -> Lookup:
        """Cards by their ids, in chunks; each id lands in exactly one place, and a failing chunk is unread alone."""
        return self._many(card_ids, self.links.watched)

    def _many(self, card_ids: Collection[str], links: LinksOf) -> Lookup:
        numbers = sorted({int(each) for each in card_ids if each.isdigit()})
        strange = {each: Absent(each, AbsentKind.UNKNOWN) for each in card_ids if not each.isdigit()}
        if not numbers:
            return Lookup(gone=strange)
        chunk = self.client.traits.chunk
        issues: dict[int, Issue] = {}
        missing: dict[int, Missing] = {}
        unread: dict[int, str] = {}
        for start in range(0, len(numbers), chunk):
            seen = self.client.issues_many(numbers[start : start + chunk], WATCHING)
            issues.update(seen.found)
            missing.update(seen.missing)
            unread.update(seen.unread)
        try:
            sights = self.sights(issues.values(), self.resolve(WATCHING), WATCHING, links) if issues else []
        except ConnectorError as error:
            unread.update(dict.fromkeys(issues, error.message))
            sights = []
        gone, moved, hidden = self._absent(missing)
        unread.update(hidden)
        return Lookup(
            found={s.card.id: s.card for s in sights},
            gone={**strange, **gone},
            moved=moved,
            unread={str(number): why for number, why in unread.items()},
        )

    def _absent(self, missing: Mapping[int, Missing]) -> tuple[dict[str, Absent], dict[str, str], dict[int, str]]:
        """Gone, moved, and what only looks gone because its repository cannot be seen."""
        moved = {str(n): each.moved_to for n, each in missing.items() if each.kind is MissingKind.MOVED}
        gone = {n for n, each in missing.items() if each.kind is MissingKind.GONE}
        hidden = {n for n, each in missing.items() if each.kind is MissingKind.NOT_FOUND}
        why = self.place.fault() if gone or hidden else ""
        if why:
            return {}, moved, dict.fromkeys(gone | hidden, why)
        return {str(n): Absent(str(n), AbsentKind.GONE) for n in gone | hidden}, moved, {}

    def look(self, number: int, errand: Errand) -> Sight | Missing:
        """One issue as it is now, by its number."""
        issue = self.client.issue(number, errand)
        if isinstance(issue, Missing):
            return issue
        links = self.links.settling if errand.purpose is Purpose.SETTLE else self.links.asked
        return self.sights([issue], self.resolve(errand), errand, links)[0]

    def sights(
        self, issues: Iterable[Issue], found: Mapping[str, Resolved], errand: Errand, links: LinksOf
    ) -> list[Sight]:
        """The issues as cards; those elsewhere than remembered take a new place."""
        every = list(issues)
        remembered = self.memory.cards([str(issue.number) for issue in every])
        folds = self.client.traits.folds_case
        spots: dict[int, Spotted] = {}
        news: dict[str, Placed] = {}
        for issue in every:
            known = remembered.get(str(issue.number))
            spots[issue.number] = spot(self.plan, issue, found, known.crossing if known else None, folds_case=folds)
            placed = self._place(issue, spots[issue.number], known, found, errand)
            if placed is not None:
                news[str(issue.number)] = _entered(placed, issue, known)
        placed_now = {key: each.placed for key, each in remembered.items()} | dict(self.memory.place(news))
        sights = []
        for issue in every:
            key = str(issue.number)
            card = card_of(self.plan, issue, spots[issue.number], placed_now[key], links(issue, errand))
            old = remembered.get(key)
            sights.append(
                Sight(issue, spots[issue.number], old.crossing if old else None, card, old.note if old else "", found)
            )
        return sights

    def _place(
        self,
        issue: Issue,
        spotted: Spotted,
        known: Remembered | None,
        found: Mapping[str, Resolved],
        errand: Errand,
    ) -> Placed | None:
        """The new place of a card that is elsewhere than remembered, None for one that stayed."""
        if known is None:
            return Placed(spotted.column, MoverKind.FORGE, issue.updated_at)
        if known.placed.column == spotted.column:
            return None
        if known.crossing is not None and known.crossing.to == spotted.column:
            return Placed(spotted.column, MoverKind.DISPATCHER, self.clock.now())
        return self._moved_by(issue, spotted, found, errand)

    def _moved_by(self, issue: Issue, spotted: Spotted, found: Mapping[str, Resolved], errand: Errand) -> Placed:
        """Who moved the card, as the forge tells it: a person, or a run by its own call."""
        event = self.last_move(issue, spotted, found, errand)
        if event is None:
            return Placed(spotted.column, MoverKind.FORGE, issue.updated_at)
        plain = Placed(spotted.column, MoverKind.FORGE, event.at, event.actor)
        try:
            ours = self.login(errand) == event.actor
        except ForgeError:
            return plain
        label = found[spotted.column].label if spotted.column in found else None
        run = self.memory.run_of_move(str(issue.number), [label.name] if label else []) if ours else ""
        return replace(plain, by=MoverKind.BOT, run_id=run) if run else plain

    @property
    def known_login(self) -> str:
        """Our own account's name, empty while nothing has asked for it; asks nobody."""
        return self._login

    def login(self, errand: Errand) -> str:
        """Our own account's name. Raises ``ForgeError`` when it was never read."""
        if not self._login:
            self._login = self.client.whoami(errand).login
        return self._login

    def last_move(
        self, issue: Issue, spotted: Spotted, found: Mapping[str, Resolved], errand: Errand
    ) -> LabelEvent | None:
        """The newest event that put the card where it is; None when the forge does not tell."""
        if not self.client.traits.label_history:
            return None
        try:
            read = self.client.label_events(issue.number, errand)
        except ForgeError:
            return None
        label = found[spotted.column].label if spotted.column in found else None
        if label is not None:
            fit = [e for e in read.items if e.added and e.closed is None and e.label.lower() == label.name.lower()]
        elif spotted.column:
            fit = [e for e in read.items if e.closed is not None and e.closed == (not issue.is_open)]
        else:
            fit = [e for e in read.items if not e.added or e.closed is not None]
        return max(fit, key=lambda e: e.at, default=None)


def _entered(placed: Placed, issue: Issue, known: Remembered | None) -> Placed:
    """The place with who moved the card in and its text then; a move of ours takes both over from before."""
    if placed.by in (MoverKind.DISPATCHER, MoverKind.BOT) and known is not None:
        return replace(placed, entrant=known.placed.entrant, pinned=known.placed.pinned)
    return replace(placed, entrant=placed.mover, pinned=text_digest(issue.title, issue.body))
