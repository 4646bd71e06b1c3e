"""Lines in the journal's own protocol, with their keys as fields."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatcher import journald, log


def read(datagram: bytes) -> dict[str, str]:
    """A datagram as the journal reads it: ``NAME=value``, or ``NAME``, a length in eight bytes and the value."""
    found: dict[str, str] = {}
    while datagram:
        end = datagram.index(b"\n")
        name, equals, value = datagram[:end].partition(b"=")
        if equals:
            found[name.decode()], datagram = value.decode(), datagram[end + 1 :]
            continue
        size = int.from_bytes(datagram[end + 1 : end + 9], "little")
        found[name.decode()] = datagram[end + 9 : end + 9 + size].decode()
        datagram = datagram[end + 10 + size :]
    return found


@pytest.fixture
def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "journal"))
        listener.settimeout(5)
        monkeypatch.setattr(journald.JournalHandler.__init__, "__defaults__", (tmp_path / "journal",))
        yield listener
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_line_is_an_entry_whose_keys_can_be_asked_for(heard: socket.socket) -> None:
    log.configure(form="journald")
    log.get("x").warning("run.settled", run_id="r1", card_id="c1", error="two\nlines", attempt=2, nothing=None)
    found = read(heard.recv(1 << 16))
    assert found == {
        "MESSAGE": "run.settled run_id=r1 card_id=c1 error=two\nlines attempt=2 nothing=None",
        "PRIORITY": "4",
        "SYSLOG_IDENTIFIER": "pointsman",
        "LOGGER": "x",
        "POINTSMAN_EVENT": "run.settled",
        "POINTSMAN_RUN_ID": "r1",
        "POINTSMAN_CARD_ID": "c1",
        "POINTSMAN_ERROR": "two\nlines",
        "POINTSMAN_ATTEMPT": "2",
    }


def test_lines_of_libraries_come_along_with_their_priority(heard: socket.socket) -> None:
    log.configure(form="journald", level="debug")
    for level, priority in ((logging.DEBUG, "7"), (logging.INFO, "6"), (logging.ERROR, "3"), (logging.CRITICAL, "2")):
        logging.getLogger("library").log(level, "said %s", priority)
        found = read(heard.recv(1 << 16))
        assert (found["MESSAGE"], found["PRIORITY"], found["LOGGER"]) == (f"said {priority}", priority, "library")


def test_a_value_that_is_too_long_is_cut_and_a_journal_that_is_gone_costs_the_line(heard: socket.socket) -> None:
    """D194."""
    log.configure(form="journald")
    log.get("x").info("a.b", text="y" * 500_000)
    assert len(read(heard.recv(1 << 20))["POINTSMAN_TEXT"]) == journald.LONGEST
    heard.close()
    log.get("x").info("c.d")


def test_the_journal_is_known_by_its_device_and_inode(tmp_path: Path) -> None:
    with (tmp_path / "stream").open("w") as stream:
        found = os.fstat(stream.fileno())
        assert journald.is_journal(stream, f"{found.st_dev}:{found.st_ino}")
        assert not journald.is_journal(stream, f"{found.st_dev}:1")
        assert not journald.is_journal(stream, "")
    assert not journald.is_journal(stream, "8:1")
