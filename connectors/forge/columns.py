"""Which label is which column, also after somebody renamed, recased, deleted or made it anew (connectors.md 4). Pure.

Called by the board with what the forge shows and what was found last; ids are the forge's, never configured.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from connectors.forge.memory import KnownLabel
from connectors.forge.records import LabelDef


@dataclass(frozen=True, slots=True)
class ColumnPlace:
    """How a column shows on the forge: by a label, by the option of a project's status field, by the state."""

    label: str = ""
    status: str = ""
    closed: bool | None = None

    @property
    def name(self) -> str:
        """The name of the label or option; empty for a state."""
        return self.label or self.status


class Seen(StrEnum):
    """What became of a column's label since it was found last."""

    SAME = "same"
    NEW = "new"
    """Found for the first time, or for the first time under this configured name."""
    RENAMED = "renamed"
    """The id has another name: the mapping follows."""
    REMADE = "remade"
    """The id is gone and the name is there: the new id is taken over."""
    LOST = "lost"
    """Neither is there."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """One column. ``label`` is None when it is lost; ``near`` is a label that differs in case or blanks only."""

    seen: Seen
    label: LabelDef | None = None
    near: str = ""


def resolve(
    places: Mapping[str, ColumnPlace],
    known: Mapping[str, KnownLabel],
    labels: Sequence[LabelDef],
    *,
    folds_case: bool,
) -> dict[str, Resolved]:
    """column -> its label, for every column that is mapped by a name."""
    return {
        column: _one(place.name, known.get(column), labels, folds_case=folds_case)
        for column, place in places.items()
        if place.name
    }


def _one(name: str, known: KnownLabel | None, labels: Sequence[LabelDef], *, folds_case: bool) -> Resolved:
    near = "" if folds_case else _near(name, labels)
    if known is not None and same(known.configured, name):
        kept = next((each for each in labels if each.id == known.id), None)
        if kept is not None:
            return Resolved(Seen.SAME if kept.name == known.name else Seen.RENAMED, kept, near)
    found = named(name, labels, folds_case=folds_case)
    if found is None:
        return Resolved(Seen.LOST, None, near)
    remade = known is not None and same(known.configured, name)
    return Resolved(Seen.REMADE if remade else Seen.NEW, found, near)


def named(name: str, labels: Iterable[LabelDef], *, folds_case: bool) -> LabelDef | None:
    """The label of that name; one of exactly that spelling wins where the forge folds case."""
    every = tuple(labels)
    exact = [each for each in every if same(name, each.name)]
    folded = [each for each in every if folds_case and same(name.lower(), each.name.lower())]
    return next(iter((*exact, *folded)), None)


def same(one: str, other: str) -> bool:
    """Whether two names are one, on NFC text."""
    return unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)


def known_of(places: Mapping[str, ColumnPlace], found: Mapping[str, Resolved]) -> dict[str, KnownLabel]:
    """What is to be remembered of columns that are not as they were."""
    return {
        column: KnownLabel(places[column].name, each.label.id, each.label.name)
        for column, each in found.items()
        if each.label is not None and each.seen is not Seen.SAME
    }


def columns_of(labels: Iterable[str], found: Mapping[str, Resolved], *, folds_case: bool) -> tuple[str, ...]:
    """The columns whose labels are among a card's, in the configured order."""
    have = [each.lower() if folds_case else each for each in labels]
    return tuple(
        column
        for column, each in found.items()
        if each.label is not None and any(same(_folded(each.label.name, folds_case), label) for label in have)
    )


def _folded(name: str, folds_case: bool) -> str:
    return name.lower() if folds_case else name


def _near(name: str, labels: Iterable[LabelDef]) -> str:
    wanted = _loose(name)
    return next((each.name for each in labels if _loose(each.name) == wanted and not same(each.name, name)), "")


def _loose(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())
