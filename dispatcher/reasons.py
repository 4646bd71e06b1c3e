"""Why a card does not run: the closed table of codes, texts and ways out (dispatcher.md 5).

A leaf. ``policy`` and ``gates`` name a code, ``render`` fills its two texts with facts; the CLI, the web side and the
ledger show what came out. A new cause gets a new row here, never a free text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Reason(StrEnum):
    """Every code that an idle card can carry. Stable: scripts and dashboards compare them."""

    STOPPING = "stopping"
    DAEMON_PAUSED = "daemon_paused"
    DAEMON_DRAINING = "daemon_draining"
    STORE_DEGRADED = "store_degraded"
    COST_CAP_DAILY = "cost_cap_daily"
    BOARD_STANDBY = "board_standby"
    BOARD_UNREADABLE = "board_unreadable"
    BOARD_PARTIAL = "board_partial"
    BOARD_DEGRADED = "board_degraded"
    BOARD_BREAKER_OPEN = "board_breaker_open"
    CREDENTIAL_THROTTLED = "credential_throttled"
    CREDENTIAL_REFUSED = "credential_refused"
    CARD_GONE = "card_gone"
    CARD_MOVED_AWAY = "card_moved_away"
    CARD_CLOSED = "card_closed"
    COLUMN_CONTRADICTORY = "column_contradictory"
    COLUMN_UNMAPPED = "column_unmapped"
    COLUMN_NOT_ELIGIBLE = "column_not_eligible"
    MOVE_PENDING = "move_pending"
    CARD_BREAKER_OPEN = "card_breaker_open"
    CLAIM_UNCERTAIN = "claim_uncertain"
    CLAIMED_ELSEWHERE = "claimed_elsewhere"
    RUN_UNREADABLE = "run_unreadable"
    RUN_STATUS_UNKNOWN = "run_status_unknown"
    RUN_QUEUED = "run_queued"
    RUN_ALIVE = "run_alive"
    RUN_CHILDREN_ALIVE = "run_children_alive"
    RUN_YOUNG = "run_young"
    RUN_STOPPING = "run_stopping"
    WAITING_FOR_ANSWERS = "waiting_for_answers"
    WAITING_FOR_PERSON = "waiting_for_person"
    PARKED_DETERMINISTIC = "parked_deterministic"
    PARKED_AMBIGUOUS = "parked_ambiguous"
    PARKED_DELIBERATE = "parked_deliberate"
    PARKED_NEEDS_CAP = "parked_needs_cap"
    SOURCE_CHANGED = "source_changed"
    WORKSPACE_MISSING = "workspace_missing"
    GAVE_UP = "gave_up"
    FINISHED_NEEDS_MOVE = "finished_needs_move"
    CANCELLED_NEEDS_MOVE = "cancelled_needs_move"
    FAILED_NEEDS_MOVE = "failed_needs_move"
    RETRY_WAIT = "retry_wait"
    NOT_BEFORE = "not_before"
    OUTSIDE_HOURS = "outside_hours"
    BLOCKED_BY = "blocked_by"
    BLOCKERS_UNREADABLE = "blockers_unreadable"
    BLOCKERS_CYCLE = "blockers_cycle"
    UNTRUSTED_MOVE = "untrusted_move"
    BODY_CHANGED = "body_changed"
    BOT_UNKNOWN = "bot_unknown"
    NO_ROUTE = "no_route"
    ROUTE_AMBIGUOUS = "route_ambiguous"
    BOT_INVALID = "bot_invalid"
    VARS_INVALID = "vars_invalid"
    WIP_FULL = "wip_full"
    CAP_BOARD = "cap_board"
    CAP_COLUMN = "cap_column"
    CAP_BOT = "cap_bot"
    CAP_ASSIGNEE = "cap_assignee"
    NO_SLOT = "no_slot"


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """One row: the order among the gates, the text and what unblocks, both with ``{facts}``."""

    order: int
    text: str
    unblock: str


_R = Reason


def _row(order: int, text: str, unblock: str) -> ReasonRow:
    return ReasonRow(order, text, unblock)


_CAP = "{n} of {limit} runs for {name}"
_CAP_END = "one of them ends"

REASONS: Mapping[Reason, ReasonRow] = MappingProxyType(
    {
        _R.STOPPING: _row(1, "the daemon is stopping since {at}", "start it again"),
        _R.DAEMON_PAUSED: _row(
            2, "pick-up is paused by {who} since {at}", "pickup resume, or POST /api/dispatcher/resume"
        ),
        _R.DAEMON_DRAINING: _row(
            3, "draining: {n} runs finish, nothing new starts", "pickup resume, or POST /api/dispatcher/resume"
        ),
        _R.STORE_DEGRADED: _row(4, "the store takes no writes: {error}", "free space or repair; checked each tick"),
        _R.COST_CAP_DAILY: _row(
            5, "{spent} of {limit} USD spent on {day} (UTC)", "next UTC day, or a raised limits.max_cost_per_day_usd"
        ),
        _R.BOARD_STANDBY: _row(
            6, "another daemon leads board {board} until {until}", "that daemon stops or its lease ends"
        ),
        _R.BOARD_UNREADABLE: _row(
            7, "board {board} could not be read: {error}, last complete read {age} ago", "the next successful read"
        ),
        _R.BOARD_PARTIAL: _row(
            8, "only {n} cards of {board} were read: {why}", "a complete read; narrower columns or a higher max_pages"
        ),
        _R.BOARD_DEGRADED: _row(9, "board {board}: {what}", "the repair named in the text; doctor shows it"),
        _R.BOARD_BREAKER_OPEN: _row(
            10,
            "{n} cards went wrong within {window}: {cause}",
            "one card is let through at {until}; or POST /api/dispatcher/resume",
        ),
        _R.CREDENTIAL_THROTTLED: _row(11, "{credential} waits for the forge until {until}", "by itself"),
        _R.CREDENTIAL_REFUSED: _row(
            12, "{forge} refuses {credential}: {status}", "a valid secret; asked again every 5 min"
        ),
        _R.CARD_GONE: _row(13, "the forge says that this card is gone ({status})", "nothing; the run can be inspected"),
        _R.CARD_MOVED_AWAY: _row(14, "the card was transferred to {where}", "a board for {where}"),
        _R.CARD_CLOSED: _row(
            15, "the card is closed", "reopen it, then move it in; card unarchive, where it was put away"
        ),
        _R.COLUMN_CONTRADICTORY: _row(16, "labels {a} and {b} both name a column", "remove one"),
        _R.COLUMN_UNMAPPED: _row(17, "the card is in {name}, which no column maps", "map it or move the card"),
        _R.COLUMN_NOT_ELIGIBLE: _row(18, "column {name} is not eligible", "move the card to an eligible column"),
        _R.MOVE_PENDING: _row(
            19, "the move {from} → {to} is not confirmed by the forge yet", "by itself; effects show {id}"
        ),
        _R.CARD_BREAKER_OPEN: _row(
            20, "the same thing happened {n} times: {cause}", "move the card out and in again, or wait until {until}"
        ),
        _R.CLAIM_UNCERTAIN: _row(
            21,
            "an earlier claim on the forge could not be verified: {what}",
            "by itself within two leases; then doctor names the leftover",
        ),
        _R.CLAIMED_ELSEWHERE: _row(22, "claimed by {owner} until {until}", "that owner releases or its lease ends"),
        _R.RUN_UNREADABLE: _row(23, "the record of run {run} cannot be read: {error}", "repair the store; doctor"),
        _R.RUN_STATUS_UNKNOWN: _row(
            24, "run {run} has status {status}, which this version does not know", "a newer version"
        ),
        _R.RUN_QUEUED: _row(25, "run {run} waits in the queue", "its queue delivers it"),
        _R.RUN_ALIVE: _row(26, "run {run} works (owner {owner}, last sign {age} ago)", "its end; cancel"),
        _R.RUN_CHILDREN_ALIVE: _row(
            27,
            "the process that ran {run} is gone, but its child {pid} {command} still works",
            "the child's end, or its stop at {until}; cancel stops it now",
        ),
        _R.RUN_YOUNG: _row(
            28,
            "run {run} has no lock and was claimed {age} ago, inside the grace of {grace}",
            "by itself at {until}",
        ),
        _R.RUN_STOPPING: _row(29, "run {run} was told to stop ({cause}) and has not ended", "its end"),
        _R.WAITING_FOR_ANSWERS: _row(30, "run {run} asks: {question}", "answer it: resume --run-id {run} --answer …"),
        _R.WAITING_FOR_PERSON: _row(
            31,
            "run {run} was paused: {why}",
            "resume --run-id {run}; moving the card alone does not continue it",
        ),
        _R.PARKED_DETERMINISTIC: _row(
            32, "{code}: a repeat would fail the same way ({error})", "repair, then move the card in"
        ),
        _R.PARKED_AMBIGUOUS: _row(
            33,
            "{operation} at {node} may have happened ({effect})",
            "effects show {effect}, then effects settle; or move the card in, which accepts that the call is sent "
            "again",
        ),
        _R.PARKED_DELIBERATE: _row(
            34,
            "the workflow refused on purpose: {code}, {message}",
            "change what it asks for, then move the card in",
        ),
        _R.PARKED_NEEDS_CAP: _row(35, "the budget is used up: {axis} {used} of {limit}", "resume with a larger cap"),
        _R.SOURCE_CHANGED: _row(
            36, "the workflow changed since run {run}", "resume --force, or put the old source back"
        ),
        _R.WORKSPACE_MISSING: _row(
            37,
            "the workspace of run {run} is gone: {path}",
            "restore it; or cancel and delete the run, then move the card in",
        ),
        _R.GAVE_UP: _row(38, "gave up after {n} attempts: {code}, {error}", "move the card in"),
        _R.FINISHED_NEEDS_MOVE: _row(
            39, "run {run} finished; the card did not come in again since", "move it out and in again"
        ),
        _R.CANCELLED_NEEDS_MOVE: _row(
            39, "run {run} was cancelled; the card did not come in again since", "move it out and in again"
        ),
        _R.FAILED_NEEDS_MOVE: _row(
            40, "run {run} failed ({code}); the card did not come in again since", "repair, then move it in"
        ),
        _R.RETRY_WAIT: _row(
            41, "attempt {n} of {max} is due at {at} ({code})", "by itself; refresh does not shorten it"
        ),
        _R.NOT_BEFORE: _row(42, "starts at {at} ({local} {zone})", "by itself; card update --not-before"),
        _R.OUTSIDE_HOURS: _row(
            42, "outside the working hours ({hours}) until {at}", "by itself at {at}; or other working_hours"
        ),
        _R.BLOCKED_BY: _row(43, "waits for {cards}", "they reach a done column; or card update takes them off"),
        _R.BLOCKERS_UNREADABLE: _row(44, "the state of {cards} could not be read: {error}", "the next successful read"),
        _R.BLOCKERS_CYCLE: _row(45, "the card waits for itself through {chain}", "remove one link"),
        _R.UNTRUSTED_MOVE: _row(46, "{who} may not start work on {board}", "somebody of trust.who moves the card in"),
        _R.BODY_CHANGED: _row(
            47, "the text changed after {who} moved the card in", "move it in again to accept the new text"
        ),
        _R.BOT_UNKNOWN: _row(48, "bot {name} does not exist", "name a known bot"),
        _R.NO_ROUTE: _row(
            48, "no route matches {assignee} and the board has no bot", "add a route, or give the board a bot"
        ),
        _R.ROUTE_AMBIGUOUS: _row(48, "assignees {a} and {b} have different routes", "keep one"),
        _R.BOT_INVALID: _row(49, "{file}:{line} {diagnostic}", "repair the bot"),
        _R.VARS_INVALID: _row(49, "{var}: {problem}", "repair the values"),
        _R.WIP_FULL: _row(50, "column {column} holds {n} of {limit} cards", "cards leave {column}"),
        _R.CAP_BOARD: _row(51, _CAP, _CAP_END),
        _R.CAP_COLUMN: _row(51, _CAP, _CAP_END),
        _R.CAP_BOT: _row(51, _CAP, _CAP_END),
        _R.CAP_ASSIGNEE: _row(51, _CAP, _CAP_END),
        _R.NO_SLOT: _row(52, "all {max} slots are used", "a run ends, or a larger concurrency.max"),
    }
)
"""code -> row; a test proves it total over ``Reason`` and ordered."""

PARK_CAUSES: Mapping[Reason, str] = MappingProxyType(
    {
        _R.WAITING_FOR_ANSWERS: "answers",
        _R.WAITING_FOR_PERSON: "operator_pause",
        _R.PARKED_DETERMINISTIC: "deterministic",
        _R.PARKED_AMBIGUOUS: "ambiguous",
        _R.PARKED_DELIBERATE: "deliberate",
        _R.PARKED_NEEDS_CAP: "needs_cap",
        _R.SOURCE_CHANGED: "source_changed",
    }
)
"""The reasons that park, and the cause that the state and the metrics tell (dispatcher.md 11)."""
DAILY_CAP = "daily_cap"
"""The cause of a pause that the daily cap made."""


def park_cause(reason: str, facts: Facts) -> str:
    """The cause of a park, from its reason's code and the facts of its text."""
    if reason == Reason.WAITING_FOR_PERSON and facts.get("why") == Reason.COST_CAP_DAILY:
        return DAILY_CAP
    return PARK_CAUSES[Reason(reason)]


CAPACITY_FROM = 50
"""Orders from here on are capacity: never a fault, no warning, no breaker."""

Facts = Mapping[str, object]
"""What fills the braces of a row; JSON values only, and never a clock reading that changes every tick."""


_MAYBE: Mapping[str, str] = MappingProxyType({", last sign {age} ago": "age", ", or its stop at {until}": "until"})
"""Parts of texts that are left out where their fact is not known: a stored text cannot say how long ago a sign was."""


class _Lenient(dict[str, object]):
    """Braces without a fact show a dash, so that a text never fails to be told."""

    def __missing__(self, key: str) -> str:
        return "–"


def render(reason: Reason, facts: Facts) -> tuple[str, str]:
    """Text and unblock text of ``reason`` with ``facts`` filled in; inserted text is not read as a template again."""
    row = REASONS[reason]
    values = _Lenient(facts)
    texts = [row.text, row.unblock]
    for part, fact in _MAYBE.items():
        if fact not in facts:
            texts = [text.replace(part, "") for text in texts]
    return texts[0].format_map(values), texts[1].format_map(values)


def ended(text: str) -> str:
    """A text that somebody else may have written, with one full stop, whether it had its own or not."""
    told = text.strip()
    return told if not told or told[-1] in ".!?…" else f"{told}."
