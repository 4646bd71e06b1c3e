"""The failure matrix: every way in which a run stops, with status, code, anchor, and what stays (engine.md 3.4, 4).

One parametrize id per row of the acceptance list. Each case runs for real over a store; only outcomes that need a
model or a forge are scripted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from engine.failures import FailureCode
from engine.outcome import Completed, Failed
from engine.states import RunStatus
from tests.kit.engine import Rig, Script, scripted

FR, FAILED, PO = RunStatus.FAILED_RESUMABLE, RunStatus.FAILED, RunStatus.PAUSED_OPERATOR

CHAIN = """
compute a:
  expr:
    n: "1"
compute b:
  expr:
    n: "2"
tool c:
  command: `{c}`
workflow w:
  {budget}
  entry: a
  a -> b
  b -> c
  c -> done
"""


def chain(command: str = "true", budget: str = "") -> str:
    return CHAIN.replace("{c}", command).replace("{budget}", budget)


SCHEMA = """
schema s:
  n: int
tool t:
  command: `echo {reply}`
  output: s
workflow w:
  entry: t
  t -> done
"""

SPENT_LOOP = """
schema s:
  go: bool
compute a:
  output: s
  expr:
    go: "false"
workflow w:
  entry: a
  a -> done when go
  a -> a as l(2) when not go
"""

GUARDED = """
compute guard:
  expr:
    cap: "run.max_iterations"
fail stop:
  code: PLAN_EXHAUSTED
  message: "cap is {{outputs.guard.cap}}"
  resumable: {resumable}
workflow w:
  entry: guard
  guard -> done when "cap > 5"
  guard -> stop else
"""


@dataclass(frozen=True)
class Stop:
    """A case: what runs, how it stops, and what may be read afterwards."""

    text: str
    status: str
    code: str
    anchor: str
    outputs: tuple[str, ...] = ()
    completed: bool = False
    error: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)


ROUND = """
router turn:
  mode: round_robin
compute a:
  expr:
    n: "1"
compute b:
  expr:
    n: "1"
workflow w:
  budget:
    max_iterations: 1
  entry: turn
  turn -> a
  turn -> b
  a -> done
  b -> done
"""

CASES = {
    "R024 plain fail": Stop(
        "compute a:\n  expr:\n    n: \"1\"\nworkflow w:\n  entry: a\n  a -> fail\n",
        FAILED, FailureCode.FAIL_NODE, "fail", ("a",), error="workflow reached fail node",
    ),
    "R036 resumable fail, one guard": Stop(
        GUARDED.replace("{resumable}", "true"), FR, "PLAN_EXHAUSTED", "guard", ("guard",), error="cap is 0"
    ),
    "R040 named fail": Stop(
        GUARDED.replace("{resumable}", "false"), FAILED, "PLAN_EXHAUSTED", "stop", ("guard",), error="cap is 0"
    ),
    "R042 resumable fail as entry": Stop(
        "fail stop:\n  code: NOTHING\n  message: \"empty\"\n  resumable: true\nworkflow w:\n  entry: stop\n",
        FAILED, "NOTHING", "stop", error="empty",
    ),
    "R160 third node fails": Stop(chain("exit 3"), FR, FailureCode.EXECUTION_FAILED, "c", ("a", "b"), error="code 3"),
    "R173 first node fails": Stop(
        "tool t:\n  command: `exit 1`\nworkflow w:\n  entry: t\n  t -> done\n",
        FR, FailureCode.EXECUTION_FAILED, "t",
    ),
    "R191 cap reached, no grace": Stop(
        chain(budget="budget:\n    max_iterations: 2"), FR, FailureCode.BUDGET_EXCEEDED, "c", ("a", "b"),
        settings={"exit_grace": 0.0},
    ),
    "R192 band of 90 percent": Stop(
        chain(), FR, FailureCode.BUDGET_EXCEEDED, "c", ("a", "b"), values={"ask": {"max_cost_usd": 1.0}},
        settings=scripted(Script(Completed({"n": 1}, cost_usd=0.46))),
    ),
    "R193 overrun after a plain node": Stop(
        chain(), FR, FailureCode.BUDGET_EXCEEDED, "b", ("a",), values={"ask": {"max_tokens": 100}},
        settings=scripted(Script(Completed({"n": 1}, tokens=500))),
    ),
    "3.4 overrun after a router": Stop(
        ROUND, FR, FailureCode.BUDGET_EXCEEDED, "turn", ("turn",), completed=True, settings={"exit_grace": 0.0}
    ),
    "R200 on_exceeded: pause": Stop(
        chain(budget="budget:\n    max_iterations: 2\n    on_exceeded: pause"), PO, "", "c", ("a", "b"),
        settings={"exit_grace": 0.0},
    ),
    "R204 node fails": Stop(
        chain(), FR, FailureCode.NETWORK_TRANSIENT, "a",
        settings=scripted(Script(Failed(FailureCode.NETWORK_TRANSIENT, "no route"))),
    ),
    "R205 output breaks its schema": Stop(
        SCHEMA.replace("{reply}", "'{\"n\": \"x\"}'"), FR, FailureCode.SCHEMA_VALIDATION, "t", error="n:"
    ),
    "R206 no edge matches": Stop(
        'compute a:\n  expr:\n    n: "1"\nworkflow w:\n  entry: a\n',
        FR, FailureCode.NO_OUTGOING_EDGE, "a", ("a",),
    ),
    "R207 loop spent": Stop(SPENT_LOOP, FR, FailureCode.LOOP_EXHAUSTED, "a", ("a",), error="spent loop"),
    "R431 exit 127": Stop(chain("exit 127"), FR, FailureCode.TOOL_FAILED_PERMANENT, "c", ("a", "b")),
    "R431 exit 126": Stop(chain("exit 126"), FR, FailureCode.TOOL_FAILED_PERMANENT, "c", ("a", "b")),
    "R432 exit 75": Stop(chain("exit 75"), FR, FailureCode.TOOL_FAILED_TRANSIENT, "c", ("a", "b")),
    "R433 a foreign SIGKILL": Stop(chain("kill -9 $$"), FR, FailureCode.TOOL_FAILED_TRANSIENT, "c", ("a", "b")),
    "R433 exit 137 of a shell": Stop(chain("exit 137"), FR, FailureCode.TOOL_FAILED_TRANSIENT, "c", ("a", "b")),
    "R433 exit 160": Stop(chain("exit 160"), FR, FailureCode.EXECUTION_FAILED, "c", ("a", "b")),
    "R434 text is not classified": Stop(
        chain("echo connection reset >&2; exit 1"), FR, FailureCode.EXECUTION_FAILED, "c", ("a", "b")
    ),
    "7.2 a condition that fails": Stop(
        "compute a:\n  expr:\n    n: \"1\"\nworkflow w:\n  entry: a\n  a -> done when \"n < 'x'\"\n  a -> fail else\n",
        FR, FailureCode.EXPRESSION_FAILED, "a", ("a",),
    ),
    "5.3 a compute line that fails": Stop(
        "compute a:\n  expr:\n    n: \"1 / 0\"\nworkflow w:\n  entry: a\n  a -> done\n",
        FR, FailureCode.EXPRESSION_FAILED, "a", error="1 / 0",
    ),
    "7.4 a loop bound that is no number": Stop(
        "vars:\n  s: string = \"many\"\ncompute a:\n  expr:\n    n: \"1\"\nworkflow w:\n  entry: a\n"
        "  a -> a as l(\"vars.s\")\n  a -> done\n",
        FR, FailureCode.EXPRESSION_FAILED, "a", ("a",),
    ),
    "a node that raises": Stop(
        chain(), FR, FailureCode.EXECUTION_FAILED, "a", error="out of cheese",
        settings=scripted(Script(ZeroDivisionError("out of cheese"))),
    ),
    "R082 an ambiguous effect": Stop(
        chain(), FR, FailureCode.AMBIGUOUS_EFFECT, "a",
        settings=scripted(Script(Failed(FailureCode.AMBIGUOUS_EFFECT, "lost the answer"))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_how_a_run_stops(engine: Rig, case: Stop) -> None:
    """R024, R032, R036, R037, R040, R041, R042, R043 (its entry form), R057, R082, R160, R173, R191, R192, R193, R200,
    R204, R205, R206, R207, R429 to R434."""
    rig = engine.other(**case.settings)
    record = rig.run(case.text, **case.values)
    head = rig.head()
    assert (record.status, record.failure_code) == (case.status, case.code)
    assert (head.node_id, head.completed) == (case.anchor, case.completed)
    assert set(rig.outputs()) == set(case.outputs)
    assert case.error in record.error
    assert rig.kinds()[-1] == ("run_paused" if case.status == PO else "run_failed")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_end_is_one_commit_with_what_was_owed(engine: Rig, case: Stop) -> None:
    """3.4: the last output, the head, the status and the events arrive together; seq has no gap."""
    rig = engine.other(**case.settings)
    rig.run(case.text, **case.values)
    events = rig.events()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    finished = [event.node_id for event in events if event.type == "node_finished"]
    assert sorted(set(finished)) == sorted(case.outputs)


def test_a_command_runs_once_unless_its_end_says_try_again(engine: Rig) -> None:
    """R430, R432: one run for a plain failure, three for exit 75, each retry told."""
    engine.run(chain("echo x >> trace; exit 1"))
    assert engine.trace() == ["x"]
    assert not engine.events("node_recovery")
    engine.run(chain("echo y >> again; exit 75"), "r2")
    assert engine.trace("again") == ["y"] * 3
    told = engine.events("node_recovery", "r2")
    assert [(event.data["attempt"], event.data["delay_ms"]) for event in told] == [(1, 1000), (2, 2000)]


def test_counts_of_recovery_are_gone_once_the_node_succeeds(engine: Rig) -> None:
    """R100: growing waits, then success."""
    throttled = Failed(FailureCode.RATE_LIMITED, "slow down")
    rig = engine.other(**scripted(Script(throttled, throttled, throttled, Completed({"n": 1}))))
    record = rig.run(chain())
    assert record.status == RunStatus.FINISHED
    waits = [event.data["delay_ms"] for event in rig.events("node_recovery")]
    assert len(waits) == 3
    assert waits == sorted(waits)
    assert not rig.head().recovery_counts


def test_a_throttle_that_stays_ends_resumable(engine: Rig) -> None:
    """R101, R117: running until the recipe has ended, then FR with the code and its three retries."""
    seen: list[str] = []
    slow = Failed(FailureCode.RATE_LIMITED, "slow")
    script = Script(slow, then=lambda _: seen.append(engine.store.runs.get("r1").status))
    rig = engine.other(**scripted(script))
    record = rig.run(chain())
    assert (record.status, record.failure_code, script.calls) == (FR, FailureCode.RATE_LIMITED, 4)
    assert seen == [RunStatus.RUNNING] * 4
    assert rig.head().recovery_counts == {"a": {"RATE_LIMITED": 3}}


def test_the_second_stop_counts_as_the_second(engine: Rig) -> None:
    """R168, R110: counts survive a stop."""
    script = Script(Failed(FailureCode.TOOL_FAILED_TRANSIENT, "x"))
    rig = engine.other(**scripted(script))
    rig.run(chain())
    assert script.calls == 3
    rig.resume()
    assert script.calls == 4


def test_a_stop_wins_over_the_wait_of_a_retry(engine: Rig) -> None:
    """R115: cancelled at once, anchored on the node."""
    rigs: list[Rig] = []
    script = Script(Failed(FailureCode.NETWORK_TRANSIENT, "x"), then=lambda _: rigs[0].engine.cancel_all("enough"))
    rig = engine.other(**scripted(script))
    rigs.append(rig)
    record = rig.run(chain())
    assert (record.status, record.failure_code) == (RunStatus.CANCELLED, FailureCode.CANCELLED)
    assert (rig.head().node_id, rig.head().completed) == ("a", False)
    assert rig.events("run_cancelled")[0].data["reason"] == "enough"


def test_a_resumable_fail_that_cannot_be_anchored_says_so(engine: Rig, caplog: pytest.LogCaptureFixture) -> None:
    """R042: a warning names the node and the reason."""
    engine.run('fail refuse:\n  code: NO_LOT\n  message: "x"\n  resumable: true\nworkflow w:\n  entry: refuse\n')
    assert "refuse" in caplog.text
    assert "refuse" in (engine.folder / ".pointsman" / "runs" / "r1" / "run.log").read_text()


def test_two_guards_cannot_anchor(engine: Rig) -> None:
    """R043: more than one incoming edge on record."""
    from engine.dsl.load import load_text
    from engine.runtime.leaving import guard_of

    text = GUARDED.replace("{resumable}", "true") + '  guard -> stop when "cap == 99"\n'
    graph = load_text(text).graph
    assert graph is not None
    indexes = tuple(edge.index for edge in graph.incoming["stop"])

    assert guard_of(graph, indexes, "stop") == ("", "2 edges led into it")
    assert guard_of(graph, indexes[:1], "stop") == ("guard", "")
    assert guard_of(graph, (), "stop") == ("", "no edge led into it")
    assert guard_of(graph, (99,), "stop") == ("", "its guard is unknown")
