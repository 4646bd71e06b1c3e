"""How a changed configuration is noticed, taken over or refused, and told (dispatcher.md 23)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.load import load
from dispatcher.daemon.changes import merge
from dispatcher.daemon.lookout import Lookout
from tests.kit.clock import FakeClock
from tests.kit.yard import CONFIG, Yard

REFUSED = 'pointsman_config_reloads_total{result="refused"} 1.0'
TAKEN = 'pointsman_config_reloads_total{result="ok"} 1.0'


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock)
    made.daemon.generations.open()
    yield made
    made.daemon.generations.close()
    made.close()


def write(yard: Yard, text: str, age: float = 1.0) -> None:
    """Write the file as if it had been left alone for ``age`` seconds of the yard's clock."""
    path = yard.folder / "pointsman.yaml"
    path.write_text(text)
    then = yard.clock.now().timestamp() - age
    os.utime(path, (then, then))


def config(yard: Yard) -> dict[str, Any]:
    found = yard.daemon.state()["config"]
    assert isinstance(found, dict)
    return found


def test_a_change_is_read_at_once_without_a_tick_and_counted(yard: Yard) -> None:
    """D179, D182: the folder is watched; a refused file is told and counted as one that a signal brought."""
    assert config(yard)["watch"] == "events"
    yard.daemon.look()
    write(yard, CONFIG + "concurency: {}\n")
    yard.daemon.look()
    assert "concurency" in config(yard)["error"]
    assert REFUSED in yard.daemon.metrics.text().decode()
    yard.daemon.look()
    assert REFUSED in yard.daemon.metrics.text().decode(), "once per change"
    write(yard, CONFIG + "concurrency: {max: 2}\n")
    yard.daemon.look()
    yard.tick()
    assert (config(yard)["generation"], config(yard)["error"]) == (2, None)
    assert TAKEN in yard.daemon.metrics.text().decode()


def test_a_file_that_was_just_written_is_left_alone_until_it_is_quiet(yard: Yard, clock: FakeClock) -> None:
    """D182; also when its time lies in the future, as that of a copy from another machine may."""
    for age in (0.0, -3600.0):
        before = yard.daemon.generations.number
        write(yard, CONFIG + f"concurrency: {{max: {before + 6}}}\n", age)
        yard.daemon.look()
        yard.tick()
        assert yard.daemon.generations.number == before
        clock.advance(0.3)
        yard.daemon.look()
        yard.tick()
        assert yard.daemon.generations.number == before + 1


def test_a_file_that_is_gone_is_told_and_the_last_good_one_holds(yard: Yard, clock: FakeClock) -> None:
    path = yard.folder / "pointsman.yaml"
    text = path.read_text()
    path.unlink()
    yard.tick()
    assert config(yard)["error"] is None, "a gap while somebody writes it anew is no error"
    clock.advance(15)
    yard.tick(3)
    assert "cannot be read" in config(yard)["error"]
    assert REFUSED in yard.daemon.metrics.text().decode()
    write(yard, text)
    yard.tick()
    assert (config(yard)["error"], config(yard)["generation"]) == (None, 1)


def test_where_watching_is_refused_each_tick_looks(tmp_path: Path, clock: FakeClock) -> None:
    """D181."""
    blind = Lookout(tmp_path / "not here")
    assert (bool(blind.trouble), blind.heard()) == (True, False)
    yard = Yard(tmp_path, clock)
    write(yard, CONFIG + "concurrency: {max: 2}\n")
    yard.daemon.look()
    assert config(yard)["generation"] == 1
    yard.tick()
    assert (config(yard)["generation"], config(yard)["watch"]) == (2, "polling")
    yard.close()


def test_what_waits_for_a_new_start_is_named_key_by_key(tmp_path: Path) -> None:
    """D180, dispatcher.md 23; names that the Host check accepts apply at once."""
    path = tmp_path / "pointsman.yaml"
    path.write_text("server: {host: 127.0.0.1, port: 1}\n")
    before = load(path, {})
    path.write_text(
        "server: {host: localhost, port: 2, token: $T, allowed_hosts: [board.example]}\nstore: {dir: else}\n"
    )
    merged = merge(before, load(path, {"T": "s3cret-token"}))
    assert merged.restart_required == ("store", "server.host", "server.port", "server.token")
    assert merged.settings.server.allowed_hosts == ("board.example",)
    assert (merged.settings.server.port, merged.settings.server.token) == (1, None)
