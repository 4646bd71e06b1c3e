"""Daemons over boards of forges that are killed (kill -9): a claim on the forge, a pause that it asked for."""

from __future__ import annotations

import signal
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from connectors.effects.markers import markers_in
from connectors.fake_forge.running import FakeForge, Setup, running
from engine.states import RunStatus
from tests.kit.clock import FakeClock
from tests.kit.forge_yard import ForgeYard
from tests.kit.runs import python
from tests.kit.yard import tool

pytestmark = pytest.mark.timeout(120)
KIND = "github"


class SharedYard(ForgeYard):
    """A daemon of one of several installations on a board, which may kill itself at a point."""

    def __init__(self, folder: Path, clock: FakeClock, forge: Any, crash_at: str = "", *, shared: bool = True) -> None:
        self._crash_at, self._shared = crash_at, shared
        super().__init__(folder, clock, forge, tool("true"))

    def _open(self) -> None:
        path = self.folder / "pointsman.yaml"
        if self._shared:
            path.write_text(path.read_text().replace("bot: bots/work.bot\n", "bot: bots/work.bot\n    shared: true\n"))
        if self._crash_at:
            testing = {"POINTSMAN_TESTING": "1", "POINTSMAN_CRASH_AT": self._crash_at}
            self.environment = {**self.environment, **testing}
        super()._open()


def elsewhere(url: str, token: str) -> Any:
    """A forge that runs in another process."""
    return SimpleNamespace(kind=KIND, repo="octo/demo", url=url, token=token)


def claim_and_die(folder: str, url: str, token: str) -> None:
    """The daemon that is killed between its claim on the forge and its start."""
    yard = SharedYard(Path(folder), FakeClock(), elsewhere(url, token), "S3")
    yard.tick()
    print("claimed", flush=True)  # noqa: T201
    sys.stdin.readline()
    yard.tick()


def test_a_claim_of_a_killed_daemon_is_gone_before_the_next_one_is_written(tmp_path: Path, clock: FakeClock) -> None:
    """D051: its own marker is removed and read back, then comes the new claim; there are never two of one store."""
    counts: list[int] = []
    forges: list[FakeForge] = []

    def look(_request: object, _answer: object) -> None:
        if forges and forges[0].here.issues:
            texts = [each.body for each in forges[0].card(1).comments]
            counts.append(sum(marker.is_claim for text in texts for marker in markers_in(text)))

    with running(KIND, Setup(clock=clock, observer=look)) as forge:
        forges.append(forge)
        forge.issue("Do it", labels=["ready"])
        code = f"from {__name__} import claim_and_die as f; import sys; f(*sys.argv[1:])"
        process = python(code, str(tmp_path), forge.url, forge.token)
        assert process.stdout is not None
        assert any(line.strip() == "claimed" for line in process.stdout)
        clock.advance(6)
        _, errors = process.communicate("\n", timeout=90)
        assert process.returncode == -signal.SIGKILL, errors
        assert counts[-1] == 1
        forge.forget_requests()
        clock.advance(60)
        yard = SharedYard(tmp_path, clock, forge)
        for _ in range(4):
            yard.tick()
            clock.advance(10)
        asked = [each["operation"] for each in forge.requests() if "comment" in each["operation"]]
        removed, made = asked.index("comment.delete"), asked.index("issue.comment")
        assert "comment.list" in asked[removed:made], asked
        assert max(counts) == 1
        assert [run.status for run in yard.runs()] == [RunStatus.FINISHED]
        assert yard.place("1") == "review"
        yard.close()


def wait_for_the_forge(folder: str, url: str, token: str) -> None:
    """The daemon that is killed while its forge has asked it to wait."""
    SharedYard(Path(folder), FakeClock(), elsewhere(url, token), shared=False).tick()
    print("asked to wait", flush=True)  # noqa: T201
    sys.stdin.readline()


def test_no_wake_up_of_the_next_daemon_shortens_a_pause_of_a_killed_one(tmp_path: Path, clock: FakeClock) -> None:
    """C112: blocked, kill -9, a new start and fifty wake-ups: no request before the forge's time."""
    with running(KIND, Setup(clock=clock)) as forge:
        card = str(forge.issue("Do it", labels=["ready"]))
        forge.script({"fault": "throttle_date_form", "with": {"seconds": 600}})
        code = f"from {__name__} import wait_for_the_forge as f; import sys; f(*sys.argv[1:])"
        process = python(code, str(tmp_path), forge.url, forge.token)
        assert process.stdout is not None
        assert any(line.strip() == "asked to wait" for line in process.stdout)
        process.kill()
        process.communicate()
        forge.script()
        forge.forget_requests()
        yard = SharedYard(tmp_path, FakeClock(clock.now() + timedelta(seconds=30)), forge, shared=False)
        for _ in range(50):
            yard.daemon.refresh("webhook")
            yard.tick()
        assert forge.requests() == []
        for each in (clock, yard.clock):
            each.advance(700)  # type: ignore[attr-defined]
        yard.settled(2)
        assert yard.place(card) == "review"
        yard.close()
