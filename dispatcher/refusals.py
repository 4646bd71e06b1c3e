"""Which exit code and which HTTP status an ``error.code`` means: one table, read by the command line and the web.

Every exception of ours that may reach a person carries ``code``, ``message`` and ``hint`` (``Refusal``); what it means
to a caller is decided here and nowhere else (interface.md 1 and 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol


class Refusal(Protocol):
    """The shape of every exception that is shown to people."""

    @property
    def code(self) -> str:
        """The stable ``error.code``."""
        ...

    @property
    def message(self) -> str:
        """What was found."""
        ...

    @property
    def hint(self) -> str:
        """What to do about it."""
        ...


class Refused(Exception):
    """A refusal of the dispatcher's own; ``code`` must be in ``REFUSALS``."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        self.code = code
        self.message = message
        self.hint = hint
        super().__init__(message)


_WORDS = """
    a add all an another answer ask cancel check choose close compare declare delete do effect every fix free give
    in it its keep launch let list look make mend more move name no nobody node not nothing only open put read
    remove rename repair restore resume rewind run send set somebody start stop take that the there these this try
    turn two unknown use wait what write
"""
BEGINNINGS = frozenset(_WORDS.split())
"""Words with which sentences of ours begin; any other may be a name, whose letters are its own."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The exit code of a verb and the status of an HTTP answer."""

    exit_code: int
    http_status: int


FAILED = Meaning(1, 500)
_INPUT = Meaning(2, 422)
_FORBIDDEN = Meaning(5, 409)
_UNKNOWN = Meaning(1, 404)
_GONE = Meaning(1, 410)
_FORGE = Meaning(1, 502)
_UNAVAILABLE = Meaning(1, 503)

REFUSALS: Mapping[str, Meaning] = MappingProxyType(
    {
        "internal": FAILED,
        "usage": Meaning(2, 400),
        # bad input
        "bad_input": _INPUT,
        "invalid_id": _INPUT,
        "invalid_answers": _INPUT,
        "invalid_vars": _INPUT,
        "invalid_setting": _INPUT,
        "source_missing": _INPUT,
        "source_invalid": _INPUT,
        "pivot_invalid": _INPUT,
        "config_missing": _INPUT,
        "config_invalid": _INPUT,
        "bad_card": _INPUT,
        "bad_parameters": _INPUT,
        "invalid_text": _INPUT,
        "invalid_field": _INPUT,
        "invalid_not_before": _INPUT,
        "unknown_column": _INPUT,
        "unknown_view": _INPUT,
        "unknown_blocker": _INPUT,
        "blocker_cycle": _INPUT,
        "invalid_column": _INPUT,
        "invalid_import": _INPUT,
        "unsupported": _INPUT,
        # unknown or gone
        "not_found": _UNKNOWN,
        "card_unknown": _UNKNOWN,
        "effect_unknown": _UNKNOWN,
        "deleted": _GONE,
        "card_deleted": _GONE,
        # the state forbids it
        "refused": _FORBIDDEN,
        "wrong_status": _FORBIDDEN,
        "already_running": _FORBIDDEN,
        "lock_held": _FORBIDDEN,
        "too_recent": _FORBIDDEN,
        "source_changed": _FORBIDDEN,
        "conflict": _FORBIDDEN,
        "resume_invalid": _FORBIDDEN,
        "worktree_broken": _FORBIDDEN,
        "worktree_failed": _FORBIDDEN,
        "nothing_to_rewind": _FORBIDDEN,
        "ambiguous_unread": _FORBIDDEN,
        "effect_settled": _FORBIDDEN,
        "ownership_lost": _FORBIDDEN,
        "stop_requested": _FORBIDDEN,
        "instance_held": _FORBIDDEN,
        "card_conflict": _FORBIDDEN,
        "column_in_use": _FORBIDDEN,
        "ambiguous_effect": _FORBIDDEN,
        "withdrawn": _FORBIDDEN,
        "column_lost": _FORBIDDEN,
        "move_pending": _FORBIDDEN,
        "effect_pending": _FORBIDDEN,
        "precondition_failed": Meaning(5, 412),
        # who asks
        "unauthorized": Meaning(1, 401),
        "forbidden": Meaning(1, 403),
        "method": Meaning(2, 405),
        "media_type": Meaning(2, 415),
        "misdirected": Meaning(2, 421),
        "too_large": Meaning(2, 413),
        # something broke
        "engine_error": FAILED,
        "workspace_unrecorded": FAILED,
        "restore_failed": FAILED,
        "store_error": _UNAVAILABLE,
        "store_busy": _UNAVAILABLE,
        "lease_lost": _UNAVAILABLE,
        "store_full": _UNAVAILABLE,
        "store_unreachable": _UNAVAILABLE,
        "schema_newer": Meaning(5, 503),
        "record_unreadable": FAILED,
        "card_unreadable": FAILED,
        "port_in_use": FAILED,
        "connector_error": _FORGE,
        "effect_missing": FAILED,
        "not_sent": _FORGE,
        "forge_refused": _FORGE,
        "forge_error": _FORGE,
        "forge_unreachable": _FORGE,
        "rate_limited": _UNAVAILABLE,
    }
)
"""error.code -> meaning. A test proves that it knows the code of every exception class of ours."""


def meaning_of(code: str) -> Meaning:
    """What ``code`` means; a code that nobody listed is a failure."""
    return REFUSALS.get(code, FAILED)


def error_document(refusal: Refusal) -> dict[str, object]:
    """``{"error": {"code", "message", "hint"}}`` (interface.md 1)."""
    return {"error": {"code": refusal.code, "message": sentence(refusal.message), "hint": sentence(refusal.hint)}}


def sentence(text: str) -> str:
    """A text as a sentence: with a capital where it begins with a usual word, never a name, and with one full stop.

    What ends with something to be typed, and what has several lines, keeps its end.
    """
    begun = f"{text[:1].upper()}{text[1:]}" if text.partition(" ")[0] in BEGINNINGS else text
    return begun if not begun or begun[-1] in ".?!`…" or "\n" in begun else f"{begun}."
