"""Two real daemons, as if on two hosts, over one PostgreSQL store: leases decide who leads and who owns a run."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.kit.cli import pointsman
from tests.kit.daemons import Site
from tests.kit.postgres import Missing, Server, running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
CONFIG = """
name: pair
boards: [{name: native, kind: native, bot: bots/work.bot, vars: {title: "{{card.title}}"}}]
tick: {interval: 100ms}
retry: {max_attempts: 3, base: 100ms, cap: 300ms}
runs: {orphan_grace: 500ms}
claims: {lease: 3s, heartbeat: 400ms}
workspace: {root: shared-root}
shutdown: {grace: 1s}
"""
BOT = """vars:
  title: string = ""

tool a:
  command: `echo a >> FOLDER/trace`

tool b:
  command: `echo b >> FOLDER/trace; echo $$ >> FOLDER/pids; until [ -e FOLDER/go ]; do sleep 0.05; done`

tool c:
  command: `echo c >> FOLDER/trace`

workflow work:
  entry: a
  a -> b
  b -> c
  c -> done
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of this module."""
    try:
        with running() as made:
            yield made
    except Missing as reason:
        pytest.skip(f"POSTGRESQL IS NOT TESTED: {reason}")


class Pair(Site):
    """Hosts over one database, each with a store folder of its own; the workspace root is common to both."""

    def __init__(self, folder: Path, url: str) -> None:
        super().__init__(folder, BOT.replace("FOLDER", str(folder)), CONFIG)
        self.url = url

    def daemon(self, host: str) -> subprocess.Popen[bytes]:
        """A daemon of that host."""
        return self.start(*self._given(host), POINTSMAN_HOST_ID=host)

    def ahead(self, host: str) -> subprocess.Popen[bytes]:
        """One bounded dispatch of that host, whose clock is 90 s ahead."""
        return self.launch("tests.kit.ahead", "90", *self._given(host), "--once", POINTSMAN_HOST_ID=host)

    def _given(self, host: str) -> tuple[str, ...]:
        return ("--store-url", self.url, "--store-dir", host, "--log-format", "json", "dispatch", "--no-server")

    def tell(self, *arguments: str) -> Any:
        """What a person asks for, from a third host."""
        answer = pointsman(self.folder, "--store-url", self.url, "--store-dir", "mine", *arguments, "--json")
        assert answer.code == 0, answer.err
        return answer.document

    def row(self, query: str) -> Any:
        """The first column of the first row."""
        with psycopg.connect(self.url.replace("+psycopg", ""), autocommit=True) as connection:
            found = connection.execute(query.encode()).fetchone()
        return found[0] if found else None

    def leader(self) -> str:
        """The host whose lease of the board is live, empty when nobody's is."""
        live = "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.USZ')"
        held = self.row(f"SELECT holder FROM lease WHERE resource = 'board:native' AND expires_at > {live}")
        return str(held).split()[4] if held else ""

    def working(self) -> list[int]:
        """The processes of node b that live."""
        return [pid for pid in map(int, self.trace("pids")) if Path(f"/proc/{pid}").exists()]


@pytest.fixture
def pair(tmp_path: Path, server: Server) -> Iterator[Pair]:
    """Two hosts that know nothing of each other but the database."""
    made = Pair(tmp_path, server.fresh())
    yield made
    (tmp_path / "go").touch()
    made.close()


def under_way(pair: Pair) -> tuple[subprocess.Popen[bytes], subprocess.Popen[bytes], str]:
    """Host one leads and works in node b, host two stands by; both daemons and the run's id."""
    one = pair.daemon("host-one")
    pair.until(lambda: pair.leader() == "host-one")
    two = pair.daemon("host-two")
    pair.until(lambda: pair.row("SELECT count(*) FROM lease WHERE resource LIKE 'daemon:%'") == 2)
    pair.tell("card", "create", "--title", "x", "--column", "ready")
    pair.until(lambda: pair.trace() == ["a", "b"])
    return one, two, str(pair.row("SELECT id FROM run"))


def finished(pair: Pair, run_id: str) -> None:
    """Host two ends the run, once, and settles the card; nothing was executed twice but the node that was in flight."""
    pair.until(lambda: pair.trace() == ["a", "b", "b"])
    (pair.folder / "go").touch()
    pair.until(lambda: pair.tell("card", "show", "1")["column"] == "review")
    assert pair.trace() == ["a", "b", "b", "c"]
    (record,) = pair.tell("inspect")["runs"]
    assert (record["run_id"], record["status"]) == (run_id, "finished")
    events = pair.tell("inspect", "--run-id", run_id, "--events")["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    kinds = Counter(event["type"] for event in events)
    assert (kinds["run_started"], kinds["run_finished"]) == (1, 1)
    failed = [event for event in events if event["type"] == "run_failed"]
    assert [event["data"]["code"] for event in failed] == ["PROCESS_ORPHANED"]
    assert pair.row(f"SELECT count(*) FROM lease WHERE resource = 'run:{run_id}'") == 0


def stopped(pair: Pair, *daemons: subprocess.Popen[bytes]) -> None:
    """Each ends as asked, at once."""
    for daemon in daemons:
        daemon.terminate()
    assert [daemon.wait(30) for daemon in daemons] == [0] * len(daemons)
    assert pair.leader() == ""


def test_a_killed_leader_is_followed_after_its_lease_and_its_run_goes_on_under_the_same_id(pair: Pair) -> None:
    """D082, R10, R11: kill -9 of the leader's host; the other takes board and run over by epoch, and nothing is
    executed twice but the node that was in flight."""
    one, two, run_id = under_way(pair)
    (tool,) = pair.working()
    beside = pointsman(
        pair.folder, "--store-url", pair.url, "--store-dir", "third", "dispatch", "--once", "--no-server"
    )
    assert (beside.code, beside.out) == (0, "")
    assert "Another daemon leads board native until " in beside.err
    assert "host host-one" in beside.err
    epoch = pair.row("SELECT epoch FROM run")
    one.kill()
    one.wait(10)
    os.killpg(tool, signal.SIGKILL)
    assert pair.leader() == "host-one", "a dead leader leads until its lease has ended"
    finished(pair, run_id)
    assert pair.leader() == "host-two"
    assert pair.row("SELECT epoch FROM run") == epoch + 2, "taken over, then resumed"
    stopped(pair, two)


def test_a_stopped_leader_that_wakes_up_late_writes_nothing_and_stands_by(pair: Pair) -> None:
    """D083, R406: SIGSTOP for more than a lease; the other takes over; SIGCONT: every late write changes no row."""
    one, two, run_id = under_way(pair)
    (old_tool,) = pair.working()
    os.kill(one.pid, signal.SIGSTOP)
    pair.until(lambda: pair.trace() == ["a", "b", "b"])
    assert pair.leader() == "host-two"
    assert len(pair.working()) == 2
    before = pair.row("SELECT count(*) FROM event")
    os.kill(one.pid, signal.SIGCONT)
    pair.until(lambda: old_tool not in pair.working())
    assert len(pair.working()) == 1, "the new owner's process works on"
    pair.until(lambda: len(pair.logged("claim.lost")) == 2)
    assert pair.row("SELECT count(*) FROM event") == before
    finished(pair, run_id)
    assert one.poll() is None
    assert Counter(line.get("board", "the daemon itself") for line in pair.logged("claim.lost")) == {
        "native": 1,
        "the daemon itself": 1,
    }
    stopped(pair, one, two)


def test_a_standby_leads_at_once_when_the_leader_ends_as_asked(pair: Pair) -> None:
    """Leases are given up at a graceful stop, and the interrupted run goes on elsewhere."""
    one, two, run_id = under_way(pair)
    one.terminate()
    assert one.wait(30) == 0
    (pair.folder / "go").touch()
    pair.until(lambda: pair.tell("card", "show", "1")["column"] == "review")
    (record,) = pair.tell("inspect")["runs"]
    assert (record["run_id"], record["status"]) == (run_id, "finished")
    assert pair.trace().count("a") == 1
    assert pair.leader() == "host-two"
    stopped(pair, two)


def test_f11_a_host_whose_clock_is_ahead_takes_nothing_before_the_stores_clock_says_so(pair: Pair) -> None:
    """F11 D091: to host two, 90 s ahead, every lease of 3 s has ended long ago; the store judges. The stopped leader
    wakes up behind the takeover, and its epoch is the older one."""
    one = pair.daemon("host-one")
    pair.until(lambda: pair.leader() == "host-one")
    pair.tell("card", "create", "--title", "x", "--column", "ready")
    pair.until(lambda: pair.trace() == ["a", "b"])
    run_id, (old_tool,) = str(pair.row("SELECT id FROM run")), pair.working()
    assert pair.ahead("host-two").wait(60) == 0
    assert (pair.leader(), pair.working(), pair.row("SELECT epoch FROM run")) == ("host-one", [old_tool], 1)
    os.kill(one.pid, signal.SIGSTOP)
    tried = [pair.ahead("host-two")]

    def again() -> None:
        if tried[-1].poll() is not None:
            tried.append(pair.ahead("host-two"))

    pair.until(lambda: pair.trace() == ["a", "b", "b"], again)
    assert (pair.leader(), pair.row("SELECT epoch FROM run")) == ("host-two", 3), "taken over, then resumed"
    before = pair.row("SELECT count(*) FROM event")
    os.kill(one.pid, signal.SIGCONT)
    pair.until(lambda: len(pair.logged("claim.lost")) == 2)
    pair.until(lambda: old_tool not in pair.working())
    assert pair.row("SELECT count(*) FROM event") == before
    finished(pair, run_id)
    assert tried[-1].wait(60) == 0
    assert len(pair.logged("claim.lost")) == 2, "once for the board, once for the daemon itself"
    stopped(pair, one)
