"""Changes of a forge in a process that is killed: those that wait for their turn, and one between others (kill -9)."""

from __future__ import annotations

import signal
import sys
import threading
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from connectors.fake_forge.running import Setup, running
from dispatcher.crashpoints import CrashPoints
from engine.api import LaunchRequest
from engine.failures import FailureCode
from engine.run import EffectState
from engine.states import RunStatus
from tests.kit.calling import ForgeRig
from tests.kit.clock import FakeClock
from tests.kit.runs import python
from tests.kit.yard import Yard

pytestmark = pytest.mark.timeout(120)
CARDS = 20
CONFIG = """
name: yard
boards: [{{name: native, kind: native, bot: bots/work.bot, vars: {{number: "{{{{card.title}}}}"}}}}]
connections: {{web: {{kind: gitlab, url: "{url}", repo: octo/demo, token: $TOKEN, allow_private: true}}}}
concurrency: {{max: {cards}}}
retry: {{max_attempts: 3, base: 10s, cap: 300s}}
runs: {{orphan_grace: 2s}}
shutdown: {{grace: 0s}}
"""


def comments(*texts: str) -> str:
    """A workflow that posts these, one after the other."""
    nodes = "".join(
        f"tool n{n}:\n  action: gitlab.issue.comment\n  connection: web\n  params:\n"
        f'    number: "{{{{vars.number}}}}"\n    body: "{text}"\n\n'
        for n, text in enumerate(texts)
    )
    ways = "".join(f"  n{n} -> n{n + 1}\n" for n in range(len(texts) - 1))
    last = len(texts) - 1
    return f"vars:\n  number: string\n\n{nodes}workflow work:\n  entry: n0\n{ways}  n{last} -> done\n"


class Standing(FakeClock):
    """Time stands still: who waits for a turn waits for ever."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for the event alone."""
        return event.wait(60)


class Posting(Yard):
    """A daemon whose runs write on a forge."""

    connected = True


def yard_at(folder: Path, clock: FakeClock, url: str, token: str) -> Posting:
    return Posting(folder, clock, CONFIG.format(url=url, cards=CARDS), comments("first", "second"), TOKEN=token)


def wait_in_line(folder: str, url: str, token: str) -> None:
    """The process that is killed: the first write leaves, then 20 runs wait for their turn."""
    yard = yard_at(Path(folder), Standing(), url, token)
    for number in range(1, CARDS + 1):
        yard.make(str(number))
    yard.tick(wait=False)
    effects, looking = yard.wiring.store.effects, threading.Event()
    while len(effects.list(states=("intended",))) < CARDS:
        looking.wait(0.02)
    print("waiting", flush=True)  # noqa: T201
    sys.stdin.readline()


def test_writes_that_waited_in_a_killed_daemon_are_made_once_and_in_order(tmp_path: Path) -> None:
    """C067: twenty are ``intended`` and nothing else; the next daemon withdraws each and sends it under a new row."""
    with running("gitlab", Setup(clock=FakeClock())) as forge:
        numbers = [forge.issue(f"Card {n}") for n in range(CARDS)]
        code = f"from {__name__} import wait_in_line as f; import sys; f(*sys.argv[1:])"
        process = python(code, str(tmp_path), forge.url, forge.token)
        assert process.stdout is not None
        assert any(line.strip() == "waiting" for line in process.stdout)
        process.kill()
        process.communicate()
        assert len(forge.requests(operation="issue.comment")) == 1
        yard = yard_at(tmp_path, FakeClock(datetime.fromisoformat("2026-01-01T02:00:00Z")), forge.url, forge.token)
        assert Counter(each.state for each in yard.wiring.store.effects.list()) == {"intended": CARDS, "done": 1}
        for _ in range(3):
            yard.clock.advance(60)  # type: ignore[attr-defined]
            yard.settled()
        said = {number: [each.body.split("\n")[0] for each in forge.card(number).comments] for number in numbers}
        assert said == {number: ["first", "second"] for number in numbers}
        assert len(forge.requests(operation="issue.comment")) == 2 * CARDS
        rows = yard.wiring.store.effects.list()
        assert Counter(each.state for each in rows) == {"not_sent": CARDS, "done": 2 * CARDS}
        assert {each.settled_by for each in rows if each.state == EffectState.NOT_SENT} == {"withdrawn"}
        yard.close()


SPLIT = (
    """tool mark:
  action: github.issue.comment
  connection: web
  params:
    number: 1
    body: "split into three"

"""
    + "".join(
        f"""tool part{n}:
  action: github.issue.create
  connection: web
  params:
    title: "Part {n}"
    body: "of three"

"""
        for n in (1, 2, 3)
    )
    + "workflow w:\n  entry: mark\n  mark -> part1 -> part2 -> part3 -> done\n"
)


def die_behind_the_mark(folder: str, url: str, token: str) -> None:
    """The process that is killed once the first of four changes is written down as made."""
    forge: Any = SimpleNamespace(kind="github", repo="octo/demo", url=url, token=token)  # it runs elsewhere
    rig = ForgeRig(Path(folder), FakeClock(), forge)
    rig.wiring.passed = CrashPoints("X5", 1).passed
    rig.wiring.engine.launch(LaunchRequest(Path(folder) / "split.bot", Path(folder) / "work", run_id="r1"))


def test_what_one_comment_announced_is_made_by_the_next_attempt_each_for_itself(tmp_path: Path) -> None:
    """C081, C048: a comment of several effects is no proof of the rest; the node is repeated from its row, unasked."""
    with running("github", Setup(clock=FakeClock())) as forge:
        number = forge.issue()
        (tmp_path / "split.bot").write_text(SPLIT)
        (tmp_path / "work").mkdir()
        code = f"from {__name__} import die_behind_the_mark as f; import sys; f(*sys.argv[1:])"
        process = python(code, str(tmp_path), forge.url, forge.token)
        _, errors = process.communicate(timeout=90)
        assert process.returncode == -signal.SIGKILL, errors
        clock = FakeClock(FakeClock().now() + timedelta(hours=1))
        rig = ForgeRig(tmp_path, clock, forge)
        assert rig.wiring.engine.promote("r1", 0.0).code == FailureCode.PROCESS_ORPHANED
        assert rig.resume().status == RunStatus.FINISHED
        assert rig.writes() == ["issue.comment"] + ["issue.create"] * 3
        assert [(row.operation, row.state) for row in rig.rows()] == [
            ("github.issue.comment", "done"),
            *[("github.issue.create", "done")] * 3,
        ]
        outputs = rig.wiring.engine.inspect("r1").outputs
        assert (outputs["mark"], len(rig.comments(number))) == (rig.rows()[0].response, 1)
        made = [each.title for each in forge.here.issues.values() if each.number != number]
        assert made == ["Part 1", "Part 2", "Part 3"]
        rig.close()
