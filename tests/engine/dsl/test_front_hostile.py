"""No source, however broken, raises anything; large sources are read in time that grows with their size."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.dsl.codes import CODES
from engine.dsl.load import launch_errors, load, load_text
from tests.engine.dsl.front_cases import CASES
from tests.engine.dsl.front_examples import EXAMPLES

SEEDS = sorted(
    {case.main for case in CASES.values()} | {text for files in EXAMPLES.values() for text in files.values()}
)
WORDS = st.sampled_from(
    [
        *("agent", "judge", "router", "tool", "workflow", "prompt", "schema", "group", "use", "vars", "fail", "done"),
        *("with", "when", "not", "else", "as", "foreach", "unbounded", "in", "entry", "command", "expr", "mode", "a"),
        *(":", "->", "=", ",", "[", "]", "{", "}", "(", ")", ".", "*", "-", "|", "`", '"', "#", "\\", "{{", "}}"),
        *("\n", "\n  ", "\n    ", "\t", " ", "string[]", "42", "1.5", "{{outputs.a.b}}", "input.x", "\u00e9", "\0"),
    ]
)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def judge(text: str) -> None:
    """Load a text; every finding is well-formed, and a graph is there exactly when nothing is an error."""
    loaded = load_text(text)
    for found in loaded.diagnostics:
        assert found.code in CODES
        assert found.line >= 1
        assert found.column >= 1
        assert found.message
        assert found.hint
    assert (loaded.graph is None) == any(found.is_error for found in loaded.diagnostics)
    launch_errors(loaded)


@QUICK
@given(st.text(max_size=300))
def test_any_text_draws_findings_only(text: str) -> None:
    """language.md 1.2"""
    judge(text)


@QUICK
@given(st.lists(WORDS, max_size=120).map(" ".join))
def test_any_heap_of_words_draws_findings_only(text: str) -> None:
    """language.md 1.2"""
    judge(text)


@QUICK
@given(st.sampled_from(SEEDS), st.data())
def test_a_damaged_workflow_draws_findings_only(text: str, data: st.DataObject) -> None:
    """language.md 1.2"""
    place = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(place, min(len(text), place + 20)))
    judge(text[:place] + "".join(data.draw(st.lists(WORDS, max_size=4))) + text[end:])


@QUICK
@given(st.sampled_from(SEEDS), st.randoms(use_true_random=False))
def test_lines_in_any_order_draw_findings_only(text: str, random: object) -> None:
    """language.md 1.2"""
    rows = text.split("\n")
    random.shuffle(rows)
    judge("\n".join(rows))


@QUICK
@given(content=st.binary(max_size=200))
def test_any_bytes_draw_findings_only(tmp_path: Path, content: bytes) -> None:
    """language.md 2.1"""
    main = tmp_path / "x.bot"
    main.write_bytes(content)
    load(main)


@pytest.mark.parametrize(
    "text",
    [
        "tool a:\n  x: " + "[" * 50_000,
        "tool a:\n  x: { a: " + "{" * 50_000,
        "workflow w:\n  a" + " -> a" * 20_000 + "\n",
        "workflow w:\n  " + "a." * 20_000 + "b -> c\n",
        'compute a:\n  expr:\n    x: "' + "(" * 50_000 + '"\n',
        'compute a:\n  expr:\n    x: "' + "!" * 50_000 + 'x"\n',
        "tool a:\n  command: `" + "{{" * 2_000 + "`\n",
        "prompt p:\n  " + "{{include " * 2_000 + "\n",
        "".join(f"{' ' * depth}k{depth}:\n" for depth in range(2_000)),
        "vars:\n  x: json = `" + "[" * 50_000 + "`\n",
        "tool a:\n  x: " + "9" * 100_000 + "\n",
        "tool a:\n  x: " + "1." + "9" * 100_000 + "\n",
        '"' * 50_000,
        "`" * 50_001,
        "#" * 500_000,
        "\n" * 200_000,
        "tool " + "a" * 200_000 + ":\n  command: `x`\n",
    ],
    ids=range(17),
)
def test_hostile_sources_are_refused_quickly(text: str) -> None:
    """language.md 17"""
    started = time.process_time()
    judge(text)
    assert time.process_time() - started < 5


def generated(lines: int) -> str:
    """A workflow of about so many lines, with loops, conditions and references to near and far nodes."""
    count = lines // 14
    rows = ["schema s:", "  text: string", "  ok: bool"]
    for number in range(count):
        before = f"{{{{outputs.t{number - 1}.text}}}} {{{{outputs.t0.text}}}}" if number else ""
        rows += [f"# step {number}", f"tool t{number}:", f"  command: `echo {before}`", "  output: s", ""]
        rows += [f"compute c{number}:", "  expr:", f'    n: "length(outputs.t{number}.text) > {number}"', ""]
    rows += ["workflow w:", "  entry: t0"]
    for number in range(count):
        rows.append(f'  t{number} -> c{number} when ok with {{ n: "{{{{input.text}}}}" }}')
        rows += [f"  t{number} -> t{number} as l{number}(3)", f"  t{number} -> fail else"]
        rows.append(f"  c{number} -> " + (f"t{number + 1}" if number + 1 < count else "done"))
    return "\n".join(rows) + "\n"


def seconds(text: str) -> float:
    """Processor time of the best of three loads."""
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        assert load_text(text).graph is not None
        best = min(best, time.process_time() - started)
    return best


@pytest.mark.bench
def test_five_thousand_lines_take_less_than_300_ms() -> None:
    """language.md 1.2, quality of the compiler"""
    assert seconds(generated(5_000)) < 0.3


@pytest.mark.bench
def test_time_grows_with_size_and_not_faster() -> None:
    """language.md 17"""
    small, large = seconds(generated(4_000)), seconds(generated(40_000))
    assert large < small * 18
