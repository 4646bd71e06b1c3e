"""Real daemons beside each other and in trouble: two starts, killed owners, children, locks, full ports, systemd."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.acceptance.test_daemon import HEAD, QUICK, WAITS, ready
from tests.kit.daemons import CONFIG, Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
STUBBORN = (
    HEAD
    + "tool a:\n  command: `trap '' TERM; touch FOLDER/started; until [ -e FOLDER/go ]; do sleep 0.05; done`\n\n"
    + "workflow work:\n  entry: a\n  a -> done\n"
)
CHAIN = (
    HEAD
    + "\n".join(f"tool t{n}:\n  command: `echo {{{{vars.title}}}}-{n} >> FOLDER/trace`\n" for n in range(4))
    + "\nworkflow work:\n  entry: t0\n  t0 -> t1\n  t1 -> t2\n  t2 -> t3\n  t3 -> done\n"
)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[type[Site]]:
    made: list[Site] = []

    def site(bot: str, config: str = CONFIG) -> Site:
        made.append(Site(tmp_path, bot.replace("FOLDER", str(tmp_path)), config))
        return made[-1]

    yield site  # type: ignore[misc]
    (tmp_path / "go").touch()
    for each in made:
        each.close()


def output(site: Site) -> str:
    return (site.folder / "output").read_text()


def reason(site: Site, number: int = 1) -> str:
    return str((site.card(number)["idle_reason"] or {}).get("code", ""))


def test_a_stopped_daemon_still_holds_its_store(make) -> None:  # type: ignore[no-untyped-def]
    """F10: SIGSTOP is no death; the second leaves with exit 5 and names the holder, and takes over after SIGKILL."""
    site = make(QUICK)
    first = site.start("dispatch", "--no-server")
    site.until(lambda: "dispatcher.ready" in output(site))
    first.send_signal(signal.SIGSTOP)
    assert site.run("dispatch", "--no-server") == 5
    assert str(first.pid) in output(site)
    first.kill()
    first.wait(10)
    ready(site)
    assert site.run("dispatch", "--until-idle", "--no-server") == 0
    assert site.card()["column"] == "review"


def test_of_two_daemons_started_at_once_one_lives(make) -> None:  # type: ignore[no-untyped-def]
    """D076, F10."""
    site = make(QUICK)
    site.do("card", "list")
    for _ in range(3):
        both = [site.start("dispatch", "--no-server") for _ in range(2)]
        site.until(lambda: any(each.poll() is not None for each in both))  # noqa: B023 - asked at once
        assert sorted(str(each.poll()) for each in both) == ["5", "None"]
        for each in both:
            each.kill()
            each.wait(10)


def test_a_killed_daemons_lock_is_free_while_its_children_work(make) -> None:  # type: ignore[no-untyped-def]
    """D007, D077, D078, F45: the second starts at once; what works is held, the rest starts; a text is no lock."""
    site = make(WAITS)
    ready(site)
    first = site.start("dispatch", "--no-server")
    site.until((site.folder / "started").exists)
    assert reason(site) in ("", "run_alive")
    first.kill()
    first.wait(10)
    lock = next(site.folder.glob(".pointsman/dispatcher.lock"))
    lock.write_text(lock.read_text().replace(str(first.pid), str(os.getpid())))
    (site.folder / "bots" / "quick.bot").write_text(QUICK.replace("FOLDER", str(site.folder)))
    site.do("card", "create", "--title", "other", "--column", "ready", "--bot", "quick")
    site.start("dispatch", "--no-server")
    site.until(lambda: site.card(2)["column"] == "review")
    site.until(lambda: reason(site) == "run_children_alive")
    assert site.trace().count("b") == 1
    (site.folder / "go").touch()
    site.until(lambda: site.card()["column"] == "review")


def test_a_run_that_a_person_executes_is_left_to_him(make) -> None:  # type: ignore[no-untyped-def]
    """D007: the lock is held by a live process, long past the grace."""
    site = make(WAITS)
    site.do("card", "create", "--title", "x", "--column", "ready")
    person = site.start("run", "bots/work.bot", "--run-id", "mine")
    site.until((site.folder / "started").exists)
    site.do("card", "update", "1", "--last-run", "mine")
    for _ in range(5):
        assert site.once() == 0
    assert reason(site) == "run_alive"
    assert person.poll() is None
    assert len(site.read("inspect")["runs"]) == 1


def test_a_deleted_lock_file_never_lets_two_dispatch(make) -> None:  # type: ignore[no-untyped-def]
    """D079."""
    site = make(QUICK)
    first = site.start("dispatch", "--no-server")
    site.until(lambda: "dispatcher.ready" in output(site))
    site.folder.joinpath(".pointsman", "dispatcher.lock").unlink()
    second = site.start("dispatch", "--no-server")
    site.until(lambda: 5 in (first.poll(), second.poll()))
    assert None in (first.poll(), second.poll())
    ready(site)
    site.until(lambda: site.card()["column"] == "review")
    assert site.trace() == ["x"]


def test_a_stopped_process_is_neither_stalled_nor_started_twice(make) -> None:  # type: ignore[no-untyped-def]
    """D084, with a short stop and a shorter patience."""
    site = make(WAITS, CONFIG.replace("orphan_grace: 1s", "orphan_grace: 1s, stall_timeout: 6s"))
    ready(site)
    daemon = site.start("dispatch", "--no-server")
    site.until((site.folder / "started").exists)
    daemon.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    site.until(lambda: time.monotonic() - stopped > 7)
    daemon.send_signal(signal.SIGCONT)
    site.until(lambda: "clock.resumed_after_sleep" in output(site))
    (site.folder / "go").touch()
    site.until(lambda: site.card()["column"] == "review")
    assert site.trace() == ["a", "b", "c"]
    assert "run.interrupted" not in output(site)


def test_children_of_a_dead_daemon_are_stopped_after_the_patience(make) -> None:  # type: ignore[no-untyped-def]
    """D099, D129, F01: SIGTERM, five seconds later SIGKILL; then promoted and resumed on the same id."""
    site = make(STUBBORN, CONFIG.replace("orphan_grace: 1s", "orphan_grace: 1s, stall_timeout: 2s"))
    ready(site)
    first = site.start("dispatch", "--no-server")
    site.until((site.folder / "started").exists)
    run = site.card()["last_run"]
    first.kill()
    first.wait(10)
    site.folder.joinpath("started").unlink()
    daemon = site.start("dispatch", "--no-server")
    site.until(lambda: "run.children_stopped" in output(site))
    assert not (site.folder / "started").exists()
    site.until((site.folder / "started").exists)
    assert "run.promoted" in output(site)
    (site.folder / "go").touch()
    site.until(lambda: site.card()["column"] == "review")
    assert (site.card()["last_run"], daemon.poll()) == (run, None)


def test_a_foreign_holder_of_the_lock_is_named_and_never_signalled(make) -> None:  # type: ignore[no-untyped-def]
    """D062, D098, D100: a daemonised grandchild kept the lock; the card is held until it ends by itself."""
    stays = "setsid sh -c 'touch FOLDER/started; until [ -e FOLDER/go ]; do sleep 0.05; done' &"
    away = f"{stays} until [ -e FOLDER/started ]; do sleep 0.01; done; kill -9 $PPID"
    bot = HEAD + f"tool a:\n  command: `if [ -e FOLDER/go ]; then exit 0; fi; {away}`\n\n"
    site = make(
        bot + "workflow work:\n  entry: a\n  a -> done\n",
        CONFIG.replace("orphan_grace: 1s", "orphan_grace: 1s, stall_timeout: 1s"),
    )
    ready(site)
    site.start("dispatch", "--no-server")
    site.until((site.folder / "started").exists)
    site.until(lambda: reason(site) == "run_children_alive" or not alive(site), site.once)
    text = site.card()["idle_reason"]["text"]
    assert "sh" in text
    for _ in range(3):
        site.once()
    assert reason(site) == "run_children_alive"
    (site.folder / "go").touch()
    site.until(lambda: site.card()["column"] == "review", site.once)
    assert len(site.read("inspect")["runs"]) == 1


def alive(site: Site) -> bool:
    return reason(site) == ""


def test_a_card_made_beside_the_daemon_is_seen_and_one_reload_follows_a_torn_write(make) -> None:  # type: ignore[no-untyped-def]
    """D182, D198: a file that is written in two halves is one reload."""
    site = make(QUICK)
    site.start("dispatch", "--no-server")
    site.until(lambda: "dispatcher.ready" in output(site))
    ready(site)
    site.until(lambda: site.card()["column"] == "review")
    text = CONFIG.replace("name: accept", "name: accepted")
    with (site.folder / "pointsman.yaml").open("w") as file:
        file.write(text[:40])
        file.flush()
        file.write(text[40:])
    site.until(lambda: "config.loaded" in output(site))
    ready(site, "y")
    site.until(lambda: site.card(2)["column"] == "review")
    assert output(site).count("config.loaded") == 1


def test_a_port_in_use_touches_no_card(make) -> None:  # type: ignore[no-untyped-def]
    """D218."""
    site = make(QUICK)
    ready(site)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert site.run("dispatch", "--port", str(taken.getsockname()[1])) == 1
    assert (site.card()["column"], site.trace()) == ("ready", [])
    assert "Traceback" not in output(site)


def test_a_failing_bot_is_no_failure_of_once(make) -> None:  # type: ignore[no-untyped-def]
    """D196: the second tick recorded the retry."""
    site = make(QUICK.replace("echo", "false; exit 3; echo"), CONFIG.replace("base: 100ms, cap: 300ms", "base: 60s"))
    ready(site)
    assert site.once() == 0
    assert (site.card()["claim"]["state"], reason(site)) == ("retrying", "retry_wait")


def test_a_closed_log_stream_costs_no_card(make) -> None:  # type: ignore[no-untyped-def]
    """D194."""
    site = make(QUICK)
    ready(site)
    shell = "exec 2>&-; exec python -m dispatcher.cli dispatch --until-idle --no-server"
    import subprocess
    import sys

    given = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    line = shell.replace("python", sys.executable, 1)
    ended = subprocess.run(["sh", "-c", line], cwd=site.folder, env=given, check=False, timeout=90)
    assert (ended.returncode, site.card()["column"]) == (0, "review")


@pytest.mark.parametrize("whole_group", [False, True])
def test_stopping_is_as_fast_for_the_whole_group(make, whole_group: bool) -> None:  # type: ignore[no-untyped-def]
    """D215, F46: two working children."""
    two = WAITS.replace("touch FOLDER/started", "touch FOLDER/started-{{vars.title}}")
    site = make(two)
    ready(site, "one")
    ready(site, "two")
    daemon = site.start("dispatch", "--no-server")
    site.until(lambda: all((site.folder / f"started-{name}").exists() for name in ("one", "two")))
    begun = time.monotonic()
    if whole_group:
        os.killpg(daemon.pid, signal.SIGTERM)
    else:
        daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(60) == 0
    assert time.monotonic() - begun < 20
    assert {run["failure_code"] for run in site.read("inspect")["runs"]} == {"INTERRUPTED"}


def test_systemd_hears_what_the_start_waits_for(make, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """D209, D219, F12: the folder of the store is not there, then its store is locked by somebody; then READY."""
    site = make(QUICK, CONFIG + "store: {dir: mount/here/store}\n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(90)
        daemon = site.start("dispatch", "--no-server", NOTIFY_SOCKET=str(tmp_path / "notify"))
        heard = until_heard(listener, "mount/here")
        assert not (site.folder / "mount").exists()
        heard += until_heard(listener, "EXTEND_TIMEOUT_USEC")
        store = site.folder / "mount" / "here" / "store"
        store.mkdir(parents=True)
        busy = sqlite3.connect(store / "pointsman.db", isolation_level=None)
        busy.execute("BEGIN EXCLUSIVE")
        busy.execute("CREATE TABLE other (x)")
        heard += until_heard(listener, "waiting for the store")
        heard += until_heard(listener, "EXTEND_TIMEOUT_USEC")
        assert not any("READY=1" in each for each in heard)
        busy.execute("ROLLBACK")
        busy.close()
        until_heard(listener, "READY=1")
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(60) == 0


def until_heard(listener: socket.socket, text: str) -> list[str]:
    heard: list[str] = []
    while not any(text in each for each in heard):
        heard.append(listener.recv(4096).decode())
    return heard


def test_a_stop_is_acted_on_while_a_node_computes(make) -> None:  # type: ignore[no-untyped-def]
    """D216: the process itself is busy when the signal comes."""
    loop = (
        HEAD
        + 'compute spin:\n  expr:\n    x: "1 + 1"\n\n'
        + "workflow work:\n  entry: spin\n  spin -> spin as round(1000000)\n"
    )
    site = make(loop)
    ready(site)
    daemon = site.start("dispatch", "--no-server")
    site.until(lambda: site.card()["column"] == "in_progress")
    daemon.send_signal(signal.SIGTERM)
    begun = time.monotonic()
    site.until(lambda: "dispatcher.stopping" in output(site))
    assert time.monotonic() - begun < 5
    assert daemon.wait(60) == 0


def test_kills_at_random_moments_break_nothing(make) -> None:  # type: ignore[no-untyped-def]
    """D095, D220 (a few rounds of it): the store is whole, each card has one run, everything ends."""
    site = make(CHAIN, CONFIG.replace("max_attempts: 3", "max_attempts: 50"))
    for number in range(6):
        ready(site, f"c{number}")
    chance = Random(7)
    for _ in range(6):
        daemon = site.start("dispatch", "--no-server")
        end = time.monotonic() + 0.6 + chance.random() * 0.8
        site.until(lambda: time.monotonic() > end)  # noqa: B023 - asked at once
        daemon.kill()
        daemon.wait(10)
        with sqlite3.connect(site.folder / ".pointsman" / "pointsman.db") as store:
            assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert site.run("dispatch", "--until-idle", "--idle-timeout", "90s", "--no-server") == 0
    runs = site.read("inspect")["runs"]
    assert len(runs) == 6
    assert {run["status"] for run in runs} == {"finished"}
    ends = [line for line in site.trace() if line.endswith("-3")]
    assert {end.split("-")[0] for end in ends} == {f"c{number}" for number in range(6)}
