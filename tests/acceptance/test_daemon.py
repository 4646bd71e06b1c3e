"""Real daemons: signals, orphans, instances, reload, answers from the command line."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.daemons import CONFIG, Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
HEAD = 'vars:\n  title: string = ""\n\n'
QUICK = (
    HEAD
    + "tool work:\n  command: `echo {{vars.title}} >> FOLDER/trace`\n\nworkflow work:\n  entry: work\n  work -> done\n"
)
WAITS = (
    HEAD
    + "tool a:\n  command: `echo a >> FOLDER/trace`\n\n"
    + "tool b:\n  command: `echo b >> FOLDER/trace\ntouch FOLDER/started\n"
    + "(sleep 3; touch FOLDER/late) &\nuntil [ -e FOLDER/go ]; do sleep 0.05; done`\n\n"
    + "tool c:\n  command: `echo c >> FOLDER/trace`\n\n"
    + "workflow work:\n  entry: a\n  a -> b\n  b -> c\n  c -> done\n"
)
ASKS = (
    HEAD
    + 'schema answer:\n  ok: bool\n\nhuman ask:\n  instructions: "go?"\n  output: answer\n\n'
    + "tool c:\n  command: `echo c >> FOLDER/trace`\n\n"
    + "workflow work:\n  entry: ask\n  ask -> c\n  c -> done\n"
)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[type[Site]]:
    made: list[Site] = []

    def site(bot: str, config: str = CONFIG) -> Site:
        made.append(Site(tmp_path, bot.replace("FOLDER", str(tmp_path)), config))
        return made[-1]

    yield site  # type: ignore[misc]
    for each in made:
        each.close()


def ready(site: Site, title: str = "x") -> None:
    site.do("card", "create", "--title", title, "--column", "ready")


def test_sigterm_interrupts_after_the_grace_and_the_next_start_goes_on(make) -> None:  # type: ignore[no-untyped-def]
    """D120, D213, R463, F53."""
    site = make(WAITS)
    ready(site)
    daemon = site.start("dispatch", "--no-server")
    site.until((site.folder / "started").exists)
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(60) == 0
    card = site.card()
    run = site.read("inspect", "--run-id", card["last_run"])
    assert (card["column"], run["status"], run["failure_code"]) == ("in_progress", "failed_resumable", "INTERRUPTED")
    (site.folder / "go").touch()
    site.until(lambda: site.card()["column"] == "review", site.once)
    assert site.trace() == ["a", "b", "b", "c"]
    assert not (site.folder / "late").exists() or site.trace().count("b") == 2
    assert len(site.read("inspect")["runs"]) == 1


def test_a_second_sigterm_does_not_wait(make) -> None:  # type: ignore[no-untyped-def]
    """D214."""
    site = make(WAITS, CONFIG.replace("grace: 1s}", "grace: 300s}").replace("orphan_grace: 300s", "orphan_grace: 1s"))
    ready(site)
    daemon = site.start("dispatch", "--no-server")
    site.until((site.folder / "started").exists)
    daemon.send_signal(signal.SIGTERM)
    site.until(lambda: "dispatcher.stopping" in (site.folder / "output").read_text())
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(60) == 0
    assert site.read("inspect")["runs"][0]["failure_code"] == "INTERRUPTED"


def test_an_orphan_is_held_while_its_child_lives_then_resumed_on_the_same_id(make) -> None:  # type: ignore[no-untyped-def]
    """D059, R293, R294, R402."""
    site = make(WAITS)
    ready(site)
    daemon = site.start("dispatch", "--no-server")
    site.until((site.folder / "started").exists)
    daemon.kill()
    daemon.wait(10)
    site.until(lambda: (site.card()["idle_reason"] or {}).get("code") == "run_children_alive", site.once)
    assert site.trace() == ["a", "b"]
    run = site.card()["last_run"]
    (site.folder / "go").touch()
    site.until(lambda: site.card()["column"] == "review", site.once)
    assert site.card()["last_run"] == run
    assert site.trace() == ["a", "b", "b", "c"]
    assert len(site.read("inspect")["runs"]) == 1


def test_a_second_daemon_is_refused_and_names_the_first(make) -> None:  # type: ignore[no-untyped-def]
    """D075, R409."""
    site = make(QUICK)
    ready(site)
    first = site.start("dispatch", "--no-server")
    site.until(lambda: site.card()["column"] == "review")
    assert site.once() == 5
    assert f"process {first.pid}" in (site.folder / "output").read_text()
    first.send_signal(signal.SIGINT)
    assert first.wait(60) == 0
    assert site.once() == 0


def test_a_second_daemon_on_one_workspace_root_is_refused_and_names_the_first(  # type: ignore[no-untyped-def]
    make, tmp_path: Path
) -> None:
    """R410: two stores, one root."""
    shared = f"workspace: {{root: {tmp_path}/shared}}\n"
    first = make(QUICK, CONFIG + shared)
    daemon = first.start("dispatch", "--no-server")
    first.until(lambda: "dispatcher.ready" in (first.folder / "output").read_text())
    (tmp_path / "other").mkdir()
    second = Site(tmp_path / "other", QUICK.replace("FOLDER", str(tmp_path)), CONFIG + shared)
    assert second.once() == 5
    assert f"process {daemon.pid}" in (second.folder / "output").read_text()
    assert daemon.poll() is None
    daemon.send_signal(signal.SIGINT)
    assert daemon.wait(60) == 0
    assert second.once() == 0
    second.close()


def test_sighup_takes_a_new_configuration_and_keeps_the_last_good_one(make) -> None:  # type: ignore[no-untyped-def]
    """D179."""
    site = make(QUICK)
    daemon = site.start("dispatch", "--no-server")
    config = site.folder / "pointsman.yaml"
    site.until(lambda: "dispatcher.ready" in (site.folder / "output").read_text())
    config.write_text(CONFIG.replace('"{{card.title}}"', '"new-{{card.title}}"'))
    daemon.send_signal(signal.SIGHUP)
    site.until(lambda: "config.loaded" in (site.folder / "output").read_text())
    ready(site, "one")
    site.until(lambda: site.card()["column"] == "review")
    config.write_text(config.read_text() + "concurency: {}\n")
    daemon.send_signal(signal.SIGHUP)
    site.until(lambda: "config.refused" in (site.folder / "output").read_text())
    ready(site, "two")
    site.until(lambda: site.card(2)["column"] == "review")
    assert site.trace() == ["new-one", "new-two"]
    assert daemon.poll() is None


def test_a_parked_card_is_settled_by_an_answer_from_the_command_line(make) -> None:  # type: ignore[no-untyped-def]
    """D012, D014, R291, R444."""
    site = make(ASKS)
    ready(site)
    daemon = site.start("dispatch", "--no-server")
    site.until(lambda: site.card()["column"] == "awaiting_input")
    run = site.card()["last_run"]
    site.do("card", "move", "1", "--to", "ready")
    site.until(lambda: site.card()["column"] == "awaiting_input")
    assert site.run("resume", "--run-id", run, "--answer", "ok=true") == 0
    site.until(lambda: site.card()["column"] == "review")
    assert (site.trace(), site.card()["last_run"]) == (["c"], run)
    assert daemon.poll() is None


def test_what_another_process_does_is_taken_up_without_waiting_for_the_interval(make) -> None:  # type: ignore[no-untyped-def]
    """A card that is made, an answer that ends its run: neither waits for the next tick of the clock."""
    site = make(ASKS, CONFIG.replace("interval: 100ms", "interval: 1h"))
    site.start("dispatch", "--no-server")
    site.until(lambda: bool(site.logged("dispatcher.ready")))
    ready(site)
    site.until(lambda: site.card()["column"] == "awaiting_input")
    assert site.do("resume", "--run-id", site.card()["last_run"], "--answer", "ok=true") == 0
    site.until(lambda: site.card()["column"] == "review")


def test_an_interval_is_no_brake_for_short_runs(make) -> None:  # type: ignore[no-untyped-def]
    """D152."""
    site = make(QUICK, CONFIG.replace("interval: 100ms", "interval: 300s") + "concurrency: {max: 2}\n")
    for number in range(6):
        ready(site, f"c{number}")
    assert site.run("dispatch", "--until-idle", "--idle-timeout", "60s", "--no-server") == 0
    assert sorted(site.trace()) == [f"c{number}" for number in range(6)]


def test_until_idle_gives_up_and_leaves_the_run_resumable(make) -> None:  # type: ignore[no-untyped-def]
    """D197."""
    site = make(WAITS)
    ready(site)
    assert site.run("dispatch", "--until-idle", "--idle-timeout", "2s", "--no-server") == 1
    assert site.read("inspect")["runs"][0]["status"] in ("failed_resumable", "running")


def test_systemd_hears_ready_once_and_stopping_once(make, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """D208, D212, D213, D222."""
    site = make(QUICK)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(90)
        daemon = site.start("dispatch", "--no-server", NOTIFY_SOCKET=str(tmp_path / "notify"))
        heard: list[str] = []
        while not any("READY=1" in each for each in heard):
            heard.append(listener.recv(4096).decode())
        daemon.send_signal(signal.SIGHUP)
        while sum("READY=1" in each for each in heard) < 2:
            heard.append(listener.recv(4096).decode())
        daemon.send_signal(signal.SIGTERM)
        while not any("STOPPING=1" in each for each in heard):
            heard.append(listener.recv(4096).decode())
        assert daemon.wait(60) == 0
    reloading = [each for each in heard if "RELOADING=1" in each]
    assert len(reloading) == 1
    assert "MONOTONIC_USEC=" in reloading[0]
    assert sum("STOPPING=1" in each for each in heard) == 1
