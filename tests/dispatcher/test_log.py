from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from connectors.secrets import Redactor, Secret
from dispatcher import log
from tests.kit.clock import FakeClock


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    log.hide(Redactor())
    root.handlers[:], level = before[0], before[1]
    root.setLevel(level)
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_ours_and_library_lines_share_one_pipe_and_the_bound_ids(clock: FakeClock) -> None:
    """dispatcher.md 34: event, time, level, and the ids where they apply."""
    stream = io.StringIO()
    log.configure(level="info", form="json", stream=stream, clock=clock)
    with log.bound(run_id="r1", card_id="c1", node_id=""):
        log.get("x").info("run.settled", status="finished")
        logging.getLogger("library").warning("retrying %s", "it")
    log.get("x").info("dispatcher.stopped")
    first, second, third = lines(stream)
    assert (first["event"], first["level"], first["run_id"], first["card_id"]) == ("run.settled", "info", "r1", "c1")
    assert first["time"].endswith("Z")
    assert "node_id" not in first
    assert (second["event"], second["run_id"], second["level"]) == ("retrying it", "r1", "warning")
    assert "run_id" not in third


def test_a_terminal_gets_the_console_form_and_a_pipe_json(clock: FakeClock) -> None:
    stream = io.StringIO()
    log.configure(form="console", stream=stream, clock=clock)
    log.get("x").info("run.started", run_id="r1")
    assert not stream.getvalue().startswith("{")
    assert "run.started" in stream.getvalue()
    piped = io.StringIO()
    log.configure(stream=piped, clock=clock)
    log.get("x").info("run.started")
    assert lines(piped)[0]["event"] == "run.started"


def test_levels_below_the_wanted_one_are_left_out(clock: FakeClock) -> None:
    stream = io.StringIO()
    log.configure(level="warning", form="json", stream=stream, clock=clock)
    log.get("x").info("claim.renewed")
    logging.getLogger("library").info("chatter")
    assert stream.getvalue() == ""


class FullDisk(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_a_full_disk_or_a_closed_stream_costs_the_line_only(
    clock: FakeClock, capsys: pytest.CaptureFixture[str]
) -> None:
    log.configure(form="json", stream=FullDisk(), clock=clock)
    log.get("x").error("store.degraded")
    closed = io.StringIO()
    log.configure(form="json", stream=closed, clock=clock)
    closed.close()
    log.get("x").error("store.degraded", strange=object())
    logging.getLogger("library").error("%d", "no number")
    assert capsys.readouterr().err == ""


def test_a_repeated_line_is_written_once_a_minute_and_counted(clock: FakeClock) -> None:
    """dispatcher.md 34."""
    stream = io.StringIO()
    log.configure(form="json", stream=stream, clock=clock)
    logger = log.get("x")
    for _ in range(5):
        logger.warning("board.degraded", board="web")
        clock.advance(10)
    logger.warning("board.degraded", board="other")
    clock.advance(60)
    logger.warning("board.degraded", board="web")
    assert [(line["board"], line.get("repeated")) for line in lines(stream)] == [
        ("web", None),
        ("other", None),
        ("web", 4),
    ]


def test_what_was_remembered_about_repeats_stays_bounded(clock: FakeClock) -> None:
    seen = log.RepeatFilter(clock)
    for number in range(3 * log.REMEMBERED):
        record = logging.LogRecord("x", logging.WARNING, "", 0, f"line {number}", (), None)
        assert seen.filter(record)
    assert len(seen._seen) <= log.REMEMBERED


SECRET = "gh-token-of-the-log-tests"


class Carrying(Exception):
    """An exception with a request attached, as HTTP libraries have them."""

    def __init__(self) -> None:
        super().__init__(f"401 for Authorization: Bearer {SECRET}")
        self.request = {"headers": {"authorization": f"Bearer {SECRET}"}}


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_line_shows_a_secret_wherever_it_stands(clock: FakeClock, form: str) -> None:
    """C141 C142: event, keys, nested values, objects, traces, library lines, down to debug."""
    stream = io.StringIO()
    log.configure(level="debug", form=form, stream=stream, clock=clock)
    log.hide(Redactor([Secret(SECRET)]))
    log.get("x").debug("forge.asked", headers={"authorization": [f"Bearer {SECRET}"]}, url=f"https://me:{SECRET}@h/")
    log.get("x").info("forge.refused", error=Carrying(), plain=SECRET.encode(), count=3, nothing=None)
    try:
        raise Carrying
    except Carrying:
        log.get("x").error("forge.broke", exc_info=True)
        logging.getLogger("library").exception("sent %s", SECRET)
    text = stream.getvalue()
    assert SECRET not in text
    assert text.count("***") >= 6
    assert "forge.broke" in text
    assert "Carrying" in text
