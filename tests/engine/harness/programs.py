"""Random programs from a small grammar: steps in a row, loops, choices, fan-outs, questions, tools that fail at first.

``blocks()`` draws a tree, ``program(tree)`` writes it as a workflow. Every tree is a valid program; the names of nodes
count upwards, so that a program can be read. Its tools are those of ``graphs``; for speed ``Tools`` executes them in
process and keeps what they would have left outside.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, pairwise

from hypothesis import strategies as st

from engine.failures import FailureCode
from engine.nodes.base import NodeContext
from engine.outcome import Completed, Failed, Outcome
from tests.engine.harness.graphs import ANSWER, SAFE, tool

TOOL, FLAKY, COMPUTE, HUMAN = "tool", "flaky", "compute", "human"
MOST_BRANCHES, DEEPEST = 3, 2


@dataclass(frozen=True)
class One:
    """A single node."""

    kind: str
    published: bool = False


@dataclass(frozen=True)
class Row:
    """One block behind the other."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Loop:
    """A block that is run again so many times."""

    block: Block
    again: int


@dataclass(frozen=True)
class Choice:
    """One of two blocks, by the pass of the loop around, or always the first."""

    first: Block
    second: Block


@dataclass(frozen=True)
class Fan:
    """Blocks side by side, and a join."""

    blocks: tuple[Block, ...]


Block = One | Row | Loop | Choice | Fan


def blocks(
    depth: int = DEEPEST, kinds: tuple[str, ...] = (TOOL, TOOL, FLAKY, COMPUTE, HUMAN)
) -> st.SearchStrategy[Block]:
    """A tree of blocks, at most so deep."""
    one = st.builds(One, st.sampled_from(kinds), st.booleans())
    if not depth:
        return one
    inner = blocks(depth - 1, kinds)
    return st.one_of(
        one,
        st.builds(Row, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Loop, inner, st.integers(1, 2)),
        st.builds(Choice, inner, inner),
        st.builds(Fan, st.lists(inner, min_size=1, max_size=MOST_BRANCHES).map(tuple)),
    )


@dataclass
class _Writer:
    """Writes declarations and edges; ``loops`` are the enclosing loops from the outside in."""

    nodes: list[str] = field(default_factory=list)
    edges: list[str] = field(default_factory=list)
    loops: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def node(self, kind: str, rest: str) -> str:
        name = f"{kind}{next(self.numbers)}"
        keyword = {"join": COMPUTE, "choice": COMPUTE, "end": COMPUTE, "split": "router"}.get(kind, kind)
        self.nodes.append(f"{keyword} {name}:\n{rest}")
        return name

    def compute(self, kind: str, rest: str = "") -> str:
        turn = f"loop.{self.loops[-1]}.iteration" if self.loops else "0"
        return self.node(kind, f'  expr:\n    turn: "{turn}"\n    first: "{turn} == 0"\n{rest}')

    def edge(self, source: str, target: str, rest: str = "") -> None:
        self.edges.append(f"  {source} -> {target}{rest}\n")

    def write(self, block: Block) -> tuple[str, str]:
        """Write the block; the node where it begins and the one where it ends."""
        if isinstance(block, One):
            name = self._one(block)
            return name, name
        if isinstance(block, Row):
            ends = [self.write(each) for each in block.blocks]
            for (_, last), (following, _) in pairwise(ends):
                self.edge(last, following, _telling(last))
            return ends[0][0], ends[-1][1]
        if isinstance(block, Loop):
            return self._loop(block)
        return self._choice(block) if isinstance(block, Choice) else self._fan(block)

    def _one(self, block: One) -> str:
        published = f"  publish: p{next(self.numbers)}\n" if block.published else ""
        if block.kind == COMPUTE:
            return self.compute(COMPUTE, published)
        if block.kind == HUMAN:
            return self.node(HUMAN, "  output: answer\n" + published)
        name = f"{block.kind}{next(self.numbers)}"
        self.nodes.append(tool(name, SAFE + published, loop=self.loops[-1] if self.loops else ""))
        return name

    def _loop(self, block: Loop) -> tuple[str, str]:
        name = f"loop{next(self.numbers)}"
        self.loops.append(name)
        first, last = self.write(block.block)
        turned = self.compute("end")
        self.loops.pop()
        self.edge(last, turned)
        self.edge(turned, first, f" as {name}({block.again})")
        left = self.compute("end")
        self.edge(turned, left)
        return first, left

    def _choice(self, block: Choice) -> tuple[str, str]:
        asked = self.compute("choice")
        first, second = self.write(block.first), self.write(block.second)
        end = self.compute("end")
        self.edge(asked, first[0], " when first")
        self.edge(asked, second[0], " when not first")
        for _, last in (first, second):
            self.edge(last, end, _telling(last))
        return asked, end

    def _fan(self, block: Fan) -> tuple[str, str]:
        split = self.node("split", "  mode: fan_out_all\n")
        ends = [self.write(each) for each in block.blocks]
        join = self.compute("join", "  await: wait_all\n")
        for first, last in ends:
            self.edge(split, first)
            self.edge(last, join)
        return split, join


def _telling(node: str) -> str:
    """What an edge hands over of the output of its source."""
    fields = {TOOL: "line", FLAKY: "line", HUMAN: "approved"}
    field = next((each for kind, each in fields.items() if node.startswith(kind)), "turn")
    return f' with {{ told: "{{{{input.{field}}}}}" }}'


def program(block: Block) -> str:
    """The workflow of a tree."""
    writer = _Writer()
    first, last = writer.write(block)
    writer.edge(last, "done")
    return f"{ANSWER}{''.join(writer.nodes)}workflow w:\n  entry: {first}\n{''.join(writer.edges)}"


class Tools:
    """Executes tools: each leaves a line and returns it with its input; a flaky one fails until it was mended.

    How often a flaky one fails depends on which branch fails first, so a failure leaves no line.
    """

    def __init__(self) -> None:
        self.trace: list[str] = []
        self.mended = False
        self._lock = threading.Lock()

    def mend(self) -> None:
        """From now on nothing fails."""
        self.mended = True

    def __call__(self, context: NodeContext) -> Outcome:
        """One execution."""
        line = context.label
        if context.node.name.startswith(FLAKY) and not self.mended:
            return Failed(FailureCode.EXECUTION_FAILED, f"{line} is not mended")
        with self._lock:
            self.trace.append(line)
        return Completed({"line": line, "input": dict(context.input)})
