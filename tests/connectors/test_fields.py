"""Declared fields and free ones (dispatcher.md 29)."""

from __future__ import annotations

import pytest

from connectors.errors import InvalidField
from connectors.fields import FieldSpec, FieldType, fit_fields

SPECS = (
    FieldSpec("size", FieldType.ENUM, required=True, values=("S", "M", "L")),
    FieldSpec("hours", FieldType.NUMBER, default=1),
    FieldSpec("urgent", FieldType.BOOL),
    FieldSpec("due", FieldType.DATE),
    FieldSpec("note"),
)


def test_values_take_the_declared_type_and_defaults_are_filled_in() -> None:
    given = {"size": "M", "urgent": "yes", "due": "2027-02-03", "note": "7"}
    assert fit_fields(SPECS, given) == {"size": "M", "hours": 1, "urgent": True, "due": "2027-02-03", "note": "7"}
    assert fit_fields(SPECS, {"size": "S", "hours": "2.5", "urgent": False})["hours"] == 2.5


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "size"),
        ({"size": "XL"}, "S, M, L"),
        ({"size": "S", "hours": "many"}, "hours"),
        ({"size": "S", "hours": "nan"}, "hours"),
        ({"size": "S", "urgent": "perhaps"}, "urgent"),
        ({"size": "S", "due": "2027-02-30"}, "due"),
        ({"size": "S", "note": 5}, "note"),
        ({"size": "S", "huors": "2"}, "hours"),
    ],
)
def test_what_does_not_fit_is_refused_and_the_field_is_named(given: dict[str, object], named: str) -> None:
    """D205."""
    with pytest.raises(InvalidField, match=named):
        fit_fields(SPECS, given)


def test_a_board_without_declared_fields_takes_any_field_as_text() -> None:
    """D205, second half."""
    assert fit_fields((), {"size": "big"}) == {"size": "big"}
    with pytest.raises(InvalidField, match="takes text"):
        fit_fields((), {"size": 3})
