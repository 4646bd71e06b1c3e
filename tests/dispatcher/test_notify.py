from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatcher.notify import STATUS_LENGTH, Notifier
from tests.kit.clock import FakeClock


@pytest.fixture(params=["path", "abstract"])
def listener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    if request.param == "abstract" and os.uname().sysname != "Linux":
        pytest.skip("abstract sockets are Linux's")
    name = str(tmp_path / "notify") if request.param == "path" else f"\0pointsman-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(name)
        receiver.settimeout(5)
        yield receiver, name.replace("\0", "@")


def test_messages_reach_a_path_and_an_abstract_socket(listener: tuple[socket.socket, str], clock: FakeClock) -> None:
    """D222, D212: one datagram each."""
    receiver, name = listener
    sender = Notifier({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "90000000"}, clock)
    assert sender.watchdog_seconds == 90
    sender.status("waiting\nfor the store")
    sender.ready("up")
    sender.reloading()
    sender.extend(5)
    sender.watchdog()
    assert [receiver.recv(4096).decode() for _ in range(5)] == [
        "STATUS=waiting for the store",
        "READY=1\nSTATUS=up",
        f"RELOADING=1\nMONOTONIC_USEC={int(clock.monotonic() * 1e6)}",
        "EXTEND_TIMEOUT_USEC=5000000",
        "WATCHDOG=1",
    ]


def test_a_reload_before_the_first_tick_says_no_ready(listener: tuple[socket.socket, str], clock: FakeClock) -> None:
    """D208, D212: systemd would take the unit for started."""
    receiver, name = listener
    sender = Notifier({"NOTIFY_SOCKET": name}, clock)
    sender.reloading()
    sender.reloaded("waiting for the first tick")
    sender.ready("up")
    sender.reloading()
    sender.reloaded("up again")
    told = [receiver.recv(4096).decode().split("\n")[0] for _ in range(4)]
    assert told == ["STATUS=waiting for the first tick", "READY=1", "RELOADING=1", "READY=1"]


def test_after_stopping_there_is_no_ready_and_no_watchdog(
    listener: tuple[socket.socket, str], clock: FakeClock
) -> None:
    """D213: STOPPING once, no ping after it."""
    receiver, name = listener
    sender = Notifier({"NOTIFY_SOCKET": name}, clock)
    sender.stopping("draining 2 runs")
    sender.stopping("again")
    sender.watchdog()
    sender.ready("no")
    sender.reloading()
    sender.status("x" * 500)
    assert receiver.recv(4096).decode() == "STOPPING=1\nSTATUS=draining 2 runs"
    assert len(receiver.recv(4096).decode()) == len("STATUS=") + STATUS_LENGTH


@pytest.mark.parametrize("name", ["", "relative", "/nowhere/at/all", "@nobody-listens-here"])
def test_a_missing_or_refusing_socket_is_silent(name: str, clock: FakeClock) -> None:
    """D222."""
    sender = Notifier({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "nonsense"}, clock)
    sender.ready("up")
    sender.status("still up")
    assert sender.watchdog_seconds == 0


def test_a_full_socket_does_not_block_the_daemon(tmp_path: Path, clock: FakeClock) -> None:
    name = str(tmp_path / "slow")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(name)
        sender = Notifier({"NOTIFY_SOCKET": name}, clock)
        for _ in range(5000):
            sender.watchdog()
