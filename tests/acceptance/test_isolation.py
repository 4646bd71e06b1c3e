"""Runs in processes of their own: the daemon may die or stop, they go on, and the next one finds them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.kit.daemons import CONFIG, Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PROCESS = CONFIG.replace("runs: {orphan_grace: 1s}", "runs: {orphan_grace: 1s, isolation: process, stop_grace: 1s}")
ONE_SLOT = PROCESS + "concurrency: {max: 1}\n"
BOT = """vars:
  title: string = ""

tool a:
  command: `echo a >> FOLDER/{{vars.title}}`

tool b:
  command: `echo b >> FOLDER/{{vars.title}}; touch FOLDER/started; until [ -e FOLDER/go ]; do sleep 0.05; done`

tool c:
  command: `echo c >> FOLDER/{{vars.title}}`

workflow work:
  entry: a
  a -> b
  b -> c
  c -> done
"""


@pytest.fixture
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    """A folder whose runs are processes."""
    made = Site(tmp_path, BOT.replace("FOLDER", str(tmp_path)), getattr(request, "param", PROCESS))
    yield made
    (tmp_path / "go").touch()
    for pid in owners(made):
        _end(pid)
    made.close()


def _end(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def owners(site: Site) -> list[int]:
    """The processes of runs that live."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            here = (folder / "cwd").readlink() == site.folder
        except OSError:
            continue
        if here and b"dispatcher.cli.run_process" in words:
            found.append(int(folder.name))
    return found


def daemon(site: Site) -> subprocess.Popen[bytes]:
    return site.start("dispatch", "--no-server")


def begun(site: Site) -> tuple[subprocess.Popen[bytes], int]:
    """A daemon whose run works in node b; the run's process."""
    started = daemon(site)
    site.do("card", "create", "--title", "trace", "--column", "ready")
    site.until((site.folder / "started").exists)
    (process,) = owners(site)
    return started, process


def settled(site: Site, number: int = 1) -> Any:
    """The card once it is in review; its run."""
    site.until(lambda: site.card(number)["column"] == "review")
    return site.read("inspect", "--run-id", site.card(number)["last_run"])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_outlives_its_daemon_and_is_settled_by_the_next(site: Site, number: signal.Signals) -> None:
    """R402 turned round: the run's own process holds the lock; no node is repeated, and nothing is promoted."""
    first, process = begun(site)
    run_id = site.card()["last_run"]
    first.send_signal(number)
    assert first.wait(15) == (0 if number is signal.SIGTERM else -number)
    assert owners(site) == [process]
    second = daemon(site)
    site.until(lambda: bool(site.logged("claim.adopted")))
    (site.folder / "go").touch()
    record = settled(site)
    assert (record["run_id"], record["status"]) == (run_id, "finished")
    assert site.trace() == ["a", "b", "c"]
    events = site.read("inspect", "--run-id", run_id, "--events")["events"]
    assert not {"run_failed", "run_resumed"} & {event["type"] for event in events}
    site.until(lambda: not owners(site))
    second.terminate()
    assert second.wait(15) == 0


@pytest.mark.parametrize("site", [ONE_SLOT], indirect=True)
def test_a_run_that_was_found_again_uses_its_slot(site: Site) -> None:
    first, _ = begun(site)
    first.kill()
    first.wait(15)
    daemon(site)
    site.until(lambda: bool(site.logged("claim.adopted")))
    site.do("card", "create", "--title", "other", "--column", "ready")
    site.until(lambda: (site.card(2)["idle_reason"] or {}).get("code") == "no_slot")
    assert site.trace("other") == []
    (site.folder / "go").touch()
    assert settled(site)["status"] == "finished"
    assert settled(site, 2)["status"] == "finished"


def test_the_death_of_a_runs_process_is_no_daemons_death(site: Site) -> None:
    """R408: its tool still holds the lock; then the run is promoted once and resumed on the same id."""
    started, process = begun(site)
    run_id = site.card()["last_run"]
    os.kill(process, signal.SIGKILL)
    site.until(lambda: (site.card()["idle_reason"] or {}).get("code") in ("run_children_alive", "run_alive"))
    (site.folder / "go").touch()
    record = settled(site)
    assert (record["run_id"], record["status"]) == (run_id, "finished")
    assert site.trace() == ["a", "b", "b", "c"]
    assert started.poll() is None


def test_a_card_that_is_taken_away_interrupts_its_process(site: Site) -> None:
    """Section 14 of dispatcher.md: the cause reaches the process through the run's row."""
    begun(site)
    run_id = site.card()["last_run"]
    site.do("card", "move", "1", "--to", "backlog")
    site.until(lambda: site.read("inspect", "--run-id", run_id)["status"] == "failed_resumable")
    assert site.read("inspect", "--run-id", run_id)["failure_code"] == "INTERRUPTED"
    events = site.read("inspect", "--run-id", run_id, "--events")["events"]
    assert [e["data"]["reason"] for e in events if e["type"] == "run_interrupted"] == ["external_move"]
    site.until(lambda: not owners(site))


def test_once_waits_for_its_processes(site: Site) -> None:
    (site.folder / "go").touch()
    site.do("card", "create", "--title", "trace", "--column", "ready")
    assert site.once() == 0
    assert (site.card()["column"], site.trace()) == ("review", ["a", "b", "c"])


def test_a_run_that_a_person_resumes_over_http_is_a_process_too(site: Site) -> None:
    """D110, engine.md 12.3: the answer is admitted by the daemon and executed beside it; the daemon may die then."""
    asks = BOT.replace("FOLDER", str(site.folder)).replace("  entry: a\n", "  entry: ask\n  ask -> a\n")
    form = 'schema answer:\n  ok: bool\n\nhuman ask:\n  instructions: "go on?"\n  output: answer\n\nworkflow work:'
    (site.folder / "bots" / "work.bot").write_text(asks.replace("workflow work:", form))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    started = site.start("dispatch", "--port", str(port))
    site.do("card", "create", "--title", "trace", "--column", "ready")
    site.until(lambda: site.card()["last_run_status"] == "paused_waiting_human")
    run_id = site.card()["last_run"]
    resume = f"http://127.0.0.1:{port}/api/runs/{run_id}/resume"
    refused = httpx.post(resume, json={"answers": {"ok": "perhaps"}}, timeout=60, trust_env=False)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid_answers")
    taken = httpx.post(
        resume, json={"answers": {"ok": True}, "budget": {"max_duration": "4h"}}, timeout=60, trust_env=False
    )
    assert (taken.status_code, taken.json()["status"]) == (202, "running"), taken.text
    site.until((site.folder / "started").exists)
    (process,) = owners(site)
    assert process != started.pid
    started.kill()
    started.wait(15)
    (site.folder / "go").touch()
    site.until(lambda: not owners(site))
    daemon(site)
    record = settled(site)
    assert (record["run_id"], record["status"], record["outputs"]["ask"]) == (run_id, "finished", {"ok": True})
    assert site.trace() == ["a", "b", "c"]
