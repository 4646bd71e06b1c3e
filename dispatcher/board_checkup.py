"""What ``pointsman doctor`` asks of one board over a forge: columns, labels, cards, roles, claims, webhooks, sizes.

Called by ``forge_checkup`` once the connection is known to work; reads only (connectors.md 22).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from config.boards import BoardSettings
from connectors.card import Card
from connectors.errand import Errand, Purpose
from connectors.errors import ConnectorError, ForgeRefused
from connectors.forge.board_reading import BoardReader
from connectors.forge.claims import Claimed, claim_of_commit, claims_of
from connectors.forge.client import RefClient
from connectors.forge.columns import Resolved, same
from connectors.forge.records import Hook, Subject
from connectors.native.defaults import DEFAULT_COLUMNS
from connectors.posting.sizes import LIMITS, TITLE_CHARACTERS
from dispatcher.findings import Finding, failed, passed, warned
from dispatcher.ledger.deliveries import Received

if TYPE_CHECKING:
    from config.settings import Settings

DOCTOR = Errand(Purpose.DOCTOR)
NAMED = 10
"""So many cards are named."""
CLAIMS_READ = 20
"""So many cards are looked at for claims."""
HOOK_PATH = "/api/hooks/"


@dataclass(frozen=True, slots=True)
class Us:
    """As whom this store claims cards, empty when it never did, and its claims that are on: card id -> where."""

    owner: str = ""
    claims: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BoardPatient:
    """One board. ``calls`` counts the requests so far, ``seconds`` is a clock that never steps; ``last`` is the newest
    delivery that came in; ``us`` tells our own claims from those of other stores."""

    settings: Settings
    given: BoardSettings
    reader: BoardReader
    calls: Callable[[], int]
    seconds: Callable[[], float]
    last: Received | None
    us: Us = Us()

    @property
    def name(self) -> str:
        """The board's name."""
        return self.given.name


def examine(patient: BoardPatient) -> Iterator[Finding]:
    """Every check in order."""
    try:
        found = patient.reader.resolve(DOCTOR)
        names = {label.name for label in patient.reader.client.labels(DOCTOR).items}
    except ConnectorError as error:
        yield failed("board.columns", f"{patient.name}: the labels cannot be read: {error.message}", error.hint)
        return
    yield from _columns(patient, found)
    yield from _labels(patient, found, names)
    cards = yield from _cards(patient)
    yield from _links(patient, cards)
    yield from _roles(patient)
    yield from _claims(patient, cards)
    yield from hook_secret(patient.given, patient.last)
    yield from _hooks(patient)
    text = f"{patient.name}: a title has {TITLE_CHARACTERS} characters, a text {_size(patient.given.kind)}"
    yield passed("text.limits", f"{text}; longer ones are cut and say so")


def _columns(patient: BoardPatient, found: Mapping[str, Resolved]) -> Iterator[Finding]:
    """Each mapping by name and id: renamed, made anew, lost, and names that differ in case only."""
    odd = 0
    for column, each in found.items():
        key, place = f"boards[{patient.name}].columns.{column}", patient.reader.plan.places[column]
        name, kind = place.name, "label" if place.label else "status"
        if each.label is None:
            near = f'; there is "{each.near}"' if each.near else ""
            text = f'{patient.name}: column {column} is lost: there is no {kind} "{name}"{near}'
            hint = f'Set {key}.{kind}: "{each.near}".' if each.near else f'Make the {kind} "{name}", or mend {key}.'
            yield failed("board.columns", text, hint)
        elif not _called(each.label.name, name, folds_case=patient.reader.client.traits.folds_case):
            text = f'{patient.name}: the {kind} of column {column} is called "{each.label.name}" now, not "{name}"'
            yield warned("board.columns", text, f'Set {key}.{kind}: "{each.label.name}".')
        elif each.near:
            text = f'{patient.name}: beside "{name}" of column {column} there is a label "{each.near}"'
            yield warned("board.columns", text, "Delete one of the two: cards with the other are in no column.")
        else:
            continue
        odd += 1
    if not odd:
        names = ", ".join(patient.reader.plan.places)
        yield passed("board.columns", f"{patient.name}: {len(patient.reader.plan.places)} columns: {names}")


def _called(present: str, configured: str, *, folds_case: bool) -> bool:
    """Whether the label is the one that the configuration names, and not one whose id alone is known."""
    return same(present, configured) or (folds_case and same(present.lower(), configured.lower()))


def _labels(patient: BoardPatient, found: Mapping[str, Resolved], names: Iterable[str]) -> Iterator[Finding]:
    """Labels that columns are mapped to and that are missing; labels that look like columns and are none."""
    places = patient.reader.plan.places
    missing = [places[column].label for column, each in found.items() if each.label is None and places[column].label]
    for name in missing:
        hint = f'`pointsman doctor --fix` makes the label "{name}" in {patient.given.repo}.'
        yield failed("board.labels", f'{patient.name}: the label "{name}" does not exist', hint)
    claim = patient.given.claim_label
    if claim and claim not in names:
        hint = f'Make the label "{claim}" in {patient.given.repo}; until then claims are not shown.'
        yield warned("board.labels", f'{patient.name}: claim_label "{claim}" does not exist', hint)
    mapped = {_loose(each.label.name) for each in found.values() if each.label is not None}
    known = {_loose(column.name) for column in DEFAULT_COLUMNS}
    like = [name for name in names if _loose(name) in known - mapped and _loose(name) not in map(_loose, missing)]
    if like:
        text = f"{patient.name}: labels that look like columns and are mapped by none: {', '.join(sorted(like))}"
        yield warned("board.labels", text, f"Map them in boards[{patient.name}].columns, or rename them.")
    if not (missing or like):
        yield passed("board.labels", f"{patient.name}: every mapped label exists")


def _cards(patient: BoardPatient) -> Generator[Finding, None, tuple[Card, ...]]:
    """One listing of all open cards; what it shows of cards outside columns."""
    before, begun = patient.calls(), patient.seconds()
    try:
        listing = patient.reader.list_cards(None)
    except ConnectorError as error:
        yield failed("board.read", f"{patient.name}: the cards cannot be read: {error.message}", error.hint)
        return ()
    seconds = patient.seconds() - begun
    told = f"{len(listing.cards)} open cards in {seconds:.1f} s by {patient.calls() - before} calls"
    if seconds >= (limit := patient.settings.tick.board_deadline):
        hint = "A tick calls such a board unreadable: raise tick.board_deadline, or ask why the forge is slow."
        yield failed("board.read", f"{patient.name}: {told}, longer than tick.board_deadline ({limit:g} s)", hint)
    elif listing.complete or listing.degraded:
        yield passed("board.read", f"{patient.name}: {told}")
    else:
        hint = "Nothing starts from an incomplete list; ask again, or look at the forge."
        yield failed("board.read", f"{patient.name}: incomplete ({listing.why or listing.stopped}): {told}", hint)
    for unread in listing.unread[:NAMED]:
        text = f"{patient.name}: card #{unread.number or unread.id} cannot be read: {unread.why}"
        yield warned("board.read", text, "Look at it on the forge; it is left alone until then.")
    several = [card for card in listing.cards if len(card.columns_seen) > 1]
    unmapped = [card for card in listing.cards if card.column is None and not card.columns_seen]
    yield passed("board.unmapped", f"{patient.name}: {_numbered(unmapped)} in no column")
    if several:
        text = f"{patient.name}: {_numbered(several)} in several columns at once"
        yield warned("board.contradictory", text, "Leave each one column's label; they are held until then.")
    else:
        yield passed("board.contradictory", f"{patient.name}: no card is in several columns at once")
    return listing.cards


def _links(patient: BoardPatient, cards: tuple[Card, ...]) -> Iterator[Finding]:
    """Whether the forge tells what a card waits for, asked of one: cards whose blockers cannot be read are held."""
    for card in cards[:1]:
        try:
            patient.reader.client.blockers(card.number, DOCTOR)
        except ConnectorError as error:
            text = f"{patient.name}: what card #{card.number} waits for cannot be read: {error.message}"
            licence = "; GitLab asks a licence for links that block" if patient.given.kind == "gitlab" else ""
            hint = f"Cards are held until it can: let the token read issues and their links{licence}."
            yield warned("board.read", text, hint)


def _roles(patient: BoardPatient) -> Iterator[Finding]:
    """Roles whose column this board does not have."""
    places = patient.reader.plan.places
    roles = {role: name for role, name in patient.settings.columns.model_dump().items() if name}
    missing = {role: name for role, name in roles.items() if name not in places}
    for role, name in missing.items():
        text = f"{patient.name}: columns.{role} is {name}, which is not mapped: such cards lose their column label"
        yield warned("board.roles", text, f"Map it: boards[{patient.name}].columns.{name}: {{label: …}}.")
    if not missing:
        yield passed("board.roles", f"{patient.name}: every role has its column")


def _claims(patient: BoardPatient, cards: tuple[Card, ...]) -> Iterator[Finding]:
    """Claims of cards where work may be going on."""
    running = patient.settings.columns.running
    looked = [card for card in cards if card.column == running or (patient.given.shared and card.column)][:CLAIMS_READ]
    seen = own = 0
    for card in looked:
        try:
            there = _claims_on(patient, card)
        except ConnectorError as error:
            yield warned("board.shared", f"{patient.name}: claims of #{card.number}: {error.message}", error.hint)
            continue
        for claim in there:
            told = _claimed(patient, card, claim)
            own += told is None
            seen += told is not None
            if told is not None:
                yield told
    if not seen:
        text = f"{patient.name}: no claim of another store on {len(looked)} cards; our own that are on: {own}"
        yield passed("board.shared", text)


def _claims_on(patient: BoardPatient, card: Card) -> tuple[Claimed, ...]:
    """The claims of a card, wherever this board keeps them. Raises ``ForgeError``."""
    client = patient.reader.client
    if not _by_ref(patient):
        return claims_of(client.comments(Subject(card.number), DOCTOR).items)
    commit = cast(RefClient, client).claim_ref(card.number, DOCTOR).commit
    return (claim_of_commit(commit),) if commit is not None else ()


def _by_ref(patient: BoardPatient) -> bool:
    return patient.reader.plan.claims_by_ref and patient.reader.client.traits.refs_claim


def _claimed(patient: BoardPatient, card: Card, claim: Claimed) -> Finding | None:
    """What is wrong with a claim: it is another store's, or one that we left behind; None for one that is on."""
    until = claim.until.isoformat(timespec="seconds") if claim.until is not None else "an unreadable time"
    ref = f"the ref refs/pointsman/claims/{card.number}"
    away = f"delete {ref}" if _by_ref(patient) else f"delete the comment: {claim.url}"
    if patient.us.claims.get(card.id) == claim.comment_id:
        return None
    if not claim.owner or claim.owner != patient.us.owner:
        text = f"{patient.name}: card #{card.number} carries a claim of {claim.owner or 'nobody'}, until {until}"
        return warned("board.shared", text, f"When that store is gone for good, {away}")
    text = f"{patient.name}: card #{card.number} carries a claim that this store left behind, until {until}"
    return warned("board.shared", text, f"Nobody works by it: {away}")


def hook_secret(given: BoardSettings, last: Received | None) -> Iterator[Finding]:
    """Whether webhooks can be taken, and when the last one came."""
    if given.webhook_secret is None:
        yield passed("hook.secret", f"{given.name}: no webhook_secret; changes are seen with the next tick")
        return
    when = f"{last.event} at {last.received_at:%Y-%m-%d %H:%M:%S} UTC" if last else "none within a week"
    yield passed("hook.secret", f"{given.name}: webhook_secret is set; last delivery: {when}")


def _hooks(patient: BoardPatient) -> Iterator[Finding]:
    """How the forge says that deliveries go, where the token may ask."""
    if patient.given.webhook_secret is None:
        return
    try:
        hooks = patient.reader.client.hooks(DOCTOR).items
    except ForgeRefused:
        yield passed("hook.health", f"{patient.name}: this token may not ask the forge about webhooks")
        return
    except ConnectorError as error:
        yield warned("hook.health", f"{patient.name}: {error.message}", error.hint)
        return
    ours = [hook for hook in hooks if HOOK_PATH in hook.url]
    for hook in ours:
        yield _hook(patient, hook)
    if not ours:
        hint = f"Make one that goes to …{HOOK_PATH}{patient.given.kind} with webhook_secret; without it ticks suffice."
        yield warned("hook.health", f"{patient.name}: the forge has no webhook that comes here", hint)


def _hook(patient: BoardPatient, hook: Hook) -> Finding:
    if hook.fault:
        hint = f"Look at its deliveries on the forge: does {hook.url} reach this daemon, with the right secret?"
        return warned("hook.health", f"{patient.name}: webhook {hook.id}: {hook.fault}", hint)
    if not hook.active:
        return warned("hook.health", f"{patient.name}: webhook {hook.id} is switched off", "Switch it on on the forge.")
    return passed("hook.health", f"{patient.name}: webhook {hook.id} is on and its deliveries arrive")


def _numbered(cards: list[Card]) -> str:
    named = ", ".join(f"#{card.number}" for card in cards[:NAMED])
    more = f" and {len(cards) - NAMED} more" if len(cards) > NAMED else ""
    return (
        f"{len(cards)} cards ({named}{more}) are" if len(cards) > 1 else f"card {named} is" if cards else "no card is"
    )


def _size(kind: str) -> str:
    limit = LIMITS[kind]
    parts = [f"{limit.characters} characters"] if limit.characters is not None else []
    parts += [f"{limit.utf16} UTF-16 units"] if limit.utf16 is not None else []
    parts += [f"{limit.octets} bytes"] if limit.octets is not None else []
    return " and ".join(parts)


def _loose(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
