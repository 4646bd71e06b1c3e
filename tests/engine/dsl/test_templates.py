"""Templates are read as language.md 9 says."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dsl.templates import Include, TemplateSyntaxError, bind, includes, params, parse


@pytest.mark.parametrize(
    ("text", "namespace", "path", "raw"),
    [
        ("{{vars.x}}", "vars", ("x",), False),
        ("{{ vars.x }}", "vars", ("x",), False),
        ("{{\tinput . f . g\t}}", "input", ("f", "g"), False),
        ("{{!outputs.n.f}}", "outputs", ("n", "f"), True),
        ("{{ ! artifacts.a }}", "artifacts", ("a",), True),
        ("{{loop.L.previous_output.f}}", "loop", ("L", "previous_output", "f"), False),
        ("{{run.id}}", "run", ("id",), False),
        ("{{each.L.item}}", "each", ("L", "item"), False),
        ("{{attachments.a.path}}", "attachments", ("a", "path"), False),
        ("{{secrets.s}}", "secrets", ("s",), False),
        ("{{outputs.größe._cost_usd}}", "outputs", ("größe", "_cost_usd"), False),
    ],
)
def test_a_reference_has_namespace_path_and_mark(text: str, namespace: str, path: tuple[str, ...], raw: bool) -> None:
    sole = parse(text).sole
    assert sole is not None
    assert (sole.namespace, sole.path, sole.raw, sole.offset, sole.text) == (namespace, path, raw, 0, text)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("{{vars.x", 0),
        ("a {{", 2),
        ("{{vars.{{vars.x}}}}", 0),
        ("{{vars.x {{ vars.y }}", 0),
        ("ok {{vars.x}} {{nope.x}}", 14),
        ("{{vars}}", 0),
        ("{{input}}", 0),
        ("{{}}", 0),
        ("{{ vars. }}", 0),
        ("{{vars.x-y}}", 0),
        ("{{vars.1}}", 0),
        ("{{{vars.x}}}", 0),
        ("{{.State}}", 0),
        ("{{card.title}}", 0),
        ("{{params.p}}", 0),
        ('{{include "rules.md"}}', 0),
    ],
)
def test_what_is_no_template_is_refused_with_its_place(text: str, offset: int) -> None:
    """C004"""
    with pytest.raises(TemplateSyntaxError) as problem:
        parse(text)
    assert problem.value.offset == offset
    assert problem.value.message
    assert problem.value.expected


@pytest.mark.parametrize(
    "text", ["", "plain", "}} alone", "${HOME} $(x) { { }", "a{{vars.x}}b", "{{vars.x}}{{vars.y}}"]
)
def test_only_a_text_that_is_exactly_one_reference_is_sole(text: str) -> None:
    assert parse(text).sole is None
    assert parse(text).source == text


def test_include_markers_are_found_and_nothing_else_is_judged() -> None:
    text = 'a {{include "x.md"}} {{ include "d/y.md" }} {{broken} {{vars.q}}'
    assert includes(text) == (
        Include("x.md", 2, '{{include "x.md"}}'),
        Include("d/y.md", 21, '{{ include "d/y.md" }}'),
    )


def test_group_parameters_are_put_in_before_reading() -> None:
    text = "length('{{params.label}}') <= {{ params.limit }} + {{params.ghost}}"
    assert params(text) == ("label", "limit", "ghost")
    bound = bind(text, {"label": "{{vars.x}} \\1", "limit": "8"})
    assert bound == "length('{{vars.x}} \\1') <= 8 + {{params.ghost}}"


@given(st.text(alphabet='{}! .varsinputx"\n', max_size=30))
def test_every_text_is_a_template_or_a_syntax_error(text: str) -> None:
    with suppress(TemplateSyntaxError):
        assert parse(text).source == text
