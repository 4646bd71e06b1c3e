"""A test in the place of the service manager: every datagram of a life, from start to end (dispatcher.md 32)."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatcher.daemon import loops
from dispatcher.daemon.inbox import Message
from tests.acceptance.test_daemon import WAITS, ready
from tests.kit.clock import FakeClock
from tests.kit.daemons import CONFIG, Site
from tests.kit.yard import Yard

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
WATCHDOG_SECONDS = 4.0


class Manager:
    """The receiving end of ``NOTIFY_SOCKET``: everything that came, with the time of its coming."""

    def __init__(self, folder: Path) -> None:
        self.name = str(folder / "notify")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.name)
        self._socket.settimeout(0.2)
        self._closed = threading.Event()
        self.heard: list[tuple[float, list[str]]] = []
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                datagram = self._socket.recv(8192).decode()
            except TimeoutError:
                continue
            self.heard.append((time.monotonic(), datagram.split("\n")))

    def lines(self, key: str) -> list[str]:
        """The values of one key, in the order in which they came."""
        return [line.partition("=")[2] for _, lines in list(self.heard) for line in lines if line.startswith(f"{key}=")]

    def times(self, key: str) -> list[float]:
        """When a key came."""
        return [at for at, lines in list(self.heard) if any(line.startswith(f"{key}=") for line in lines)]

    def close(self) -> None:
        self._closed.set()
        self._thread.join()
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    made = Manager(tmp_path)
    yield made
    made.close()


def test_every_datagram_from_start_through_reloads_to_the_end(tmp_path: Path, manager: Manager) -> None:
    """D208, D212, D213, D217, F51, F52, F53: a node that outlasts the grace is interrupted, and the unit ends well."""
    site = Site(tmp_path, WAITS.replace("FOLDER", str(tmp_path)), CONFIG)
    ready(site)
    watched = {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": str(int(WATCHDOG_SECONDS * 1e6))}
    daemon = site.start("dispatch", "--no-server", **watched)
    try:
        site.until((site.folder / "started").exists)
        site.until(lambda: len(manager.times("WATCHDOG")) >= 2)
        first = manager.heard[:]
        texts = [
            CONFIG.replace("name: accept", "name: second"),
            "boards: [",
            CONFIG.replace("name: accept", "name: third"),
        ]
        for at, text in enumerate(texts, start=1):
            (site.folder / "pointsman.yaml").write_text(text)
            daemon.send_signal(signal.SIGHUP)
            site.until(lambda: len(manager.lines("RELOADING")) >= at and len(manager.lines("READY")) > at)  # noqa: B023
        site.until(lambda: "third" in (site.folder / "output").read_text() or len(manager.lines("READY")) == 4)
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(60) == 0
    finally:
        (site.folder / "go").touch()
        site.close()
    before_ready = [line for _, lines in first for line in lines][
        : [line for _, ls in first for line in ls].index("READY=1")
    ]
    assert all(line.startswith(("STATUS=", "EXTEND_TIMEOUT_USEC=")) for line in before_ready)
    assert len(manager.lines("READY")) == 1 + len(texts)
    assert len(manager.lines("RELOADING")) == len(texts)
    reloads = [lines for _, lines in manager.heard if "RELOADING=1" in lines]
    now = time.monotonic() * 1e6
    assert all(0 < int(lines[1].removeprefix("MONOTONIC_USEC=")) < now for lines in reloads)
    pings = manager.times("WATCHDOG")
    assert max(later - earlier for earlier, later in itertools.pairwise(pings)) < WATCHDOG_SECONDS
    assert max(len(text) for text in manager.lines("STATUS")) <= 200
    assert any("1/4 running" in text for text in manager.lines("STATUS"))
    assert any("pointsman.yaml" in text for text in manager.lines("STATUS")), "the refused file is told"
    order = [line.partition("=")[0] for _, lines in manager.heard for line in lines]
    stopping = order.index("STOPPING")
    assert order.count("STOPPING") == 1
    assert not {"READY", "WATCHDOG", "RELOADING"} & set(order[stopping:])
    assert "EXTEND_TIMEOUT_USEC" in order[stopping:]
    run = site.read("inspect")["runs"][0]
    assert (run["status"], run["failure_code"]) == ("failed_resumable", "INTERRUPTED")


def test_a_stuck_tick_ends_the_pings_and_progress_brings_them_back(
    tmp_path: Path, clock: FakeClock, manager: Manager
) -> None:
    """D210, D211: within the stated limit, the largest of 3 intervals, 2 board deadlines and 60 s."""
    watched = {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "10000000"}
    yard = Yard(tmp_path, clock, **watched)
    yard.tick()
    main = threading.Thread(target=loops.attend, args=(yard.daemon,))
    main.start()

    def pinged_within(seconds: float) -> int:
        """Let fake time pass, half a ping at a time, each heard or not; how many pings came."""
        before = len(manager.lines("WATCHDOG"))
        for _ in range(int(seconds / 5)):
            clock.advance(5)
            yard.daemon.inbox.wake()
            looked = threading.Event()
            looked.wait(0.4)
        return len(manager.lines("WATCHDOG")) - before

    end = time.monotonic() + 30
    while not manager.lines("READY"):
        assert time.monotonic() < end
    assert pinged_within(40) >= 6
    pinged_within(25)
    assert pinged_within(60) == 0
    yard.tick()
    assert pinged_within(20) >= 2
    yard.daemon.inbox.put(Message.STOP)
    main.join(10)
    assert not main.is_alive()
    yard.close()


def test_the_environment_of_the_manager_reaches_no_child(tmp_path: Path, manager: Manager) -> None:
    """A tool must not speak for the daemon: it sees no notify socket and no credentials folder."""
    bot = "tool a:\n  command: `env > FOLDER/seen`\n\nworkflow work:\n  entry: a\n  a -> done\n".replace(
        "FOLDER", str(tmp_path)
    )
    secrets = tmp_path / "credentials"
    secrets.mkdir()
    (secrets / "GITHUB_TOKEN").write_text("hunter2\n")
    site = Site(tmp_path, bot, CONFIG.replace(', vars: {title: "{{card.title}}"}', ""))
    site.do("card", "create", "--title", "x", "--column", "ready")
    given = {
        "NOTIFY_SOCKET": manager.name,
        "CREDENTIALS_DIRECTORY": str(secrets),
        "WATCHDOG_USEC": "1",
        "LISTEN_FDS": "1",
    }
    assert site.run("dispatch", "--once", "--no-server", **given) == 0
    seen = (tmp_path / "seen").read_text()
    assert "PATH=" in seen
    for name in ("NOTIFY_SOCKET", "CREDENTIALS_DIRECTORY", "WATCHDOG_USEC", "hunter2"):
        assert name not in seen, name
    assert os.environ.get("NOTIFY_SOCKET") is None
