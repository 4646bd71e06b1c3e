"""Printing and parsing is the identity on trees, and the usual form keeps comments and meaning (language.md 16)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.dsl.ast import File
from engine.dsl.diagnostics import Diagnostics
from engine.dsl.formatting import format_source
from engine.dsl.lexer import tokenize
from engine.dsl.load import load
from engine.dsl.parser import parse
from engine.dsl.printer import print_file
from engine.dsl.tokens import Kind
from tests.engine.dsl.trees import files

BOTS = Path(__file__).parents[3] / "bots"
SLOW = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def parsed(text: str) -> File:
    found = Diagnostics()
    tree = parse(text, "x.bot", found)
    assert [each.message for each in found if each.code not in ("C118", "E044")] == []
    return tree


@given(files())
@SLOW
def test_a_printed_tree_parses_to_an_equal_tree(tree: File) -> None:
    text = print_file(tree)
    again = parsed(text)
    assert again == tree
    assert print_file(again, text) == text


@given(files(), st.data())
@SLOW
def test_comments_stay_whatever_they_stand_beside(tree: File, data: st.DataObject) -> None:
    text = commented(print_file(tree), data)
    done = format_source(text.encode(), "x.bot")
    assert (done.problem, done.errors) == ("", ())
    assert done.text.count("#-") == text.count("#-")
    assert format_source(done.text.encode(), "x.bot").text == done.text


def commented(text: str, data: st.DataObject) -> str:
    """``text`` with comments before and at the end of lines, where the language takes them."""
    rows = text.split("\n")
    lines = tokenize(text, "x.bot", Diagnostics()).lines
    for line in reversed(lines):
        last = line.tokens[-1]
        if last.kind is not Kind.BLOCK and data.draw(st.booleans()):
            rows[last.end_line - 1] += " #- end"
        if data.draw(st.booleans()):
            first = line.tokens[0]
            rows[first.line - 1 : first.line - 1] = [
                " " * (first.column - 1) + "#- before",
                *([""] * data.draw(st.integers(0, 1))),
            ]
    return "\n".join(rows)


MESSY = """\
# about this file


dsl: 2   # the newer profile
import "lib/a.bot"
import   "lib/b.bot" # why
vars:
    # the first
    a: string [enum: "a","b"]="a"   # trailing


    b:   string[] = `["x"]`
    # the end of vars
# before the schema
schema empty:

prompt ask:
     Ship it?

       # not a comment

     Really?
# a shallow remark
agent one:
   tools: [ a.b ,board.*, "x y" ]
   skills:
      # before s
      - s   # beside s

      - t
   model: "m\\n"
   user: |  # below
       one

         two
   memory:
       enabled: true
       # the end of memory
   # the end of one
workflow w:
   entry: one
   one->two   ->  three.four when not ok as   l( 3 ) with {x:"1", # first
      # own line
      y: `2`}
   three.four -> done   else
# the end
"""

USUAL = """\
# about this file

dsl: 2  # the newer profile
import "lib/a.bot"
import "lib/b.bot"  # why

vars:
  # the first
  a: string [enum: "a", "b"] = "a"  # trailing

  b: string[] = `["x"]`
  # the end of vars

# before the schema
schema empty:

prompt ask:
  Ship it?

    # not a comment

  Really?

# a shallow remark
agent one:
  tools: [a.b, board.*, "x y"]
  skills:
    # before s
    - s  # beside s

    - t
  model: "m\\n"
  user: |  # below
    one

      two
  memory:
    enabled: true
    # the end of memory
  # the end of one

workflow w:
  entry: one
  one -> two -> three.four when not ok as l(3) with {
    x: "1",  # first
    # own line
    y: `2`,
  }
  three.four -> done else

# the end
"""


def test_the_usual_form_is_what_it_is() -> None:
    assert format_source(MESSY.encode(), "x.bot").text == USUAL
    assert format_source(USUAL.encode(), "x.bot").text == USUAL
    assert parsed(MESSY) == parsed(USUAL)


def test_blank_lines_in_a_prompt_stay_where_profile_1_does_not_read_them() -> None:
    text = "prompt p:\n  one\n\n\n  two\n"
    assert format_source(text.encode(), "x.bot").text == text


def test_a_block_scalar_keeps_the_blank_lines_at_its_end() -> None:
    text = "tool a:\n  script: |\n    echo\n\n\nworkflow w:\n  entry: a\n"
    assert format_source(text.encode(), "x.bot").text == text


def test_profile_1_keeps_backslashes_as_they_are_written() -> None:
    text = 'tool a:\n  command: "printf \'{\\"a\\":1}\'"\n'
    assert format_source(text.encode(), "x.bot").text == text


def test_the_escape_directive_still_stands_at_the_top() -> None:
    text = '# strict-escape: on\n\nvars:\n  a: string = "x\\ty"\n'
    assert format_source(text.encode(), "x.bot").text == text


def test_a_long_map_is_spread_over_lines() -> None:
    pairs = ", ".join(f'key{number}: "{{{{input.value{number}}}}}"' for number in range(6))
    done = format_source(f"workflow w:\n  a -> b with {{ {pairs} }}\n".encode(), "x.bot").text
    assert done.split("\n")[1:3] == ["  a -> b with {", '    key0: "{{input.value0}}",']


@pytest.mark.parametrize("text", ["tool a\n  x: 1\n", 'a: "open\n', "\tx: 1\n", "dsl: 7\n"])
def test_what_cannot_be_read_is_not_formatted(text: str) -> None:
    done = format_source(text.encode(), "x.bot")
    assert done.errors
    assert done.text == ""


@pytest.mark.parametrize("path", sorted(BOTS.glob("*.bot")), ids=lambda path: path.name)
def test_a_formatted_bot_compiles_to_the_same_graph(path: Path, tmp_path: Path) -> None:
    twin = tmp_path / path.name
    twin.write_text(format_source(path.read_bytes(), path.name).text)
    first, second = load(path).graph, load(twin).graph
    assert first is not None
    assert second is not None
    assert list(first.nodes) == list(second.nodes)
    assert {name: [edge.target for edge in edges] for name, edges in first.edges.items()} == {
        name: [edge.target for edge in edges] for name, edges in second.edges.items()
    }
    assert (first.vars, first.schemas, first.budget) == (second.vars, second.schemas, second.budget)
