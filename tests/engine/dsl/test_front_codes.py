"""Every diagnostic code is in the table, is emitted by the smallest source that deserves it, and says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.dsl import catalogue
from engine.dsl.codes import CODES, RESERVED, Severity
from engine.dsl.diagnostics import Diagnostic, render
from engine.dsl.load import Loaded, load, load_text
from engine.dsl.surroundings import Surroundings
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
    assert hit.line >= 1
    assert hit.column >= 1
    if case.line:
        assert hit.line == case.line, hit


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
