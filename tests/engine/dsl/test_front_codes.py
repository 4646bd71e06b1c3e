"""Every diagnostic code is in the table, is emitted by the smallest source that deserves it, and says what to do."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from engine.dsl import catalogue
from engine.dsl.codes import CODES, RESERVED, Severity
from engine.dsl.diagnostics import Diagnostic, render
from engine.dsl.load import Loaded, load, load_text
from engine.dsl.surroundings import Surroundings
from engine.failures import RESERVED_CODES
from tests.engine.dsl.front_cases import AGENT, CASES, CATALOGUE, CONNECTIONS, FLOW, TOOL, Case

PACKAGE = Path(catalogue.__file__).parent
OTHERWISE_PROVED = {"C030", "C135"}
DOUBLE_SEVERITY = {"C018", "C137", "C222", "X001", "X004"}


def write(folder: Path, case: Case) -> Path:
    """The files of a case; the path of the main file."""
    for name, text in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    main = folder / "main.bot"
    main.write_bytes(case.data or case.main.encode())
    return main


def load_case(folder: Path, case: Case) -> Loaded:
    """What the case loads to, in a world with one operation and two connections."""
    return load(write(folder, case), catalogue=CATALOGUE, connections=CONNECTIONS, version="1.0.0")


def codes(loaded: Loaded) -> list[str]:
    """The codes of all findings."""
    return [found.code for found in loaded.diagnostics]


@pytest.mark.parametrize("code", sorted(CASES))
def test_smallest_source_draws_its_code_with_place_and_hint(code: str, tmp_path: Path) -> None:
    """language.md 14"""
    case = CASES[code]
    loaded = load_case(tmp_path, case)
    hits = [found for found in loaded.diagnostics if found.code == code]
    assert hits, codes(loaded)
    hit = hits[0]
    assert hit.severity is CODES[code].severity or code in DOUBLE_SEVERITY
    assert hit.message
    assert hit.hint
    assert "\n" not in hit.message + hit.hint
    assert "``" not in hit.message + hit.hint
    assert hit.line >= 1
    assert hit.column >= 1
    if case.line:
        assert hit.line == case.line, hit


@pytest.mark.parametrize("code", sorted(RESERVED_CODES))
def test_no_fail_node_takes_a_code_of_the_engine(code: str) -> None:
    """R049: each reserved one draws C248; one of the author's own does not."""
    text = f"fail f:\n  code: {{code}}\n{TOOL}{FLOW.replace('done', 'f')}"
    assert "C248" in codes(load_text(text.format(code=code)))
    assert "C248" not in codes(load_text(text.format(code=f"MY_{code}")))


@pytest.mark.parametrize("code", sorted(code for code in CASES if CODES[code].severity is Severity.ERROR))
def test_an_error_hands_out_no_graph(code: str, tmp_path: Path) -> None:
    """language.md 1.2"""
    assert load_case(tmp_path, CASES[code]).graph is None


def test_the_table_has_every_code_of_the_language_and_no_other() -> None:
    """language.md 14"""
    assert set(CASES) | OTHERWISE_PROVED == set(CODES)
    assert not RESERVED & set(CODES)


def test_every_code_that_the_package_names_is_in_the_table() -> None:
    """house: tables, each total"""
    sources = [path for path in PACKAGE.rglob("*.py") if path.name not in ("codes.py",)]
    named = set(re.findall(r'"([ECX][0-9]{3})"', "\n".join(path.read_text() for path in sources)))
    assert named <= set(CODES)


def test_source_that_is_no_file_can_neither_import_nor_include() -> None:
    """language.md 12"""
    assert codes(load_text('import "lib/x.bot"\n' + TOOL + FLOW)) == ["C030"]
    text = 'human a:\n  instructions: p\nprompt p:\n  {{include "x.md"}}\n' + FLOW
    assert codes(load_text(text)) == ["C055"]


def test_a_tool_that_the_backend_does_not_know_is_named_with_the_nearest_one() -> None:
    """language.md 14, C135"""
    around = Surroundings(tools={"scripted": frozenset({"read_file"})})
    found = load_text(f"{AGENT}  tools: [reed_file]\n{FLOW}", around=around).diagnostics
    assert [(one.code, one.hint) for one in found] == [("C135", "did you mean `read_file`?")]


def test_a_finding_is_rendered_with_a_caret_below_its_place() -> None:
    """language.md 14"""
    found = Diagnostic("C001", Severity.ERROR, "x.bot", 2, 6, "no node is called `b`", "declare it")
    assert render(found, "a\n a -> b\n").split("\n") == [
        "x.bot:2:6: error C001: no node is called `b`",
        " 2 |  a -> b",
        "   |      ^",
        "   = declare it",
    ]
    assert render(replace(found, line=1), "").split("\n")[1:] == ["   = declare it"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"tool a:\n  command: echo a\n{FLOW}", ["E001"]),
        (f"tool a:\n  command: 5\n{FLOW}", ["E020"]),
        (f"agent a:\n  backend: claude-code\n{FLOW}", ["E001"]),
        (f"agent a:\n  backend: [x]\n{FLOW}", ["E020"]),
        (f"{TOOL}  comand: echo a\n{FLOW}", ["E012"]),
        (f"subbot a:\n  source: child.bot\n{FLOW}", ["E020"]),
        (f"{TOOL}workflow w:\n  entry: 5\n  a -> done\n", ["E020"]),
        (f"{TOOL}promt p:\n  It's \"half open and `so is this\n  colour: x\n{FLOW.replace('`', '')}", ["E001"]),
        (
            f"router a:\n  mode: sideways\n{TOOL.replace('a:', 'b:')}{FLOW}".replace("a -> done", "a -> b -> done"),
            ["E020"],
        ),
        (f"tol a:\n  command: `x`\n  output: y\n{FLOW}", ["E001"]),
        (f"{TOOL}  output: s\nschema s:\n  ok bool\nworkflow w:\n  entry: a\n  a -> done when ok\n", ["E001"]),
        (f"tool a:\n  command `x`\n{FLOW}", ["E001"]),
    ],
)
def test_one_mistake_draws_one_finding(text: str, wanted: list[str]) -> None:
    """language.md 14: no cascades"""
    found = load_text(text).diagnostics
    assert [one.code for one in found] == wanted, found


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (f"{TOOL}  model: x\n{FLOW}", "`model` is a property of agent, router, human"),
        (f"tool a:\n  command: echo a\n{FLOW}", "a text of several words needs quotes or backticks"),
        (f"{TOOL}workflow w:\n  entry: a\n  a -> done wehn ok\n", "did you mean `when`?"),
        (f"{TOOL}workflow w:\n  entry: b\n  a -> done\n", "known here: a"),
        (f"tol a:\n  command: `x`\n{FLOW}", "did you mean `tool`?"),
        (f"router a:\n  mode: fanout_all\n  multi: true\n{FLOW}", "did you mean `fan_out_all`?"),
        (f"{TOOL}  output: greting\nschema greeting:\n  x: int\n{FLOW}", "did you mean `greeting`?"),
        (f"tool a:\n  command: `echo {{{{vars.naem}}}}`\nvars:\n  name: int = 1\n{FLOW}", "did you mean `name`?"),
    ],
)
def test_hints_name_what_was_meant(text: str, hint: str) -> None:
    """language.md 14"""
    assert any(hint in one.hint for one in load_text(text).diagnostics), load_text(text).diagnostics


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (TOOL + FLOW + "  done -> a\n", ["X007"]),
        (TOOL + "fail f:\n  code: MINE\n" + FLOW.replace("done", "f") + "  f -> a\n", ["X007"]),
        (
            'group g(p):\n  compute m:\n    expr:\n      x: "{{params.p}} + 1"\nuse g as a\n'
            + FLOW.replace("a -> done", "a.m -> done").replace("entry: a", "entry: a.m"),
            ["C117"],
        ),
        ("{'a': 1}\n", ["E001"]),
        ("vars:\n  n: int = 1\n" + TOOL + FLOW + '  a -> a as l("{{vars.n}}{{vars.n}}")\n', ["C004"]),
        (
            'group g(p, p):\n  compute m:\n    expr:\n      x: "{{params.p}} + 1"\nuse g as a with { p: "1" }\n'
            + FLOW.replace("a -> done", "a.m -> done").replace("entry: a", "entry: a.m"),
            ["E010"],
        ),
    ],
    ids=["out of done", "out of a named fail", "no parameter", "another format", "two references", "a parameter twice"],
)
def test_one_mistake_is_said_once(text: str, found: list[str], tmp_path: Path) -> None:
    assert codes(load_case(tmp_path, Case(text))) == found


@pytest.mark.parametrize("given", ['{pointsman: "> 99.0.0"}', "{pointsman: soon}", '">= 99.0.0"'])
def test_a_requirement_that_cannot_be_read_is_refused(given: str, tmp_path: Path) -> None:
    """language.md 13: an older build does not run what may have asked for a newer one."""
    case = Case(TOOL + FLOW, {"manifest.yaml": f"schema_version: 1\nrequires: {given}\n"})
    (found,) = load_case(tmp_path, case).diagnostics
    assert (found.code, found.line) == ("E020", 2)
    assert ">= X.Y.Z" in found.hint
