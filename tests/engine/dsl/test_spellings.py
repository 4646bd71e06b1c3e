"""Spellings that authors use and the language does not forbid (language.md 2.1, 2.4, 2.5, 4.6, 5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.dsl.ast import Declaration, File, Property, Scalar, Style
from engine.dsl.diagnostics import Diagnostics
from engine.dsl.load import load
from engine.dsl.parser import parse
from engine.dsl.parser.nested import MOST_LEVELS
from engine.dsl.printer import print_file

TOOL = "tool a:\n  command: `echo a`\n"
FLOW = "workflow w:\n  entry: a\n  a -> b -> done\n"


def read(text: str) -> tuple[File, list[str]]:
    """The tree of a text, and the codes of its mistakes."""
    found = Diagnostics()
    return parse(text, "x.bot", found), [one.code for one in found]


def last(tree: File) -> Property:
    """The last line of the first declaration."""
    declaration = tree.declarations[0]
    assert isinstance(declaration, Declaration)
    assert declaration.block is not None
    entry = declaration.block.entries[-1]
    assert isinstance(entry, Property)
    return entry


def errors(folder: Path, text: str) -> list[str]:
    """The codes of the errors that the compiler finds in a workflow file."""
    (folder / "main.bot").write_text(text, encoding="utf-8")
    return [one.code for one in load(folder / "main.bot").diagnostics if one.severity == "error"]


@pytest.mark.parametrize("head", ["dsl:2", "dsl : 2", "dsl: 02", "dsl: 2 # new", "dsl: 2\t## new"])
def test_the_number_of_the_profile_may_be_written_in_many_ways(head: str) -> None:
    """language.md 2.1"""
    tree, codes = read(f'{head}\ntool a:\n  x: "a\\tb"\n')
    assert codes == []
    found = last(tree).value
    assert isinstance(found, Scalar)
    assert found.value == "a\tb"


@pytest.mark.parametrize("head", ["dsl: 0", "dsl: 00", "dsl: 12", "dsl: two", "dsl:"])
def test_other_profiles_are_unknown(head: str) -> None:
    """language.md 2.1"""
    assert "E040" in read(head + "\n" + TOOL)[1]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("[{ k: 1 }]", "[{k: 1}]"),
        ('{ low: [1, 2.50, -3, true, null,], "a key": {}, }', '{low: [1, 2.50, -3, true, null], "a key": {}}'),
        ('[["a"], [`b "c"`]]', '[["a"], [`b "c"`]]'),
        (r'[["a\n`b`"]]', r'[["a\n`b`"]]'),
    ],
)
def test_a_contract_may_nest_lists_and_maps(written: str, kept: str) -> None:
    """language.md 4.6"""
    tree, codes = read(f"dsl: 2\ncontract c:\n  params: {written}\n")
    assert codes == []
    found = last(tree).value
    assert isinstance(found, Scalar)
    assert (found.value, found.style) == (kept, Style.NESTED)
    printed = print_file(tree)
    assert f"params: {kept}\n" in printed
    assert read(printed) == (tree, [])


def test_nesting_has_an_end_and_stays_in_contracts() -> None:
    """language.md 2.5"""
    deep = "[" * MOST_LEVELS + "]" * MOST_LEVELS
    assert read(f"contract c:\n  x: {deep}\n")[1] == []
    assert read(f"contract c:\n  x: [{deep}]\n")[1] == ["E001"]
    assert read("contract c:\n  x: [[1}]\n")[1] == ["E001"]
    assert read("contract c:\n  x: [[1]\n")[1] == ["E002"]
    assert read("contract c:\n  x: {k: {1: 2}}\n")[1] == ["E001"]
    assert read("contract c:\n  x: [1]\ntool a:\n  tools: [[1]]\n")[1] == ["E001"]


@pytest.mark.parametrize(
    "node",
    [
        'await_answers b:\n  timeout: "1h"\n',
        "human b:\n  interaction: human_or_host\n",
        'tool b:\n  command: `x`\n  sandbox:\n    image: "i"\n    network:\n      rules: [example.org, "!*.x.org"]\n',
        "tool b:\n  command: `x`\n  sandbox:\n    image: i\n    network:\n      rules: # all\n        - a.org # it\n",
    ],
)
def test_blocks_that_are_kept_for_later_are_no_errors(node: str, tmp_path: Path) -> None:
    """language.md 5.4, 5.8, 5.9"""
    assert errors(tmp_path, TOOL + node + FLOW) == []


def test_hosts_of_a_secret_may_be_bare_words(tmp_path: Path) -> None:
    """language.md 4.3"""
    more = 'secrets:\n  token: "x"\n    hosts: [example.org, "*.example.org"]\n'
    assert errors(tmp_path, more + TOOL + FLOW.replace("b -> ", "")) == []
