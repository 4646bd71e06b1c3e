"""From the objects of a document to checked cards: pure. A card that does not fit refuses the whole document.

Called by ``exchange`` before the first row is written. Nothing is guessed: a value of another type, a time without a
zone, a number beyond all cards, the same id twice are refused with the card's place and the key's name.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from connectors.card import Mover, MoverKind
from connectors.drafts import CardDraft, check_draft, check_not_before
from connectors.errors import BadCard, InvalidImport
from connectors.native.stamp import from_text, to_text
from connectors.text import check_name, check_text

NUMBER_LIMIT = 1_000_000_000
"""The largest number that a card of a document may have: the cards after it go on from there."""
_ANY_ID = 64
_NOTHING_TAKEN = "Correct it; nothing was taken over."


@dataclass(frozen=True, slots=True)
class Said:
    """One comment of a card of the document, checked."""

    id: str
    author: Mover
    text: str
    created_at: str
    edited_at: str


@dataclass(frozen=True, slots=True)
class Incoming:
    """One card of the document, checked; ``archived`` is None where the document does not say."""

    id: str
    number: int
    draft: CardDraft
    created_at: str
    position: float | None
    archived: bool | None
    author: str = ""
    comments: tuple[Said, ...] = ()


def incoming(documents: Sequence[object]) -> list[Incoming]:
    """All cards of the document. Raises ``InvalidImport`` naming the card that cannot be used, and why."""
    found: list[Incoming] = []
    places: dict[str, int] = {}
    for at, document in enumerate(documents, start=1):
        if not isinstance(document, dict):
            raise InvalidImport(f"Card {at} of the document is no object.", "Use what board export prints.")
        try:
            one = _one(document)
        except (BadCard, ValueError, TypeError) as error:
            told = f"Card {at} of the document cannot be used: {_stop(str(error))}"
            raise InvalidImport(told, _NOTHING_TAKEN) from error
        before = places.setdefault(one.id, at)
        if before != at:
            told = f"Cards {before} and {at} of the document are one and the same: {one.id}."
            raise InvalidImport(told, "Leave one of them out; nothing was taken over.")
        found.append(one)
    return found


def _one(document: Mapping[str, object]) -> Incoming:
    column = _text(document, "column")
    blockers = tuple(check_name("blocker", each) for each in _texts(document, "blockers"))
    draft = CardDraft(
        title=_text(document, "title"),
        body=_text(document, "body"),
        column=check_name("column", column) if column else column,
        labels=tuple(_texts(document, "labels")),
        priority=_number(document, "priority"),
        assignee=_text(document, "assignee"),
        blockers=blockers,
        fields=_object(document, "fields"),
        bot=_text(document, "bot"),
        bot_args=_object(document, "bot_args"),
        not_before=_text(document, "not_before"),
        url=_text(document, "url"),
    )
    check_not_before(draft.not_before)
    number = _number(document, "number")
    if not 0 <= number <= NUMBER_LIMIT:
        raise ValueError(f"number {number} is not between 1 and {NUMBER_LIMIT}")
    archived = document.get("archived")
    if archived is not None and not isinstance(archived, bool):
        raise TypeError("archived is neither true nor false")
    return Incoming(
        _id_of(document),
        number,
        check_draft(draft),
        _instant(document, "created_at"),
        _position(document),
        archived,
        check_text("author", _text(document, "author")),
        tuple(_said(each) for each in _list(document, "comments")),
    )


def _id_of(document: Mapping[str, object]) -> str:
    source = _text(document, "source")
    if source:
        return "s" + hashlib.sha256(check_text("source", source).encode()).hexdigest()[:26]
    card_id = _text(document, "id")
    if not card_id:
        raise ValueError("there is no card id, and no source: any text that stays the same, like #12 of another list")
    if not _is_id(card_id):
        raise ValueError(f"{card_id!r} is no card id, and there is no source")
    return card_id


def _is_id(text: str) -> bool:
    return text.isascii() and text.isalnum() and not text.isdigit() and len(text) <= _ANY_ID


def _said(document: object) -> Said:
    if not isinstance(document, dict):
        raise TypeError("a comment is no object")
    author = _object(document, "author")
    comment_id, kind, text = _text(document, "id"), _text(author, "kind"), _text(document, "text")
    if not _is_id(comment_id):
        raise ValueError(f"{comment_id!r} is no id of a comment")
    if kind not in set(MoverKind):
        raise ValueError(f"a comment's author is {kind!r}, not one of {', '.join(MoverKind)}")
    mover = Mover(
        MoverKind(kind), check_text("author", _text(author, "name")), check_text("run", _text(author, "run_id"))
    )
    made = _instant(document, "created_at")
    if not made:
        raise ValueError("a comment has no created_at")
    return Said(comment_id, mover, check_text("comment", text), made, _instant(document, "edited_at"))


def _instant(document: Mapping[str, object], name: str) -> str:
    text = _text(document, name)
    try:
        return to_text(from_text(text)) if text else ""
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{name} {text!r} is no time with a date and a zone") from error


def _position(document: Mapping[str, object]) -> float | None:
    value = document.get("position")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("position is no number")
    if not math.isfinite(value) or abs(value) > NUMBER_LIMIT:
        raise ValueError(f"position is not between {-NUMBER_LIMIT} and {NUMBER_LIMIT}")
    return float(value)


def _text(document: Mapping[str, object], name: str) -> str:
    value = document.get(name)
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value or ""


def _list(document: Mapping[str, object], name: str) -> list[object]:
    value = document.get(name)
    if value is not None and not isinstance(value, list):
        raise TypeError(f"{name} is no list")
    return value or []


def _texts(document: Mapping[str, object], name: str) -> list[str]:
    values = _list(document, name)
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) != len(values):
        raise TypeError(f"{name} is no list of texts")
    return texts


def _number(document: Mapping[str, object], name: str) -> int:
    value = document.get(name)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is no whole number")
    return value


def _object(document: Mapping[str, object], name: str) -> dict[str, object]:
    value = document.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"{name} is no object")
    return value


def _stop(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."
