"""Each row of the tables of language.md 9.2 and 9.3, and what a real shell makes of the words."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.dsl import rendering, templates
from engine.dsl.expressions import EvaluationError
from engine.dsl.scope import Scope

SCOPE = Scope(
    vars={
        "s": "it's",
        "n": 4,
        "f": 0.5,
        "whole": 3.0,
        "b": True,
        "nil": None,
        "empty": "",
        "list": ["a b", 1, None, False],
        "none": [],
        "map": {"b": 1, "a": [2.0, "ü"]},
        "deep": [["x"], {"y": 1}],
        "braces": "{{vars.n}}",
    },
    input={"data": ["a", "b"], "text": "t"},
)


def template(text: str) -> templates.Template:
    return templates.parse(text)


def test_prompt_keeps_what_is_unresolved_and_empties_null() -> None:
    """language.md 9.2, row prompt"""
    text = "{{vars.s}} [{{ vars.gone }}] [{{vars.nil}}] {{vars.map}} {{vars.whole}}"
    assert rendering.prompt(template(text), SCOPE) == 'it\'s [{{ vars.gone }}] [] {"a":[2,"ü"],"b":1} 3'


def test_command_keeps_what_is_unresolved_and_reports_it() -> None:
    """language.md 9.2, row command: the reference stays, null is the empty word."""
    rendered = rendering.command(template("echo {{ vars.gone }} {{vars.nil}} {{!outputs.x.y}}"), SCOPE)
    assert rendered.text == "echo {{ vars.gone }} '' {{!outputs.x.y}}"
    assert [gap.dotted for gap in rendered.unresolved] == ["vars.gone", "outputs.x.y"]


@pytest.mark.parametrize(
    ("language", "missing", "nil", "raw"),
    [
        ("js", "null", "null", "null"),
        ("node", "null", "null", "null"),
        ("py", "null", "null", "null"),
        ("python3", "null", "null", "null"),
        ("sh", "''", "''", ""),
        ("bash", "''", "''", ""),
    ],
)
def test_script_has_a_literal_for_what_is_missing(language: str, missing: str, nil: str, raw: str) -> None:
    """language.md 9.2, row script"""
    assert rendering.script(template("{{vars.gone}}"), SCOPE, language) == missing
    assert rendering.script(template("{{vars.nil}}"), SCOPE, language) == nil
    assert rendering.script(template("{{!vars.nil}}"), SCOPE, language) == raw
    assert rendering.script(template("{{!vars.gone}}"), SCOPE, language) == raw


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{vars.n}}", 4),
        ("{{vars.map}}", SCOPE.vars["map"]),
        ("{{vars.gone}}", None),
        ("{{vars.nil}}", None),
        (" {{vars.n}}", " 4"),
        ("{{vars.n}}{{vars.b}}", "4true"),
        ("n={{vars.gone}}.", "n=."),
        ("n={{vars.nil}}.", "n=."),
        ("n={{vars.none}}.", "n=[]."),
        ("plain", "plain"),
        ("{{vars.braces}}", "{{vars.n}}"),
        ("x{{vars.braces}}", "x{{vars.n}}"),
    ],
)
def test_with_value_keeps_the_type_of_a_sole_reference(text: str, expected: Any) -> None:
    """language.md 9.2, rows with; replacement is one pass."""
    assert rendering.value(template(text), SCOPE) == expected


def test_message_has_empty_text_for_what_is_missing() -> None:
    """language.md 9.2, row message: a sole reference is text here too."""
    assert rendering.text(template("{{vars.gone}}"), SCOPE) == ""
    assert rendering.text(template("{{vars.n}} of {{vars.nil}}"), SCOPE) == "4 of "


@pytest.mark.parametrize("text", ["{{vars.gone}}", "{{vars.nil}}", "x{{vars.gone}}", "x{{vars.nil}}"])
def test_over_and_caps_want_a_value(text: str) -> None:
    """language.md 9.2, row over"""
    with pytest.raises(EvaluationError):
        rendering.strict(template(text), SCOPE)
    assert rendering.strict(template("{{vars.list}}"), SCOPE) == SCOPE.vars["list"]
    assert rendering.strict(template("[{{vars.n}}]"), SCOPE) == "[4]"


@pytest.mark.parametrize("text", ["k-{{vars.gone}}", "k-{{vars.nil}}", "k-{{vars.empty}}", "{{vars.empty}}"])
def test_idempotency_key_has_no_missing_part(text: str) -> None:
    """language.md 5.6"""
    with pytest.raises(EvaluationError):
        rendering.complete(template(text), SCOPE)
    assert rendering.complete(template("k-{{vars.n}}"), SCOPE) == "k-4"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{vars.s}}", r"'it'\''s'"),
        ("{{vars.n}} {{vars.b}} {{vars.f}} {{vars.empty}}", "'4' 'true' '0.5' ''"),
        ("{{vars.list}}", "'a b' '1' '' 'false'"),
        ("x {{vars.none}} y", "x  y"),
        ("{{vars.map}}", """'{"a":[2,"ü"],"b":1}'"""),
        ("{{vars.deep}}", """'[["x"],{"y":1}]'"""),
        ("{{input.data}}", """'["a","b"]'"""),
        ("{{input.text}}", "'t'"),
        ("{{!vars.s}}", "it's"),
        ("{{!vars.list}}", '["a b",1,null,false]'),
        ("{{!vars.nil}}", ""),
        ("{{vars.braces}}", "'{{vars.n}}'"),
    ],
)
def test_a_reference_in_a_command_becomes_shell_words(text: str, expected: str) -> None:
    """language.md 9.3"""
    fields = frozenset({"data"})
    assert rendering.command(template(text), SCOPE, fields).text == expected
    assert rendering.script(template(text), SCOPE, "bash", fields) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{vars.s}}", '"it\'s"'),
        ("{{vars.n}}", "4"),
        ("{{vars.whole}}", "3"),
        ("{{vars.list}}", '["a b",1,null,false]'),
        ("{{vars.map}}", '{"a":[2,"ü"],"b":1}'),
        ("{{!vars.s}}", "it's"),
        ("{{!vars.map}}", '{"a":[2,"ü"],"b":1}'),
    ],
)
def test_a_reference_in_js_and_py_becomes_a_literal(text: str, expected: str) -> None:
    """language.md 9.3"""
    assert rendering.script(template(text), SCOPE, "js") == expected
    assert rendering.script(template(text), SCOPE, "py") == expected


BASH = shutil.which("bash") or "/bin/bash"
TEXT = st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


def words_of(command: str) -> list[str]:
    """What bash makes of the words."""
    script = f'set -- {command}\nfor word in "$@"; do printf "%s\\0" "$word"; done'
    done = subprocess.run([BASH, "-c", script], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


@given(st.lists(TEXT, max_size=4), TEXT)
@example(["it's", "line\nbreak", "$(touch pwned)", "`x`", "{{x}}", "", " ", "*", "~", "\\", "-n"], "'")
@example([], "")
@settings(max_examples=40, deadline=None)
def test_bash_reads_back_every_value_and_runs_none(values: list[str], one: str) -> None:
    """A value with ', newline, $(…), {{x}} and an empty list is data, whatever it holds."""
    scope = Scope(vars={"list": values, "one": one, "map": {"k": values}})
    rendered = rendering.command(template("{{vars.list}} {{vars.one}} {{vars.map}} {{vars.list}}"), scope)
    found = words_of(rendered.text)
    assert found[: -1 - len(values)] == [*values, one]
    assert json.loads(found[len(values) + 1]) == {"k": values}
    assert found[len(values) + 2 :] == values


@given(st.recursive(st.none() | st.booleans() | st.integers() | TEXT, lambda x: st.lists(x, max_size=3), max_leaves=5))
@example("\u2028\x7f\x0c\"'\\n{{x}}")
@settings(max_examples=100)
def test_python_reads_back_every_literal(value: Any) -> None:
    literal = rendering.script(template("{{vars.x}}"), Scope(vars={"x": value}), "py")
    assert eval(literal, {"true": True, "false": False, "null": None}) == value  # a script would


def test_a_nul_in_a_value_does_not_reach_the_process() -> None:
    rendered = rendering.command(template("{{vars.x}}"), Scope(vars={"x": "a\0b"}))
    assert words_of(rendered.text) == ["ab"]


def test_a_python_script_runs_with_the_literals(tmp_path: Path) -> None:
    text = "true, false, null = True, False, None\nprint({{vars.map}}['a'][1], {{vars.gone}} is None, {{vars.b}})\n"
    path = tmp_path / "script.py"
    path.write_text(rendering.script(template(text), SCOPE, "py"), encoding="utf-8")
    done = subprocess.run([sys.executable, "-X", "utf8", str(path)], capture_output=True, check=True)
    assert done.stdout.decode() == "ü True True\n"
