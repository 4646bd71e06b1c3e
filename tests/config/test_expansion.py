from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.expansion import expand, has_reference

VALUES = {"A": "one", "EMPTY": "", "DOLLAR": "$A"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$A", "one"),
        ("${A}!", "one!"),
        ("${NONE:-two}", "two"),
        ("${EMPTY:-two}", "two"),
        ("${NONE:-${NOPE:-three}}", "three"),
        ("${NONE:-$A}", "one"),
        ("$NONE.", "."),
        ("costs $5 or $ or ${", "costs $5 or $ or ${"),
        ("${A-x}", "${A-x}"),
        ("$DOLLAR", "$A"),
        ("a$A$A", "aoneone"),
    ],
)
def test_references_are_replaced_and_other_dollars_stay(text: str, expected: str) -> None:
    """language.md 2.6."""
    assert expand(text, VALUES.get).text == expected


def test_names_that_gave_nothing_are_told() -> None:
    found = expand("$A $GONE ${AWAY} ${NONE:-x} $EMPTY", VALUES.get)
    assert found.unset == ["GONE", "AWAY"]
    assert found.names == ["A", "GONE", "AWAY", "NONE", "EMPTY"]


@given(st.text(alphabet="ab{}:-", max_size=30))
def test_text_without_a_dollar_is_left_alone(text: str) -> None:
    assert expand(text, VALUES.get).text == text
    assert not has_reference(text)
