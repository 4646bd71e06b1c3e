"""What people ask for: a card to make, and a change to a card. Checked here, before a board writes anything.

Pure. Built by the command line and the web side, read by the boards that can be edited. Blockers and the column are
texts as a person gave them; the board resolves them in the transaction of the change.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from connectors.card import NotBefore
from connectors.errors import BadCard
from connectors.not_before import parse_not_before
from connectors.text import TEXT_BYTES, check_name, check_text, check_title, same_name

PRIORITY_LIMIT = 1_000_000
"""Priorities lie between minus this and this; larger is more urgent."""


@dataclass(frozen=True, slots=True)
class CardDraft:
    """A card to make. An empty ``column`` means the first one; ``not_before`` is the text of a scheduled start."""

    title: str
    body: str = ""
    column: str = ""
    labels: tuple[str, ...] = ()
    priority: int = 0
    assignee: str = ""
    blockers: tuple[str, ...] = ()
    fields: Mapping[str, object] = field(default_factory=dict)
    bot: str = ""
    bot_args: Mapping[str, object] = field(default_factory=dict)
    not_before: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class CardPatch:
    """A change: None leaves a value as it is. ``labels`` and ``blockers`` replace the whole set; ``fields`` and
    ``bot_args`` change the named keys, and a value of None takes the key away. An empty ``not_before`` removes it.
    ``column`` moves the card in the same transaction. ``version``, when given, must be the card's present one."""

    title: str | None = None
    body: str | None = None
    labels: tuple[str, ...] | None = None
    priority: int | None = None
    assignee: str | None = None
    blockers: tuple[str, ...] | None = None
    fields: Mapping[str, object] | None = None
    bot: str | None = None
    bot_args: Mapping[str, object] | None = None
    not_before: str | None = None
    url: str | None = None
    column: str | None = None
    version: str | None = None


def check_draft(draft: CardDraft) -> CardDraft:
    """The draft with its labels each once. Raises ``BadCard`` kinds."""
    check_title(draft.title)
    check_text("body", draft.body)
    return CardDraft(
        title=draft.title,
        body=draft.body,
        column=draft.column,
        labels=check_labels(draft.labels),
        priority=check_priority(draft.priority),
        assignee=check_optional("assignee", draft.assignee),
        blockers=draft.blockers,
        fields=draft.fields,
        bot=check_optional("bot", draft.bot),
        bot_args=check_arguments(draft.bot_args),
        not_before=draft.not_before,
        url=check_optional("url", draft.url),
    )


def check_patch(patch: CardPatch) -> dict[str, object]:
    """The plain values that the patch changes, by card attribute. Raises ``BadCard`` kinds.

    Blockers, fields, bot arguments and the start time are left to the board, which knows what is there already.
    """
    changes: dict[str, object] = {}
    if patch.title is not None:
        changes["title"] = check_title(patch.title)
    if patch.body is not None:
        changes["body"] = check_text("body", patch.body)
    if patch.labels is not None:
        changes["labels"] = check_labels(patch.labels)
    if patch.priority is not None:
        changes["priority"] = check_priority(patch.priority)
    for name in ("assignee", "bot", "url"):
        value = getattr(patch, name)
        if value is not None:
            changes[name] = check_optional(name, value)
    return changes


def merged(present: Mapping[str, object], change: Mapping[str, object] | None) -> dict[str, object]:
    """``present`` with the named keys set, and taken away where the change says None."""
    values = {**present, **(change or {})}
    return {name: value for name, value in values.items() if value is not None}


def check_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Each label once, in the order given; two spellings of one normal form are one label."""
    kept: dict[str, str] = {}
    for label in labels:
        kept.setdefault(same_name(check_name("label", label)), label)
    return tuple(kept.values())


def check_priority(priority: int) -> int:
    """The priority as it is. Raises ``BadCard`` outside the limits."""
    if not -PRIORITY_LIMIT <= priority <= PRIORITY_LIMIT:
        raise BadCard(
            f"The priority {priority} is out of range.", f"Use a number from -{PRIORITY_LIMIT} to {PRIORITY_LIMIT}."
        )
    return priority


def check_optional(what: str, text: str) -> str:
    """A name that may be empty."""
    return check_name(what, text) if text else text


def check_arguments(arguments: Mapping[str, object]) -> dict[str, object]:
    """Bot arguments: names with JSON values, together at most 1 MiB. Raises ``BadCard``."""
    for name in arguments:
        check_name("bot argument", name)
    try:
        size = len(json.dumps(dict(arguments), ensure_ascii=False, allow_nan=False).encode("utf-8"))
    except (ValueError, TypeError) as error:
        raise BadCard("The bot arguments hold a value that JSON cannot say.", "Use valid text and numbers.") from error
    if size > TEXT_BYTES:
        raise BadCard(f"The bot arguments have {size} bytes; they may have {TEXT_BYTES}.", "Use a file.")
    return dict(arguments)


def check_not_before(text: str) -> NotBefore | None:
    """The start time in ``text``, None when it is empty. Raises ``InvalidNotBefore``."""
    return parse_not_before(text) if text else None
