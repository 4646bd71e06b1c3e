"""What is said about an expression before it runs (language.md 14)."""

from __future__ import annotations

import pytest

from engine.dsl.expressions import StaticType, parse, static_check

DECLARED = {
    ("vars", ("n",)): StaticType("int"),
    ("vars", ("f",)): StaticType("float"),
    ("vars", ("s",)): StaticType("string"),
    ("vars", ("b",)): StaticType("bool"),
    ("vars", ("l",)): StaticType("list"),
    ("input", ("colour",)): StaticType("string", ("red", "blue")),
}


def type_of(namespace: str, path: tuple[str, ...]) -> StaticType | None:
    return DECLARED.get((namespace, path))


def codes(text: str, *, condition: bool = False, target: str = "") -> list[tuple[str, int]]:
    found = static_check(parse(text), type_of, condition=condition, target=target)
    return [(finding.code, finding.offset) for finding in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vars.n == 'x'", [("C107", 0)]),
        ("true != vars.s", [("C107", 0)]),
        ("vars.l == vars.l", [("C107", 0)]),
        ("vars.b < true", [("C107", 0)]),
        ("length(vars.l) > '3'", [("C107", 0)]),
        ("'a' + vars.n == 3", [("C107", 0)]),
        ("vars.n == 2.5", []),
        ("vars.n < vars.f", []),
        ("vars.s >= 'a'", []),
        ("vars.b == false", []),
        ("unknown == 'x'", []),
        ("vars.n[0]", [("C120", 0)]),
        ("'abc'[0]", [("C120", 0)]),
        ("sum(vars.l)[0]", [("C120", 0)]),
        ("vars.l[0]", []),
        ("vars.l[0][1]", []),
        ("colour == 'pink'", [("C121", 10)]),
        ("'pink' != input.colour", [("C121", 0)]),
        ("colour == 'red' || colour == 'blue'", []),
        ("length(1, 2)", [("C138", 0)]),
        ("1 + min()", [("C138", 4)]),
        ("if(true, 1)", [("C138", 0)]),
        ("map(vars.l)", [("C138", 0)]),
        ("reduce(vars.l, 0)", [("C138", 0)]),
        ("min(1, 2, 3)", []),
    ],
)
def test_findings_come_with_code_and_place(text: str, expected: list[tuple[str, int]]) -> None:
    """C107 C120 C121 C138"""
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("vars.n", [0]),
        ("length(vars.l)", [0]),
        ("vars.b && vars.f", [10]),
        ("!vars.n", [1]),
        ("vars.n > 0", []),
        ("vars.b", []),
        ("unknown", []),
        ("if(vars.n, true, false)", []),
    ],
)
def test_a_bare_number_as_condition_is_noticed(text: str, places: list[int]) -> None:
    """C108"""
    assert codes(text, condition=True) == [("C108", place) for place in places]
    assert codes(text) == []


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("vars.f / 2", [0]),
        ("sum(vars.l) / length(vars.l)", [0]),
        ("if(vars.b, 1, a / b)", [14]),
        ("1 + a / b", [4]),
        ("vars.n / 2", []),
        ("floor(vars.f / 2)", []),
        ("a > b / 2", []),
    ],
)
def test_a_division_that_goes_into_an_int_is_noticed(text: str, places: list[int]) -> None:
    """C146"""
    assert codes(text, target="int") == [("C146", place) for place in places]
    assert codes(text, target="float") == []


def test_wrong_number_of_arguments_fails_when_it_is_evaluated_all_the_same() -> None:
    (finding,) = static_check(parse("length(1, 2)"), type_of)
    assert (finding.message, finding.expected) == ("length is given 2", "length takes 1 argument")
