"""Real ``pointsman`` processes over one folder: for what only a signal or a crash can show."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.kit.cli import pointsman

PATIENCE = 90.0
"""Seconds for which a fact is waited for on a busy machine."""
CONFIG = """
name: accept
boards: [{name: native, kind: native, bot: bots/work.bot, vars: {title: "{{card.title}}"}}]
tick: {interval: 100ms}
retry: {max_attempts: 3, base: 100ms, cap: 300ms}
runs: {orphan_grace: 1s}
shutdown: {grace: 1s}
"""


class Site:
    """A folder with a configuration, a bot and a store; verbs run as processes of their own."""

    def __init__(self, folder: Path, bot: str, config: str = CONFIG) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen[bytes]] = []
        (folder / "bots").mkdir()
        (folder / "bots" / "work.bot").write_text(bot)
        (folder / "pointsman.yaml").write_text(config)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start a verb in the background; its output goes to ``output`` in the folder."""
        return self.launch("dispatcher.cli", *arguments, **environment)

    def launch(self, module: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        """As ``start``, by another module than the product's own."""
        given = {name: value for name, value in os.environ.items() if not name.startswith("POINTSMAN_")}
        output = (self.folder / "output").open("ab")
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=self.folder,
            env={**given, "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            start_new_session=True,
        )
        output.close()
        self._started.append(process)
        return process

    def run(self, *arguments: str, **environment: str) -> int:
        """Run a verb to its end as a process; the exit code, negative after a signal."""
        process = self.start(*arguments, **environment)
        process.communicate(timeout=PATIENCE)
        return process.returncode

    def do(self, *arguments: str) -> int:
        """What a person does beside the daemon, over the same store but without a process of its own."""
        return pointsman(self.folder, *arguments).code

    def read(self, *arguments: str) -> Any:
        """The JSON document of a verb, read beside the daemon."""
        answer = pointsman(self.folder, *arguments, "--json")
        assert answer.code == 0, answer.err
        return answer.document

    def once(self, crash_at: str = "") -> int:
        """One bounded dispatch, dying right behind a point when one is named."""
        testing = {"POINTSMAN_TESTING": "1", "POINTSMAN_CRASH_AT": crash_at} if crash_at else {}
        return self.run("dispatch", "--once", "--no-server", **testing)

    def card(self, number: int = 1) -> Any:
        """The card's document."""
        return self.read("card", "show", str(number))

    def trace(self, name: str = "trace") -> list[str]:
        """The lines that runs left behind."""
        path = self.folder / name
        return path.read_text().split() if path.exists() else []

    def logged(self, event: str) -> list[Any]:
        """Lines of that event, of all daemons of the site."""
        lines = (self.folder / "output").read_text().splitlines()
        found = (json.loads(line) for line in lines if line.startswith("{"))
        return [line for line in found if line.get("event") == event]

    def until(self, holds: Callable[[], bool], again: Callable[[], object] | None = None) -> None:
        """Look again and again until it holds, doing ``again`` in between."""
        end, looking = time.monotonic() + PATIENCE, threading.Event()
        while not holds():
            assert time.monotonic() < end, (self.folder / "output").read_text()[-2000:]
            if again is not None:
                again()
            looking.wait(0.05)

    def close(self) -> None:
        """End what is left."""
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)
            if process.stdout is not None:
                process.stdout.close()
