"""The graphs that every fault is tried on: each kind of control flow once, small enough to be run a hundred times.

A tool leaves one line in the file ``trace`` per execution, and the same line in its output: so it can be seen from
outside what ran, and from the store what was recorded. A tool called ``flaky…`` fails until the file ``mended`` exists,
which the driver makes before it resumes a failed run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Graph:
    """A program, the files beside it, the answers that its questions get."""

    text: str
    files: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, object] = field(default_factory=dict)


def tool(name: str, rest: str = "", *, loop: str = "") -> str:
    """A tool that leaves its line, with the pass of ``loop`` where it is in one."""
    line = f"{name}.{{{{loop.{loop}.iteration}}}}" if loop else name
    guard = "test -e mended || exit 1; " if name.startswith("flaky") else ""
    command = f'l={line}; echo $l >> trace; {guard}printf \'{{"line": "%s"}}\' $l'
    return f"tool {name}:\n  command: `{command}`\n{rest}"


PUBLISHED = "  publish: report\n"
SAFE = "  parallel_safe: true\n"
ANSWER = "schema answer:\n  approved: bool\n"
APPROVED = {"approved": True}
CHAIN_LENGTH = 10

CHAIN = Graph(
    "".join(tool(f"t{n}", PUBLISHED if n in (2, 7) else "") for n in range(1, CHAIN_LENGTH + 1))
    + "workflow w:\n  entry: t1\n"
    + "  "
    + " -> ".join([f"t{n}" for n in range(1, CHAIN_LENGTH + 1)] + ["done"])
    + "\n"
)
LOOP = Graph(
    'compute n:\n  expr:\n    v: "loop.l.iteration * 10"\n    p: "loop.l.previous_output.v"\n'
    "router turn:\n  mode: round_robin\n"
    + tool("a", PUBLISHED, loop="l")
    + tool("b", loop="l")
    + tool("last")
    + "workflow w:\n  entry: n\n  n -> turn as l(3)\n  n -> last\n  turn -> a\n  turn -> b\n  a -> n\n  b -> n\n"
    + "  last -> done\n"
)
FAN_OUT_TEXT = (
    tool("first")
    + "router split:\n  mode: fan_out_all\n"
    + "".join(tool(name, SAFE + (PUBLISHED if name == "a2" else "")) for name in ("a1", "a2", "b1"))
    + tool("c", SAFE, loop="l")
    + tool("join", "  await: wait_all\n")
    + "workflow w:\nBUDGET  entry: first\n  first -> split\n  split -> a1\n  split -> b1\n  split -> c\n  a1 -> a2\n"
    + "  a2 -> join\n  b1 -> join\n  c -> c as l(1)\n  c -> join\n  join -> done\n"
)
FAN_OUT = Graph(FAN_OUT_TEXT.replace("BUDGET", "  budget:\n    max_parallel_branches: 1\n"))
PARALLEL = Graph(FAN_OUT_TEXT.replace("BUDGET", ""))
CHILD = (
    "vars:\n  n: int\n"
    + tool("kid1")
    + tool("kid2")
    + 'compute out:\n  expr:\n    double: "vars.n * 2"\n'
    + "workflow child:\n  entry: kid1\n  kid1 -> kid2 -> out -> done\n"
)
SUBBOT = Graph(
    tool("before")
    + 'subbot call:\n  source: "child.bot"\n  with { n: "4" }\n'
    + tool("after")
    + "workflow w:\n  entry: before\n  before -> call -> after -> done\n",
    files={"child.bot": CHILD},
)
HUMAN = Graph(
    ANSWER
    + tool("ask")
    + "human gate:\n  output: answer\n  publish: verdict\n"
    + tool("yes")
    + tool("no")
    + "workflow w:\n  entry: ask\n  ask -> gate\n  gate -> yes when approved\n  gate -> no when not approved\n"
    + "  yes -> done\n  no -> done\n",
    answers=APPROVED,
)
HUMAN_IN_BRANCH = Graph(
    ANSWER
    + "router split:\n  mode: fan_out_all\n"
    + tool("a", SAFE)
    + "human gate:\n  output: answer\n"
    + tool("b", SAFE)
    + tool("join", "  await: wait_all\n")
    + "workflow w:\n  entry: split\n  split -> a\n  split -> gate\n  gate -> b\n"
    + "  a -> join\n  b -> join\n  join -> done\n",
    answers=APPROVED,
)
FAILING = Graph(
    tool("a")
    + tool("flaky")
    + tool("b")
    + 'fail broken:\n  code: BROKEN\n  message: "at {{outputs.b.line}}"\n'
    + "workflow w:\n  entry: a\n  a -> flaky -> b -> broken\n"
)
FAILING_BRANCH = Graph(
    "router split:\n  mode: fan_out_all\n"
    + tool("a", SAFE)
    + tool("flaky", SAFE)
    + tool("b", SAFE)
    + tool("join", "  await: wait_all\n")
    + "workflow w:\n  budget:\n    max_parallel_branches: 1\n  entry: split\n  split -> a\n  split -> flaky\n"
    + "  a -> join\n  flaky -> b\n  b -> join\n  join -> done\n"
)
SIGNALS = Graph(
    "router split:\n  mode: fan_out_all\n"
    'emit ping:\n  event: "ping"\n  with { n: "{{loop.serve.iteration}}" }\n'
    'wait pong:\n  event: "pong"\n  timeout: "60s"\n'
    + tool("hit", SAFE, loop="serve")
    + 'wait got:\n  event: "ping"\n  timeout: "60s"\n'
    + tool("back", SAFE, loop="answer")
    + 'emit sent:\n  event: "pong"\n  with { n: "{{outputs.got.n}}" }\n'
    + tool("join", "  await: wait_all\n")
    + "workflow w:\n  budget:\n    max_parallel_branches: 1\n  entry: split\n"
    + "  split -> ping -> pong -> hit\n  hit -> ping as serve(2)\n  hit -> join\n"
    + "  split -> got -> back -> sent\n  sent -> got as answer(2)\n  sent -> join\n  join -> done\n"
)
GRAPHS: Mapping[str, Graph] = {
    "chain": CHAIN,
    "loop": LOOP,
    "fan_out": FAN_OUT,
    "parallel": PARALLEL,
    "subbot": SUBBOT,
    "human": HUMAN,
    "human_in_branch": HUMAN_IN_BRANCH,
    "failing": FAILING,
    "failing_branch": FAILING_BRANCH,
    "signals": SIGNALS,
}
