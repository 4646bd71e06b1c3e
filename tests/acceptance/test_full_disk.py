"""A real daemon whose store and log lie on a small file system of their own, which fills up and is freed again."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.kit.daemons import CONFIG, Site
from tests.kit.yard import waits

ALONE = ("unshare", "--map-root-user", "--mount")
SIZE = "24m"
"""Of the file system; a store wants four MiB of it free."""


def refused() -> str:
    """Why no file system can be mounted here; empty when one can."""
    if shutil.which(ALONE[0]) is None:
        return "there is no unshare"
    tried = subprocess.run(
        [*ALONE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True, check=False
    )
    return tried.stderr.strip()


pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(refused()), reason=f"A FULL DISK IS NOT TESTED: {refused()}"),
]


class SmallDisk(Site):
    """A site whose daemon alone sees the file system; others reach it through the daemon's root."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, waits(folder), CONFIG + "store: {dir: disk/store}\n")
        (folder / "disk").mkdir()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def begin(self) -> subprocess.Popen[bytes]:
        """Mount, then become the daemon, its log on the same file system."""
        verb = [sys.executable, "-m", "dispatcher.cli", "--log-format", "json", "dispatch", "--port", str(self.port)]
        script = f"mount -t tmpfs -o size={SIZE} none disk && exec {shlex.join(verb)} 2>>disk/log"
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        argv = [*ALONE, "sh", "-c", script]
        self.daemon = subprocess.Popen(argv, cwd=self.folder, env=environment, start_new_session=True)
        self._started.append(self.daemon)
        self.until(lambda: self.ask("/healthz") is not None)
        return self.daemon

    @property
    def disk(self) -> Path:
        """The file system, as the daemon sees it."""
        return Path(f"/proc/{self.daemon.pid}/root{self.folder}/disk")

    def ask(self, path: str, body: object = None) -> Any:
        """A document of the daemon's, None while it does not answer."""
        url = f"http://127.0.0.1:{self.port}{path}"
        with suppress(httpx.HTTPError):
            answer = httpx.get(url) if body is None else httpx.post(url, json=body)
            return answer.json()
        return None

    def fill(self) -> None:
        """Leave not one byte."""
        with (self.disk / "ballast").open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * 4096)

    def degraded(self) -> bool:
        found = self.ask("/api/dispatcher")
        return found is not None and "store_degraded" in [each["code"] for each in found["degraded"]]

    def beside(self, *arguments: str) -> int:
        """The exit code of a verb where the daemon is."""
        there = ("nsenter", "--target", str(self.daemon.pid), "--user", "--mount", "--preserve-credentials")
        verb = shlex.join([sys.executable, "-m", "dispatcher.cli", *arguments])
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        script = f"cd {self.folder} && exec {verb}"
        return subprocess.run([*there, "sh", "-c", script], env=environment, check=False, timeout=90).returncode

    def columns(self) -> list[str]:
        return [each["column"] for each in self.ask("/api/cards")["cards"]]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[SmallDisk]:
    made = SmallDisk(tmp_path)
    yield made
    (tmp_path / "go").touch()
    made.close()


def test_f44_a_full_disk_ends_no_daemon_and_what_it_held_goes_on_when_it_is_freed(site: SmallDisk) -> None:
    """F44 D193 D194: full during ticks and during a checkpoint, the log on it too. Nothing new is claimed, the run in
    flight is not lost, and every card is done when there is space."""
    daemon = site.begin()
    site.ask("/api/cards", {"title": "one", "column": "ready"})
    site.until((site.folder / "started").exists)
    site.fill()
    site.until(site.degraded)
    assert site.ask("/readyz")["ready"] is False
    (site.folder / "go").touch()  # the node ends, and its checkpoint finds no space
    ticks = site.ask("/api/dispatcher")["tick"]["number"]
    site.until(lambda: site.ask("/api/dispatcher")["tick"]["number"] > ticks + 5)
    assert daemon.poll() is None
    assert "error" in site.ask("/api/cards", {"title": "no space", "column": "ready"})
    (site.disk / "ballast").unlink()
    site.ask("/api/cards", {"title": "two", "column": "ready"})
    site.until(lambda: site.columns() == ["review", "review"])
    site.until(lambda: bool(site.ask("/readyz")["ready"]))
    runs = site.ask("/api/runs")["runs"]
    assert [run["status"] for run in runs] == ["finished"] * 2
    assert site.trace().count("x") in (2, 3), "the node whose checkpoint was lost is repeated at most"
    assert site.beside("db", "check") == 0
    assert daemon.poll() is None
