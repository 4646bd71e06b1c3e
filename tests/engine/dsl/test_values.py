"""Values against declared types: tables of fit and coercion, outputs, answers, launch values (language.md 4, 5.4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dsl import patterns, values
from engine.dsl.graph import Field, ValueType, Var

T = ValueType
RED_BLUE = ("red", "blue")


def same(found: Any, expected: Any) -> bool:
    return bool(found == expected) and type(found) is type(expected)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (T.STRING, "x", "x"),
        (T.STRING, "", ""),
        (T.BOOL, True, True),
        (T.INT, 4, 4),
        (T.INT, 4.0, 4),
        (T.INT, -(2**63), -(2**63)),
        (T.FLOAT, 0.5, 0.5),
        (T.FLOAT, 3, 3),
        (T.JSON, None, None),
        (T.JSON, {"a": [1]}, {"a": [1]}),
        (T.JSON, "text", "text"),
        (T.STRINGS, [], []),
        (T.STRINGS, ["a"], ["a"]),
        (T.FILE, {"path": "/x", "filename": "x"}, {"path": "/x", "filename": "x"}),
        (T.FILE, "@note.txt", "@note.txt"),
    ],
)
def test_what_fits_a_type(kind: ValueType, value: Any, expected: Any) -> None:
    found = values.fit(kind, value)
    assert not found.problem
    assert same(found.value, expected)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (T.STRING, 5),
        (T.STRING, None),
        (T.BOOL, 1),
        (T.BOOL, "true"),
        (T.INT, True),
        (T.INT, 2.5),
        (T.INT, "4"),
        (T.INT, 2**63),
        (T.INT, 1e300),
        (T.FLOAT, False),
        (T.FLOAT, "0.5"),
        (T.FLOAT, float("inf")),
        (T.FLOAT, 10**400),
        (T.STRINGS, ["a", 1]),
        (T.STRINGS, "a"),
        (T.STRINGS, None),
        (T.FILE, 5),
        (T.FILE, {"name": "x"}),
    ],
)
def test_what_does_not_fit_a_type(kind: ValueType, value: Any) -> None:
    assert values.fit(kind, value).problem


def test_an_enum_names_its_members() -> None:
    assert values.fit(T.STRING, "red", RED_BLUE).value == "red"
    assert "red, blue" in values.fit(T.STRING, "pink", RED_BLUE).problem
    assert "red, blue" in values.coerce(T.STRING, "Red", RED_BLUE).problem


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (T.STRING, "5", "5"),
        (T.STRING, "@bob", "@bob"),
        (T.STRING, "@@x", "@@x"),
        *[(T.BOOL, word, True) for word in ("true", "yes", "on", "1", "YES", "On", " true ")],
        *[(T.BOOL, word, False) for word in ("false", "no", "off", "0", "NO", "Off")],
        (T.INT, " 4 ", 4),
        (T.INT, "+4", 4),
        (T.INT, "-4", -4),
        (T.INT, "4.0", 4),
        (T.INT, "007", 7),
        (T.INT, "-9223372036854775808", -(2**63)),
        (T.FLOAT, "2.5", 2.5),
        (T.FLOAT, "3", 3.0),
        (T.FLOAT, "-.5", -0.5),
        (T.FLOAT, "1e3", 1000.0),
        (T.FLOAT, " 2.5E-1 ", 0.25),
        (T.JSON, '{"k":[1,null]}', {"k": [1, None]}),
        (T.JSON, "[]", []),
        (T.JSON, "1.0", 1.0),
        (T.JSON, '"x"', "x"),
        (T.STRINGS, '["a","b"]', ["a", "b"]),
        (T.STRINGS, " [] ", []),
        (T.FILE, "@@note.txt", "@note.txt"),
        (T.FILE, "text", "text"),
    ],
)
def test_typed_text_is_coerced(kind: ValueType, text: str, expected: Any) -> None:
    """R120 R121 R122 R123 R126 R129 R424"""
    found = values.coerce(kind, text)
    assert not found.problem
    assert same(found.value, expected)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (T.BOOL, "maybe"),
        (T.BOOL, ""),
        (T.BOOL, "2"),
        (T.INT, "abc"),
        (T.INT, ""),
        (T.INT, "2.5"),
        (T.INT, "1e3"),
        (T.INT, "0x10"),
        (T.INT, "1_000"),
        (T.INT, "٣"),
        (T.INT, "- 4"),
        (T.INT, "9223372036854775808"),
        (T.INT, "9" * 5000),
        (T.FLOAT, "much"),
        (T.FLOAT, "nan"),
        (T.FLOAT, "inf"),
        (T.FLOAT, "."),
        (T.FLOAT, "e3"),
        (T.FLOAT, "1e999"),
        (T.FLOAT, "1e"),
        (T.FLOAT, "9" * 400),
        (T.JSON, ""),
        (T.JSON, "NaN"),
        (T.JSON, "{a:1}"),
        (T.STRINGS, "a,b"),
        (T.STRINGS, "[1]"),
        (T.STRING, "\udcff"),
    ],
)
def test_typed_text_that_does_not_coerce_is_refused(kind: ValueType, text: str) -> None:
    """R378 R420 R421 R422"""
    assert values.coerce(kind, text).problem


def test_only_one_at_sign_stages_a_file() -> None:
    """R127 R128"""
    assert [values.staged_path(text) for text in ("@a/b", "@@a", "a", "")] == ["a/b", "", "", ""]


@pytest.mark.parametrize(
    ("kind", "literal", "expected"),
    [
        (T.STRINGS, '["x"]', ["x"]),
        (T.JSON, '{"k":1}', {"k": 1}),
        (T.FLOAT, 1, 1),
        (T.BOOL, True, True),
        (T.STRING, "$HOME", "$HOME"),
    ],
)
def test_literals_of_the_source_become_values(kind: ValueType, literal: Any, expected: Any) -> None:
    assert values.literal_value(kind, literal) == values.Fit(expected)


@pytest.mark.parametrize(
    ("kind", "literal"),
    [(T.INT, "text"), (T.INT, 2.0), (T.JSON, 5), (T.JSON, "{"), (T.STRING, 5), (T.BOOL, "true"), (T.INT, True)],
)
def test_literals_of_the_wrong_type_are_refused(kind: ValueType, literal: Any) -> None:
    """C109 C071"""
    assert values.literal_value(kind, literal).problem


def test_launch_text_is_coerced_and_typed_json_is_not_read_twice() -> None:
    number, data = Var("i", T.INT, False), Var("j", T.JSON, False)
    assert values.launch_value(number, "7").value == 7
    assert values.launch_value(number, 7, typed=True).value == 7
    assert values.launch_value(number, "7", typed=True).value == 7
    assert values.launch_value(data, '{"a":1}').value == {"a": 1}
    assert values.launch_value(data, "plain", typed=True).value == "plain"
    assert values.launch_value(data, "plain").problem


def test_launch_values_meet_enum_and_pattern() -> None:
    """The pattern is searched anywhere in the value."""
    ticket = Var("t", T.STRING, True, pattern=r"[A-Z]+-\d+")
    assert values.launch_value(ticket, "see AB-12 there").value == "see AB-12 there"
    assert values.launch_value(ticket, "none").problem
    assert values.launch_value(Var("c", T.STRING, True, enum=RED_BLUE), "pink").problem
    assert patterns.problem_of("(") != ""
    assert patterns.problem_of(r"\d") == ""


FORM = (
    Field("approved", T.BOOL),
    Field("note", T.STRING),
    Field("count", T.INT),
    Field("data", T.JSON),
    Field("colour", T.STRING, RED_BLUE),
    Field("doc", T.FILE),
)
GOOD: dict[str, Any] = {"approved": True, "note": "n", "count": 4.0, "data": None, "colour": "red"}


def test_an_output_keeps_further_fields_and_stores_whole_floats_as_integers() -> None:
    checked = values.check_output(FORM, {**GOOD, "extra": 1})
    assert checked.problems == ()
    assert same(checked.value["count"], 4)
    assert checked.value["extra"] == 1


@pytest.mark.parametrize("name", ["approved", "note", "count", "data", "colour"])
def test_a_missing_field_is_named(name: str) -> None:
    value = {key: part for key, part in GOOD.items() if key != name}
    assert [problem.field for problem in values.check_output(FORM, value).problems] == [name]
    assert [problem.field for problem in values.check_answers(FORM, 0, value).problems] == [name]


def test_a_computed_integer_becomes_a_float_and_a_tools_stays() -> None:
    """language.md 5.3"""
    fields = (Field("x", T.FLOAT),)
    assert same(values.check_output(fields, {"x": 3}, computed=True).value["x"], 3.0)
    assert same(values.check_output(fields, {"x": 3}).value["x"], 3)


def test_answers_with_unknown_key_misfit_and_missing_field_name_each() -> None:
    """R378 R423 R425 and decision 19"""
    checked = values.check_answers(FORM, 0, {**GOOD, "note": 5, "colour": "pink", "ghost": 1})
    assert {problem.field for problem in checked.problems} == {"ghost", "note", "colour"}
    assert "red, blue" in checked.problem


def test_a_file_may_be_missing_and_loose_uploads_are_kept() -> None:
    checked = values.check_answers(FORM, 0, {**GOOD, "doc": None, "_attachments": ["a"]})
    assert checked.problems == ()
    assert "doc" not in checked.value
    assert checked.value["_attachments"] == ["a"]


ABC = tuple(Field(name, T.STRING) for name in "abc")


@pytest.mark.parametrize(
    ("answers", "output"),
    [
        ({"a": "1", "c": "3"}, {"a": "1", "b": None, "c": "3"}),
        ({"a": "1", "b": "", "c": "3"}, {"a": "1", "b": None, "c": "3"}),
        ({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "2", "c": "3"}),
    ],
)
def test_enough_answers_are_enough_and_the_rest_is_null(answers: dict[str, Any], output: dict[str, Any]) -> None:
    """R139"""
    assert values.check_answers(ABC, 2, answers) == values.Checked(output)


@pytest.mark.parametrize("answers", [{}, {"a": "1"}, {"a": "1", "b": ""}, {"a": "1", "b": None}, {"a": "1", "b": "  "}])
def test_an_empty_answer_is_none(answers: dict[str, Any]) -> None:
    assert values.check_answers(ABC, 2, answers).problems


def test_false_and_zero_are_answers() -> None:
    form = (Field("a", T.BOOL), Field("b", T.INT))
    assert values.check_answers(form, 2, {"a": False, "b": 0}).problems == ()


def test_without_a_form_any_map_that_is_not_empty_is_taken() -> None:
    assert values.check_answers(None, 0, {"x": [1]}) == values.Checked({"x": [1]})
    assert values.check_answers(None, 0, {}).problems


def test_typed_answers_are_coerced_by_field() -> None:
    checked = values.coerce_answers(FORM, {"approved": "yes", "count": "x", "ghost": "1", "note": "@bob"})
    assert checked.value == {"approved": True, "count": None, "ghost": "1", "note": "@bob"}
    assert [problem.text.split(":")[0] for problem in checked.problems] == ["count"]
    assert values.coerce_answers(FORM, {"count": ""}, min_answers=1).problems == ()
    assert values.coerce_answers(None, {"x": "1"}).value == {"x": "1"}


def test_the_schema_view_is_what_backends_are_given() -> None:
    """language.md 4.5"""
    view = values.schema_view(FORM)
    assert view["properties"]["colour"] == {"type": "string", "enum": ["red", "blue"]}
    assert view["properties"]["count"] == {"type": "integer"}
    assert view["required"] == ["approved", "note", "count", "data", "colour"]
    assert view["additionalProperties"] is True


@given(st.sampled_from(list(ValueType)), st.text())
def test_no_text_makes_coercion_raise(kind: ValueType, text: str) -> None:
    found = values.coerce(kind, text)
    assert found.problem or not values.fit(kind, found.value).problem
