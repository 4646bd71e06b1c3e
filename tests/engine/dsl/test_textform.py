"""The text of values, their truth, and the JSON reader (language.md 8.2, 9.2)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dsl.textform import NotJson, TooLarge, float_text, json_text, measure, read_json, text_form, truthy


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("as it is\n", "as it is\n"),
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-7, "-7"),
        (2**70, "1180591620717411303424"),
        (1.0, "1"),
        (-0.0, "0"),
        (0.5, "0.5"),
        (-2.25, "-2.25"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e15, "1000000000000000"),
        (1e16, "10000000000000000"),
        (-1.5e17, "-150000000000000000"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (0.00001, "0.00001"),
        (0.0000015, "0.0000015"),
        (1e-7, "1e-7"),
        (-1.25e-9, "-1.25e-9"),
        ([], "[]"),
        ({}, "{}"),
        ([1, 2.0, "a", None], '[1,2,"a",null]'),
        ({"b": [1, {}], "a": {"z": True, "y": []}}, '{"a":{"y":[],"z":true},"b":[1,{}]}'),
        (["ü\n\"'</"], '["ü\\n\\"\'</"]'),
    ],
)
def test_a_value_has_one_text_form(value: Any, expected: str) -> None:
    assert text_form(value) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_from_its_text(number: float) -> None:
    text = float_text(number)
    assert float(text) == number
    assert not text.endswith(".0")
    assert len(text.lstrip("-")) <= 25


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(PLAIN)
def test_json_reads_back_from_its_text(value: Any) -> None:
    assert json.loads(json_text(value), parse_int=float) == json.loads(json.dumps(value), parse_int=float)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, False),
        (False, False),
        (0, False),
        (0.0, False),
        ([], False),
        ({}, False),
        ("", False),
        (" FALSE ", False),
        ("no", False),
        ("\t0\n", False),
        ("0.0", True),
        ("off", True),
        ("null", True),
        ("yes", True),
        (3, True),
        (-0.1, True),
        ([0], True),
        ({"a": None}, True),
    ],
)
def test_a_value_counts_as_true_by_its_kind(value: Any, expected: bool) -> None:
    assert truthy(value) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("1.0", 1.0),
        ('{"a": [1, 2.5, null, true]}', {"a": [1, 2.5, None, True]}),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\ud800"', "\ufffd"),
        ('{"\\uD800": ["\\udc00x"]}', {"\ufffd": ["\ufffdx"]}),
        (b'"\xc3\xbc"', "ü"),
    ],
)
def test_json_keeps_integers_and_floats_apart(text: str | bytes, expected: Any) -> None:
    found = read_json(text)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "{",
        "[1,]",
        "NaN",
        "[Infinity]",
        "-Infinity",
        "1e999",
        "9" * 5000,
        b"\xff",
        "[" * 257 + "]" * 257,
        "[" * 100_000,
    ],
)
def test_what_is_no_json_here_is_refused(text: str | bytes) -> None:
    """language.md 18.14: json.loads takes NaN, the language does not."""
    with pytest.raises(NotJson) as problem:
        read_json(text)
    assert str(problem.value)


def test_256_levels_of_json_are_read() -> None:
    measure(read_json("[" * 256 + "]" * 256))


def test_values_too_deep_or_too_large_are_told_apart_without_writing_them_down() -> None:
    shared: Any = "x" * 1000
    for _ in range(40):
        shared = [shared, shared]
    with pytest.raises(TooLarge, match="16 MiB"):
        measure(shared)
    deep: Any = 1
    for _ in range(300):
        deep = {"k": deep}
    with pytest.raises(TooLarge, match="256"):
        measure(deep)
