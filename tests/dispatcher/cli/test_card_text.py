"""Lists are coloured on a terminal and whole in a pipe."""

from __future__ import annotations

import io
from typing import Any

from dispatcher.cli.card_text import card_page, cards_table, history_text
from dispatcher.cli.output import Output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def card(**values: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "number": 1,
        "column": "ready",
        "priority": 0,
        "title": "one",
        "assignee": "",
        "labels": [],
    }
    return plain | {"last_run_status": None, "idle_reason": None} | values


def test_a_pipe_gets_every_letter_and_no_colour() -> None:
    text = cards_table([card(title="t" * 300, labels=["a", "b"])], io.StringIO())
    assert "t" * 300 in text
    assert "a, b" in text
    assert "\x1b" not in text


def test_a_terminal_gets_colour_and_lines_that_fit() -> None:
    text = cards_table([card(title="t" * 300), card(title="[bold]no markup[/bold]")], Terminal())
    assert "\x1b[" in text
    assert "t" * 300 not in text
    assert "[bold]no markup[/bold]" in text


def test_a_title_does_not_command_a_terminal() -> None:
    title = "\x1b]0;owned\x07 \x9b2J \u202egnp.exe\r\n"
    told = cards_table([card(title=title)], Terminal())
    assert "\x1b]0" not in told
    assert "\\x1b]0;owned\\x07" in told
    out, pipe = Terminal(), io.StringIO()
    Output(out, out).say(title)
    Output(out, out).warn(title)
    Output(pipe, pipe).say(title)
    assert out.getvalue() == "\\x1b]0;owned\\x07 \\x9b2J \\u202egnp.exe\n\n" * 2
    assert pipe.getvalue() == title + "\n"


def test_no_cards_are_a_sentence_and_an_idle_card_says_why() -> None:
    assert cards_table([], io.StringIO()) == "No cards."
    idle = {"code": "no_slot", "text": "all 4 slots are used", "unblock": "a run ends"}
    assert "no_slot" in cards_table([card(idle_reason=idle, last_run_status="running")], io.StringIO())
    rest = {"bot": "", "not_before": None, "url": "", "column_since": "now", "column_by": "person", "blockers": ["c2"]}
    page = card_page(card(idle_reason=idle, fields={"x": "1"}, bot_args={}, last_run="r1", id="c1", body="b\n", **rest))
    for told in ("why idle    all 4 slots are used (no_slot)", "unblock     a run ends", "x = 1", "r1 (no record)"):
        assert told in page


def test_a_history_is_one_line_per_event() -> None:
    by = {"kind": "person", "name": "ann", "run_id": None}
    moved = {"seq": 1, "time": "now", "type": "card_moved", "by": by, "data": {"from": "a", "to": "b", "reason": "go"}}
    said = {
        "seq": 2,
        "time": "now",
        "type": "comment_added",
        "by": by,
        "data": {"text": "line one\nline two " + "x" * 200},
    }
    changed = {
        "title": {"from": "one", "to": "t" * 99},
        "labels": {"from": [], "to": ["a", "b"]},
        "body": {"from": "x"},
    }
    bot = {"kind": "bot", "name": "work", "run_id": "r-7"}
    edited = {"seq": 3, "time": "now", "type": "card_updated", "by": bot, "data": {"changed": changed}}
    lines = history_text([moved, said, edited]).splitlines()
    assert "ann           card_moved: a -> b (go)" in lines[0]
    assert len(lines) == 3
    assert lines[1].endswith("…")
    assert "bot r-7       card_updated: title one -> ttt" in lines[2]
    assert lines[2].endswith("…, labels none -> a+b, body")
