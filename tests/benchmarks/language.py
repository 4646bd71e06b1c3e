"""How long the compiler takes, from text to graph: by size, and for texts that are hard in one way each.

Processor time, the best of several. ``ratio`` compares the time per line with that of the row before it: 1 is linear.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from engine.dsl.editor.analysis import analyse
from engine.dsl.editor.completion import complete
from engine.dsl.editor.spot import Lines
from engine.dsl.load import load, load_text
from tests.engine.dsl.test_front_hostile import generated

SIZES = (5_000, 20_000)
LARGE = 100_000
RUNS = 3


def seconds(work: Callable[[], object], runs: int = RUNS) -> float:
    """Processor seconds of the quickest of ``runs`` calls."""
    best = float("inf")
    for _ in range(runs):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def chain(lines: int) -> str:
    """One long chain of nodes, each reading the one before it and the first."""
    rows = ["workflow w:", "  entry: n0"]
    count = lines // 4
    for number in range(count):
        follower = f"n{number + 1}" if number + 1 < count else "done"
        rows.append(f"  n{number} -> {follower}")
    for number in range(count):
        before = f"{{{{outputs.n{number - 1}.result}}}} {{{{outputs.n0.result}}}}" if number else ""
        rows += [f"tool n{number}:", f"  command: `echo {before}`", ""]
    return "\n".join(rows) + "\n"


def groups(lines: int) -> str:
    """One group, copied many times."""
    rows = ["group g(x):", "  tool a:", "    command: `echo {{params.x}}`", "  tool b:"]
    rows += ["    command: `echo {{outputs.a.result}}`", "  a -> b"]
    count = lines // 2
    rows += [f'use g as u{number} with {{ x: "{number}" }}' for number in range(count)]
    rows += ["workflow w:", "  entry: u0.a"]
    rows += [f"  u{number}.b -> " + (f"u{number + 1}.a" if number + 1 < count else "done") for number in range(count)]
    return "\n".join(rows) + "\n"


def prompts(lines: int) -> str:
    """Long prompts with many references."""
    rows = ["vars:", '  who: string = "x"']
    count = lines // 100
    for number in range(count):
        rows += [f"prompt p{number}:", *["  A line that refers to {{vars.who}} and goes on."] * 95]
        rows += [f"human h{number}:", f"  instructions: p{number}"]
    rows += ["workflow w:", "  entry: h0"]
    rows += [f"  h{number} -> " + (f"h{number + 1}" if number + 1 < count else "done") for number in range(count)]
    return "\n".join(rows) + "\n"


def mistakes(lines: int) -> str:
    """Every second line is wrong."""
    return "\n".join(f"tool t{number}:\n  comand: `x" for number in range(lines // 2)) + "\n"


KINDS: dict[str, Callable[[int], str]] = {
    "mixed": generated,
    "chain": chain,
    "groups": groups,
    "prompts": prompts,
    "mistakes": mistakes,
}


def measure(folder: Path) -> Iterator[dict[str, object]]:
    """Rows per kind and size, for a file with fragments, and for what an editor asks while somebody types."""
    for kind, make in KINDS.items():
        before = 0.0
        for size in (*SIZES, LARGE) if make is generated else SIZES:
            text = make(size)
            spent = seconds(lambda text=text: load_text(text))  # type: ignore[misc]
            count = text.count("\n")
            row: dict[str, object] = {"bench": "language", "kind": kind, "lines": count, "ms": 1000 * spent}
            yield row | ({"ratio": spent / count / before} if before else {})
            before = spent / count
    yield _unit(folder)
    yield from _editor(folder)


def _unit(folder: Path, fragments: int = 50) -> dict[str, object]:
    lib = folder / "lib"
    lib.mkdir()
    for number in range(fragments):
        rows = [f"tool f{number}_{each}:\n  command: `true`\n" for each in range(33)]
        (lib / f"f{number}.bot").write_text("".join(rows))
    imports = "".join(f'import "lib/f{number}.bot"\n' for number in range(fragments))
    names = [f"f{number}_{each}" for number in range(fragments) for each in range(33)]
    chained = "  " + "\n  ".join(
        f"{source} -> {target}" for source, target in zip(names, [*names[1:], "done"], strict=True)
    )
    main = folder / "unit.bot"
    main.write_text(f"{imports}workflow w:\n  entry: {names[0]}\n{chained}\n")
    spent = seconds(lambda: load(main))
    return {"bench": "language", "kind": "fragments", "lines": fragments * 99, "ms": 1000 * spent}


def _editor(folder: Path) -> Iterator[dict[str, object]]:
    text = generated(5_000)
    path = folder / "open.bot"
    analysis, lines = analyse(path, {path: text.encode()}), Lines(text)
    asked: dict[str, Callable[[], object]] = {
        "look at a change": lambda: analyse(path, {path: text.encode()}),
        "complete": lambda: complete(analysis, lines, len(lines.rows) - 2, 8),
    }
    for question, work in asked.items():
        yield {"bench": "language", "kind": question, "lines": len(lines.rows), "ms": 1000 * seconds(work)}
