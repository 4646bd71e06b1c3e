"""Damaged bytes for two seconds: whatever a file holds, the compiler and the editor answer and raise nothing."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from engine.dsl.codes import CODES
from engine.dsl.editor.analysis import analyse
from engine.dsl.editor.completion import complete
from engine.dsl.editor.hover import hover
from engine.dsl.editor.spot import Lines
from engine.dsl.editor.targets import definition
from tests.engine.dsl.front_cases import CASES
from tests.engine.dsl.front_examples import EXAMPLES

SECONDS = 2.0
TEXTS = {case.main for case in CASES.values()} | {text for each in EXAMPLES.values() for text in each.values()}
SEEDS = sorted(TEXTS - {""})
PIECES = [
    *(b"\0", b"\xff", b"\xc3", b"\r", b"\r\n", b"\t", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xf0\x9d\x92\xb3", b"\\"),
    *(b"{{", b"}}", b"`", b'"', b"|", b"#", b":", b"->", b"-", b"[", b"]", b"{", b"}", b"(", b")", b".", b"*", b"\n"),
    *(
        b" ",
        b"  ",
        b"\n    ",
        b"with ",
        b"when ",
        b"as l(",
        b"prompt p:\n",
        b"group g(a):\n",
        b"use g as u\n",
        b"import ",
    ),
    *(b"9" * 40, b"1.", b"string[]", b"include ", b"params.x", b"dsl: 2\n", b"foreach ", b"unbounded", b"loop.l."),
]


def damaged(chance: random.Random) -> bytes:
    """A seed with a few bytes changed, cut out, doubled, moved, or taken from another seed."""
    data = bytearray(chance.choice(SEEDS).encode())
    for _ in range(chance.randint(1, 8)):
        place = chance.randint(0, len(data))
        end = min(len(data), place + chance.choice((1, 3, 20, 200)))
        kind = chance.randrange(6)
        if kind == 0:
            data[place:place] = chance.choice(PIECES) * chance.choice((1, 1, 1, 50))
        elif kind == 1:
            del data[place:end]
        elif kind == 2:
            data[place:place] = data[place:end]
        elif kind == 3 and data:
            data[min(place, len(data) - 1)] = chance.randrange(256)
        elif kind == 4:
            other = chance.choice(SEEDS).encode()
            start = chance.randrange(len(other))
            data[place:end] = other[start : start + chance.choice((5, 60, 400))]
        else:
            piece = bytes(data[place:end])
            del data[place:end]
            where = chance.randint(0, len(data))
            data[where:where] = piece
    return bytes(data)


@pytest.mark.parametrize("seed", [1])
def test_no_bytes_break_the_compiler_or_the_editor(seed: int, tmp_path: Path) -> None:
    """language.md 1.2, 2.1"""
    chance = random.Random(seed)
    path = tmp_path / "main.bot"
    until = time.process_time() + SECONDS
    rounds = 0
    while time.process_time() < until:
        data = damaged(chance)
        rounds += 1
        try:
            judge(path, data, chance)
        except BaseException as problem:
            problem.add_note(f"seed {seed}, round {rounds}, bytes {data!r}")
            raise
    assert rounds > 10


def judge(path: Path, data: bytes, chance: random.Random) -> None:
    began = time.process_time()
    analysis = analyse(path, {path: data})
    for found in analysis.own:
        assert found.code in CODES
        assert found.line >= 1
        assert found.column >= 1
        assert found.message
        assert found.hint
    lines = Lines(data.decode("utf-8", "replace"))
    for _ in range(5):
        row = chance.randint(1, len(lines.rows))
        column = chance.randint(0, len(lines.rows[row - 1]))
        hover(analysis, lines, row, column)
        definition(analysis, lines.spot(row, column))
        complete(analysis, lines, row, column)
    assert time.process_time() - began < 2
