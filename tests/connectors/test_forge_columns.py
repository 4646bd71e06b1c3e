"""A column is the label that it was, whatever people do to its name (connectors.md 4)."""

from __future__ import annotations

import pytest

from connectors.forge.body import blockers_in, start_in
from connectors.forge.columns import ColumnPlace, Resolved, Seen, columns_of, known_of, resolve
from connectors.forge.memory import KnownLabel
from connectors.forge.records import Blocker, LabelDef

PLACES = {"ready": ColumnPlace(label="ready"), "done": ColumnPlace(closed=True)}
READY = LabelDef("1", "ready")


def one(known: KnownLabel | None, *labels: LabelDef, folds: bool = False) -> Resolved:
    found = resolve(PLACES, {"ready": known} if known else {}, labels, folds_case=folds)
    assert set(found) == {"ready"}
    return found["ready"]


@pytest.mark.parametrize(
    ("known", "labels", "folds", "wanted"),
    [
        pytest.param(None, (READY,), False, Resolved(Seen.NEW, READY), id="found-first"),
        pytest.param(KnownLabel("ready", "1", "ready"), (READY,), False, Resolved(Seen.SAME, READY), id="same"),
        pytest.param(
            KnownLabel("ready", "1", "ready"),
            (LabelDef("1", "todo"),),
            False,
            Resolved(Seen.RENAMED, LabelDef("1", "todo")),
            id="C034-renamed",
        ),
        pytest.param(
            KnownLabel("ready", "1", "todo"),
            (LabelDef("1", "todo"), LabelDef("2", "ready")),
            False,
            Resolved(Seen.SAME, LabelDef("1", "todo")),
            id="renamed-stays-though-the-name-is-made-again",
        ),
        pytest.param(
            KnownLabel("ready", "1", "ready"),
            (LabelDef("2", "ready"),),
            False,
            Resolved(Seen.REMADE, LabelDef("2", "ready")),
            id="C035-made-anew",
        ),
        pytest.param(KnownLabel("ready", "1", "ready"), (), False, Resolved(Seen.LOST), id="C036-lost"),
        pytest.param(
            KnownLabel("old", "1", "old"),
            (LabelDef("1", "old"), READY),
            False,
            Resolved(Seen.NEW, READY),
            id="configured-anew",
        ),
        pytest.param(
            None, (LabelDef("1", "Ready"),), True, Resolved(Seen.NEW, LabelDef("1", "Ready")), id="C031-folded"
        ),
        pytest.param(None, (LabelDef("1", "Ready"),), False, Resolved(Seen.LOST, None, "Ready"), id="C031-near-miss"),
        pytest.param(None, (LabelDef("1", "ready "),), False, Resolved(Seen.LOST, None, "ready "), id="blank-is-near"),
        pytest.param(
            None,
            (LabelDef("2", "Ready"), READY),
            False,
            Resolved(Seen.NEW, READY, "Ready"),
            id="exact-wins-the-other-is-near",
        ),
    ],
)
def test_a_column_follows_its_label(
    known: KnownLabel | None, labels: tuple[LabelDef, ...], folds: bool, wanted: Resolved
) -> None:
    assert one(known, *labels, folds=folds) == wanted


@pytest.mark.parametrize(
    ("mine", "theirs", "folds", "equal"),
    [
        pytest.param("café", "cafe\u0301", False, True, id="C152-nfc"),
        pytest.param("title", "t\u0131tle", True, False, id="C152-dotless-i"),
        pytest.param("Ready", "ready", True, True, id="case-folded"),
        pytest.param("Ready", "ready", False, False, id="case-kept"),
    ],
)
def test_names_are_compared_on_nfc_text(mine: str, theirs: str, folds: bool, equal: bool) -> None:
    found = resolve({"c": ColumnPlace(label=mine)}, {}, [LabelDef("1", theirs)], folds_case=folds)
    assert (found["c"].label is not None) == equal
    assert (columns_of([theirs], {"c": Resolved(Seen.NEW, LabelDef("1", mine))}, folds_case=folds) == ("c",)) == equal


def test_only_what_changed_is_remembered() -> None:
    found = {"ready": Resolved(Seen.RENAMED, LabelDef("1", "todo"))}
    assert known_of(PLACES, found) == {"ready": KnownLabel("ready", "1", "todo")}
    assert known_of(PLACES, {"ready": Resolved(Seen.SAME, READY)}) == {}
    assert known_of(PLACES, {"ready": Resolved(Seen.LOST)}) == {}


def test_blockers_stand_at_the_start_of_a_line_and_outside_code() -> None:
    body = "Blocked by #12\r\nblocks nothing by #9\r\n DEPENDS ON: #13, octo/api#4 and #12\n```\nBlocked by #7\n```\n"
    assert blockers_in(body) == (Blocker(12), Blocker(13), Blocker(4, "octo/api"))
    assert blockers_in("we are blocked by #3") == ()


def test_a_start_time_is_read_from_its_line() -> None:
    start = start_in("x\n\nNot before: 2027-03-28T02:30:00+01:00\nNot before: 2020-01-01T00:00:00Z")
    assert start is not None
    assert start.instant is not None
    assert start.instant.isoformat() == "2027-03-28T01:30:00+00:00"
    broken = start_in("not before: someday")
    assert broken is not None
    assert broken.instant is None
    assert broken.problem
    assert start_in("nothing") is None
