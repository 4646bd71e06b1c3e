"""A graph becomes a Mermaid flowchart in which every label is data."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dsl.diagram import escape, mermaid
from engine.dsl.graph import Graph
from engine.dsl.load import load_text

SOURCE = """\
schema state:
  tries: int
  ok: bool
router checks:
  mode: fan_out_all
compute attempt:
  description: "count; \\"twice\\" <b>"
  output: state
  publish: notes
  expr:
    tries: "loop.retry.iteration + 1"
    ok: "loop.retry.iteration >= 2"
tool look:
  command: `printf '{"a":1}'`
  readonly: true
tool tally:
  await: wait_all
  command: `echo done`
human ask:
  instructions: "Ship it?"
fail gave_up:
  code: TRIES_SPENT
workflow bounded:
  entry: attempt
  attempt -> checks when ok
  attempt -> attempt as retry(3)
  attempt -> gave_up
  checks -> look -> tally
  checks -> ask -> tally
  tally -> done when "exit == 'x' | 1 > 0" with { n: "1" }
  tally -> fail else
"""


@pytest.fixture(name="graph")
def compiled() -> Graph:
    source = SOURCE.replace("exit == 'x' | 1 > 0", "exit == 'x' || 1 > 0")
    graph = load_text(source).graph
    assert graph is not None
    return graph


def test_every_node_and_edge_is_drawn(graph: Graph) -> None:
    lines = mermaid(graph).split("\n")
    assert lines[0] == "flowchart TD"
    assert lines[1] == '  start(["bounded"]) --> n1'
    assert '  n1[["attempt<br/>compute"]]' in lines
    assert '  n4[/"ask<br/>human"/]' in lines
    assert '  n1 -->|"ok"| n0' in lines
    assert '  n1 -.->|"retry, at most 3"| n1' in lines
    assert "  n0 ==> n2" in lines
    assert '  n3 -->|"exit == #39;x#39; #124;#124; 1 #62; 0"| done_end' in lines
    assert '  n3 -->|"else"| fail_end' in lines


def test_details_are_added_when_asked_for(graph: Graph) -> None:
    text = mermaid(graph, detailed=True)
    assert "gives tries, ok" in text
    assert "publishes notes" in text
    assert "count#59; " in text
    assert "<b>" not in text
    assert "joins, wait#95;all" in text or "joins, wait_all" in text
    assert "TRIES_SPENT" in text
    assert "<br/>with n" in text


@given(st.text())
def test_a_label_holds_no_character_of_the_syntax(text: str) -> None:
    assert re.fullmatch(r"([A-Za-z0-9_ .,()+=!?/-]|#[0-9]+;)*", escape(text))
    assert "\n" not in escape(text)
