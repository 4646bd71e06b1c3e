"""Environment forms (language.md 2.6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dsl.environment import expand, has_forms

ENVIRON = {"A": "a", "EMPTY": "", "FORM": "${A}", "LONG_1": "l"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$A", "a"),
        ("${A}", "a"),
        ("x-${A}-y $A$A", "x-a-y aa"),
        ("$LONG_1.x", "l.x"),
        ("$GONE|${GONE}|", "||"),
        ("${A:-d}", "a"),
        ("${GONE:-d}", "d"),
        ("${EMPTY:-d}", "d"),
        ("${EMPTY}", ""),
        ("${GONE:-}", ""),
        ("${GONE:-${ALSO:-c}}", "c"),
        ("${GONE:-${A:-c}}", "a"),
        ("${GONE:-$A and {b}}!", "a and {b}!"),
        ("${FORM}", "${A}"),
        ("$", "$"),
        ("$$A", "$a"),
        ("$1 ${1} $(A) ${A", "$1 ${1} $(A) ${A"),
        ("${A:-x", "${A:-x"),
        ("${A:-x $A", "${A:-x a"),
        ("${A-x}", "${A-x}"),
        ("plain", "plain"),
    ],
)
def test_forms_are_replaced_in_one_pass(text: str, expected: str) -> None:
    assert expand(text, ENVIRON) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("$A", True), ("${A:-b}", True), ("$1", False), ("5 $", False), ("x", False)]
)
def test_forms_are_recognised(text: str, expected: bool) -> None:
    assert has_forms(text) is expected


@given(st.text(alphabet="${}:-AB ", max_size=40))
def test_no_text_is_refused(text: str) -> None:
    assert isinstance(expand(text, ENVIRON), str)


def test_nesting_without_end_ends() -> None:
    assert "$" in expand("${B:-" * 5000 + "}" * 5000, {})
