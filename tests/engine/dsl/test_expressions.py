"""The expression language as a table: operators, paths, functions, errors (language.md 8)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.dsl.expressions import EvaluationError, ExpressionSyntaxError, evaluate, parse, references
from engine.dsl.scope import Scope
from engine.dsl.textform import json_text

VARS: dict[str, Any] = {
    "a": [3, 1, 2],
    "b": [2, 5],
    "none": [],
    "words": ["b", "a", "c"],
    "mixed": ["10", 9, True],
    "nested": [[1], [2, [3]], 4],
    "floats": [1.5, 2.0],
    "m": {"a": 1, "b": {"c": [1, 2]}, "nothing": None},
    "p": {"y": 20, "x": 10},
    "rows": [{"n": 1, "ok": True}, {"n": 2, "ok": False}],
    "big": 9223372036854775807,
    "low": -9223372036854775808,
    "huge": 123456789012345678901234567890,
    "e": "é",
    "f": 2.0,
    "large": 1e300,
}
SCOPE = Scope(
    vars=VARS,
    input={"total": 7, "flag": "no", "name": "x", "deep": {"er": 1}, "vars": 5},
    outputs={"src": {"a": 5}, "r1.gate": {"id": "dotted"}, "r1": {"gate": {"id": "plain"}}},
    artifacts={"doc": {"title": "T"}},
    loop={"retry": {"iteration": 2, "max": 3, "previous_output": None}, "r1.retry": {"iteration": 9}},
    run={"id": "run-1", "cost_usd": 0.5},
    each={"parts": {"item": {"name": "hull"}, "index": 0, "first": True}},
    history=lambda name: [{"of": name, "a": 1}, {"of": name, "a": 2}],
)

VALUES: list[tuple[str, Any]] = [
    # arithmetic, precedence, integral floats
    ("1 + 2 * 3", 7),
    ("(1 + 2) * 3", 9),
    ("10 - 2 - 3", 5),
    ("100 / 7 / 2", 7),
    ("8 % 5 * 2", 6),
    ("7 / 2", 3),
    ("-7 / 2", -3),
    ("7 / -2", -3),
    ("-7 / -2", 3),
    ("7 % 3", 1),
    ("-7 % 3", -1),
    ("7 % -3", 1),
    ("-7 % -3", -1),
    ("7.5 / 2", 3.75),
    ("7.0 / 2.0", 3),
    ("7 * 1.0 / 2", 3),
    ("vars.f / 4", 0),
    ("1.5 + 1.5", 3.0),
    ("1 + 1.5", 2.5),
    ("7.0 - 3", 4),
    ("2 * -3", -6),
    ("-(2 + 3)", -5),
    ("- - 2", 2),
    ("0.1 + 0.2 > 0.3", True),
    ("9007199254740993 + 0", 9007199254740993),
    ("9223372036854775806 + 1", 9223372036854775807),
    ("6 % 2.0", 0),
    ("vars.low + 0", -9223372036854775808),
    ("vars.large * 1.5", 1.5e300),
    # strings
    ("'a' + 'b'", "ab"),
    ("'n=' + 3", "n=3"),
    ("3 + '=n'", "3=n"),
    ("'x' + 1.5", "x1.5"),
    ("'x' + 2.0", "x2"),
    ("1 + 2 + 'a' + 1 + 2", "3a12"),
    ('"it\'s"', "it's"),
    (r"'it\'s'", "it's"),
    (r"'tab\there'", "tab\there"),
    (r"'line\nbreak'", "line\nbreak"),
    (r"'back\\slash'", "back\\slash"),
    (r"'other \q'", "other q"),
    (r"""'say \"hi\"'""", 'say "hi"'),
    ("''", ""),
    ("'{{'", "{{"),
    # comparison
    ("2 == 2.0", True),
    ("2 == '2'", False),
    ("'a' == 'a'", True),
    ("true == true", True),
    ("true == 'true'", False),
    ("true == 1", False),
    ("false == 0", False),
    ("vars.m.zz == vars.none.q", True),
    ("vars.m.zz == 0", False),
    ("vars.m.zz == ''", False),
    ("vars.m.zz == false", False),
    ("vars.a == vars.a", False),
    ("vars.a != vars.a", True),
    ("vars.m == vars.m", False),
    ("1 != 2", True),
    ("'b' > 'a'", True),
    ("'B' < 'a'", True),
    ("'a' < 'ab'", True),
    ("2 <= 2", True),
    ("2.5 >= 2", True),
    ("9007199254740993 > 9007199254740992.0", True),
    # logic
    ("1 < 2 && 2 < 3", True),
    ("1 > 2 || 2 > 1", True),
    ("!false && true", True),
    ("!(false && true)", True),
    ("!1 == 2", True),
    ("!true == false", True),
    ("not true or true", True),
    ("true and not false", True),
    ("not not true", True),
    ("true || false && false", True),
    ("1 || 1 / 0", True),
    ("0 && 1 / 0", False),
    ("'x' && 3", True),
    ("true and true and false", False),
    ("false or false or 1", True),
    # truthiness
    ("if('false', 1, 2)", 2),
    ("if('No', 1, 2)", 2),
    ("if(' 0 ', 1, 2)", 2),
    ("if('  ', 1, 2)", 2),
    ("if('yes', 1, 2)", 1),
    ("if('0.0', 1, 2)", 1),
    ("if(0, 1, 2)", 2),
    ("if(0.0, 1, 2)", 2),
    ("if(vars.a, 1, 2)", 1),
    ("if(vars.none, 1, 2)", 2),
    ("if(vars.m.zz, 1, 2)", 2),
    ("if(true, 1, 1 / 0)", 1),
    ("if(false, 1 / 0, 2)", 2),
    # paths and namespaces
    ("total > 3", True),
    ("input.total", 7),
    ("deep.er", 1),
    ("name", "x"),
    ("gone", None),
    ("gone.deeper.still", None),
    ("input.vars", 5),
    ("length(input)", 5),
    ("length(keys(vars)) > 3", True),
    ("vars.m.a", 1),
    ("vars.m.b.c", [1, 2]),
    ("vars.m.zz", None),
    ("vars.m.a.deeper", None),
    ("vars.m.nothing", None),
    ("vars.m.nothing.more", None),
    ("vars . m . a", 1),
    ("outputs.src.a", 5),
    ("outputs.src", {"a": 5}),
    ("outputs.ghost.a", None),
    ("outputs.r1.gate.id", "dotted"),
    ("outputs.src.history", [{"of": "src", "a": 1}, {"of": "src", "a": 2}]),
    ("outputs.src.history[1].a", 2),
    ("map(outputs.r1.gate.history, h => h.of)", ["r1.gate", "r1.gate"]),
    ("outputs.ghost.history", None),
    ("length(outputs)", 3),
    ("artifacts.doc.title", "T"),
    ("loop.retry.iteration", 2),
    ("loop.r1.retry.iteration", 9),
    ("loop.retry.previous_output.x", None),
    ("loop.ghost.iteration", None),
    ("run.id", "run-1"),
    ("run.cost_usd * 2", 1.0),
    ("each.parts.item.name", "hull"),
    ("each.parts.first", True),
    # subscripts
    ("vars.m.b.c[1]", 2),
    ("vars.m.b.c[2]", None),
    ("vars.m.b.c[-1]", None),
    ("vars.a[1.0]", 1),
    ("vars.m['a']", 1),
    ("vars.m['zz']", None),
    ("vars.m.zz[0]", None),
    ("vars.m.zz['a']", None),
    ("vars.rows[1].n", 2),
    ("vars.rows[1]['n']", 2),
    ("vars.rows[9].n", None),
    ("(vars.m).a", 1),
    ("vars.a[vars.a[1]]", 1),
    ("-vars.a[0]", -3),
    ("sort(vars.a)[0]", 1),
    # functions
    ("length('abc')", 3),
    ("length('')", 0),
    ("length(vars.e)", 2),
    ("length(vars.a)", 3),
    ("length(vars.m)", 3),
    ("length(vars.m.zz)", 0),
    ("concat(vars.a, vars.b)", [3, 1, 2, 2, 5]),
    ("concat(vars.a, vars.m.zz, vars.b)", [3, 1, 2, 2, 5]),
    ("concat(vars.a)", [3, 1, 2]),
    ("unique(concat(vars.a, vars.b))", [3, 1, 2, 5]),
    ("unique(concat(vars.floats, vars.b))", [1.5, 2.0, 5]),
    ("unique(vars.m.zz)", []),
    ("contains(vars.words, 'a')", True),
    ("contains(vars.words, 'z')", False),
    ("contains(vars.a, '2')", True),
    ("contains(vars.a, 2)", True),
    ("contains(vars.m.zz, 1)", False),
    ("contains(vars.mixed, true)", True),
    ("contains(vars.rows, vars.rows[0])", True),
    ("join(vars.words, '-')", "b-a-c"),
    ("join(vars.words, '')", "bac"),
    ("join(vars.none, ',')", ""),
    ("join(vars.mixed, ' ')", "10 9 true"),
    ("join(map(vars.a, x => x.gone), ',')", "null,null,null"),
    ("join(vars.rows, ';')", '{"n":1,"ok":true};{"n":2,"ok":false}'),
    ("tail(vars.a, 2)", [1, 2]),
    ("tail(vars.a, 9)", [3, 1, 2]),
    ("tail(vars.a, 0)", []),
    ("tail(vars.a, -1)", []),
    ("slice(vars.a, 0, 2)", [3, 1]),
    ("slice(vars.a, -2, 3)", [1, 2]),
    ("slice(vars.a, 1, 99)", [1, 2]),
    ("slice(vars.a, 2, 1)", []),
    ("slice(vars.a, -99, -1)", [3, 1]),
    ("sort(vars.a)", [1, 2, 3]),
    ("sort(vars.words)", ["a", "b", "c"]),
    ("sort(vars.mixed)", ["10", 9, True]),
    ("sort(concat(vars.floats, vars.a))", [1, 1.5, 2.0, 2, 3]),
    ("sort(vars.none)", []),
    ("flatten(vars.nested)", [1, 2, [3], 4]),
    ("flatten(vars.m.zz)", []),
    ("keys(vars.m)", ["a", "b", "nothing"]),
    ("keys(vars.m.zz)", []),
    ("values(vars.p)", [10, 20]),
    ("sum(vars.a)", 6),
    ("sum(vars.none)", 0),
    ("sum(vars.floats)", 3.5),
    ("sum(concat(vars.a, map(vars.a, x => 1.0)))", 9),
    ("min(vars.a)", 1),
    ("max(vars.a)", 3),
    ("min(4, 2, 3)", 2),
    ("max(vars.a, 9)", 9),
    ("max(vars.a, vars.b)", 5),
    ("max(vars.none)", None),
    ("min(vars.m.zz)", None),
    ("max(vars.none, vars.none)", None),
    ("max(vars.m.zz, 1)", 1),
    ("floor(2.7)", 2),
    ("floor(-2.1)", -3),
    ("floor(3)", 3),
    ("round(2.5)", 3),
    ("round(-2.5)", -3),
    ("round(2.4)", 2),
    ("round(0.49999999999999994)", 0),
    ("round(vars.big)", 9223372036854775807),
    # lambdas
    ("map(vars.a, x => x * 10)", [30, 10, 20]),
    ("map(vars.a, (x) => x * 10)", [30, 10, 20]),
    ("filter(vars.a, x => x > 1)", [3, 2]),
    ("filter(vars.words, x => x != 'a')", ["b", "c"]),
    ("reduce(vars.a, 0, (acc, x) => acc + x)", 6),
    ("reduce(vars.none, 'start', (acc, x) => acc + x)", "start"),
    ("map(vars.rows, r => r.n)", [1, 2]),
    ("map(vars.rows, r => r.n.deeper)", [None, None]),
    ("length(filter(vars.rows, r => r.ok))", 1),
    ("map(vars.none, x => x)", []),
    ("map(vars.m.zz, x => x)", []),
    ("map(vars.b, x => map(vars.a, y => x * y))", [[6, 2, 4], [15, 5, 10]]),
    ("map(vars.b, x => map(vars.a, x => x))", [[3, 1, 2], [3, 1, 2]]),
    ("map(vars.b, name => name)", [2, 5]),
    ("map(vars.b, x => name)", ["x", "x"]),
    ("join(map(vars.a, x => 'n' + x), ',')", "n3,n1,n2"),
    ("if(length(vars.none) == 0, 0, sum(vars.a) / length(vars.none))", 0),
    ("'it is ' + if(total > 5 && not flag, 'big', 'small')", "it is big"),
]

FAILURES = [
    "1 / 0",
    "1 % 0",
    "1 / 0.0",
    "1.5 / 0",
    "5 % 2.5",
    "'a' % 2",
    "1 < 'a'",
    "true < false",
    "vars.m.zz < 1",
    "vars.a < 1",
    "'a' - 'b'",
    "'a' * 2",
    "vars.a + vars.a",
    "'a' + true",
    "true + 'a'",
    "vars.m.zz + 'a'",
    "vars.m.zz + 1",
    "true + 1",
    "-'a'",
    "-vars.a",
    "-true",
    "-vars.low",
    "vars.low / -1",
    "vars.low - 1",
    "vars.big * 2",
    "9223372036854775807 + 1",
    "vars.huge + 0",
    "vars.large * vars.large",
    "vars.a['x']",
    "vars.a[1.5]",
    "vars.a[true]",
    "vars.m[0]",
    "vars.big[0]",
    "'abc'[0]",
    "1 .x",
    "contains('abc', 'a')",
    "contains(vars.m, 'a')",
    "concat('a')",
    "length(1)",
    "length(true)",
    "join(vars.a, 1)",
    "join('abc', '')",
    "tail(vars.a, 'x')",
    "tail(vars.a, 1.5)",
    "slice(vars.a, vars.m.zz, 1)",
    "sort('abc')",
    "keys(vars.a)",
    "values('x')",
    "sum(vars.words)",
    "sum(vars.mixed)",
    "min(1)",
    "min(vars.words)",
    "max(1, 'a')",
    "max(vars.nested, 1)",
    "floor('1')",
    "floor(vars.m.zz)",
    "floor(vars.large)",
    "round(true)",
    "map('abc', x => x)",
    "filter(vars.m, x => x)",
    "map(vars.a, x => x / 0)",
    "1 && 1 / 0",
]

SYNTAX = [
    ("", 0),
    ("  ", 2),
    ("1 +", 3),
    ("1 2", 2),
    ("(1", 0),
    ("1)", 1),
    ("vars.a[1", 6),
    ("vars.", 5),
    ("vars.1", 5),
    ("a & b", 2),
    ("a | b", 2),
    ("a = b", 2),
    ("1 < 2 < 3", 6),
    ("a == b != c", 7),
    ("a == !b", 5),
    ("1 + not a", 4),
    ("-!a", 1),
    ("'open", 0),
    ('"open', 0),
    ("{{vars.x}}", 0),
    ("vars.x > {{vars.y}}", 9),
    ("größe > 1", 2),
    ("nope(1)", 0),
    ("lenght(x)", 0),
    ("input.f(1)", 7),
    ("map(a, 5)", 7),
    ("map(a, (x, y) => x)", 7),
    ("reduce(a, 0, x => x)", 13),
    ("length(x => x)", 7),
    ("map(x => x, a)", 4),
    ("x => x", 2),
    ("map(a, vars => 1)", 7),
    ("map(a, true => 1)", 7),
    ("reduce(a, 0, (x, x) => x)", 17),
    ("concat(a,)", 9),
    ("concat(,a)", 7),
    ("true(1)", 4),
    ("and", 0),
    ("9223372036854775808", 0),
    ("1" * 400 + ".0", 0),
    ("a ? b : c", 2),
    ("[1, 2]", 0),
    ("a.b.[0]", 4),
    ("$x", 0),
]


def typed(value: Any) -> tuple[str, str]:
    return type(value).__name__, json_text(value)


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_value_is_what_the_language_says(text: str, expected: Any) -> None:
    assert typed(evaluate(parse(text), SCOPE)) == typed(expected)


@pytest.mark.parametrize("text", FAILURES)
def test_what_has_no_value_is_an_evaluation_error(text: str) -> None:
    """R068: a line that fails, fails its node."""
    with pytest.raises(EvaluationError) as problem:
        evaluate(parse(text), SCOPE)
    assert problem.value.message


@pytest.mark.parametrize(("text", "offset"), SYNTAX)
def test_what_is_no_expression_is_refused_with_its_place(text: str, offset: int) -> None:
    with pytest.raises(ExpressionSyntaxError) as problem:
        parse(text)
    assert problem.value.offset == offset
    assert problem.value.message


def test_the_tables_are_as_long_as_they_should_be() -> None:
    assert len(VALUES) + len(FAILURES) + len(SYNTAX) >= 150


def test_misspelt_function_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(ExpressionSyntaxError) as problem:
        parse("lenght(x)")
    assert "`length`" in problem.value.expected


@pytest.mark.parametrize("text", ["(" * 256 + "1" + ")" * 256, "-" * 255 + "1", "if(1," * 255 + "1" + ",2)" * 255])
def test_256_levels_are_read_and_evaluated(text: str) -> None:
    assert evaluate(parse(text), SCOPE) in (1, -1)


@pytest.mark.parametrize(
    "text", ["(" * 257 + "1" + ")" * 257, "!" * 257 + "1", "x" + "[0" * 257 + "]" * 257, "(" * 99999]
)
def test_deeper_nesting_is_refused_at_compile_time(text: str) -> None:
    with pytest.raises(ExpressionSyntaxError, match="nested deeper than 256 levels"):
        parse(text)


def test_long_chains_are_not_deep() -> None:
    assert evaluate(parse(" + ".join(["1"] * 5000)), SCOPE) == 5000
    assert evaluate(parse(" && ".join(["1"] * 5000)), SCOPE) is True


def test_100_000_elements_may_be_visited_and_no_more() -> None:
    scope = Scope(vars={"l": list(range(100)), "m": list(range(998)), "n": list(range(1000))})
    assert evaluate(parse("length(filter(vars.l, x => length(map(vars.m, y => y)) > 0))"), scope) == 100
    with pytest.raises(EvaluationError, match="100000"):
        evaluate(parse("length(filter(vars.l, x => length(map(vars.n, y => y)) > 0))"), scope)


@pytest.mark.parametrize(
    "text",
    [
        "reduce(vars.l, 'x', (acc, x) => acc + acc)",
        "reduce(vars.l, vars.l, (acc, x) => concat(acc, acc))",
        "reduce(vars.l, 1, (acc, x) => map(vars.two, y => acc))",
        "length(join(reduce(vars.l, vars.two, (acc, x) => map(vars.two, y => acc)), ''))",
        "map(vars.l, x => map(vars.l, y => vars.long))",
        "reduce(vars.many, 0, (acc, x) => map(vars.one, y => acc))",
    ],
)
def test_values_that_grow_without_bound_are_an_error_in_good_time(text: str) -> None:
    scope = Scope(vars={"l": [0] * 60, "two": [1, 2], "one": [1], "many": [0] * 400, "long": "x" * 10_000})
    with pytest.raises(EvaluationError):
        evaluate(parse(text), scope)


def test_an_evaluation_leaves_the_scope_as_it_was() -> None:
    before = json_text(VARS)
    evaluate(parse("map(concat(vars.a, sort(vars.b)), x => x + 1)"), SCOPE)
    assert json_text(VARS) == before


def test_references_name_every_path_with_its_place_and_no_parameter() -> None:
    found = references(parse("map(vars.l, x => x.f + total) && outputs.r1.gate.ok || input.z[run.id]"))
    assert [(path.text, path.offset) for path in found] == [
        ("vars.l", 4),
        ("total", 23),
        ("outputs.r1.gate.ok", 33),
        ("input.z", 55),
        ("run.id", 63),
    ]
    assert [path.bare for path in found] == [False, True, False, False, False]


def test_two_expressions_are_equal_when_their_texts_are() -> None:
    assert parse("a + 1") == parse("a + 1")
    assert parse("a + 1") != parse("a+1")


@given(st.text())
def test_no_text_makes_parse_raise_anything_but_its_syntax_error(text: str) -> None:
    with suppress(ExpressionSyntaxError):
        assert parse(text).text == text


FRAGMENTS = st.sampled_from(
    [*"()[].,!-+*/%<>='\"\\&|x ", "=>", "==", "&&", "||", "map(", "reduce(", "if(", "vars.a", "x =>", "1", "2.5", "'s'",
     " not ", "(x, y) =>", "true", "and ", "length(", "{{"]
)  # fmt: skip


@given(st.lists(FRAGMENTS, max_size=20).map("".join))
@settings(max_examples=400)
def test_no_mix_of_tokens_makes_parse_or_evaluate_raise_anything_else(text: str) -> None:
    try:
        expression = parse(text)
    except ExpressionSyntaxError:
        return
    with suppress(EvaluationError):
        evaluate(expression, SCOPE)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from([0, -1, 2**63 - 1, -(2**63), 1e308, -0.0, 2.0])
)
PLAIN = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
LEAVES = st.sampled_from(["a", "b", "input.a", "a.x", "input", "1", "0", "2.5", "'t'", "true", "x", "vars.q"])


def calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one = ["length", "unique", "sort", "flatten", "keys", "values", "sum", "min", "max", "floor", "round", "concat"]
    two = ["contains", "join", "tail", "min", "max", "concat"]
    signs = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||"]
    return st.one_of(
        st.builds("{0}({1})".format, st.sampled_from(one), inner),
        st.builds("{0}({1}, {2})".format, st.sampled_from(two), inner, inner),
        st.builds("({1} {0} {2})".format, st.sampled_from(signs), inner, inner),
        st.builds("{0}({1}, x => {2})".format, st.sampled_from(["map", "filter"]), inner, inner),
        st.builds("reduce({0}, {1}, (a, x) => {2})".format, inner, inner, inner),
        st.builds("({0})[{1}]".format, inner, inner),
        st.builds("if({0}, {1}, {2})".format, inner, inner, inner),
        st.builds("slice({0}, {1}, {2})".format, inner, inner, inner),
        st.builds("(-{0})".format, inner),
        st.builds("(!{0})".format, inner),
    )


@given(st.recursive(LEAVES, calls, max_leaves=10), PLAIN, PLAIN)
@settings(max_examples=500)
def test_no_values_make_evaluate_raise_anything_but_its_error(text: str, first: Any, second: Any) -> None:
    expression = parse(text)
    try:
        value = evaluate(expression, Scope(input={"a": first, "b": second}))
    except EvaluationError:
        return
    assert isinstance(json_text(value), str)
