"""The process of one run, for ``runs.isolation: process``: takes an order on stdin, executes it, ends.

Started by ``dispatcher/isolated.py`` with the run's lock among its descriptors. It says on stdout when the run is its
own and waits for the answer; when the daemon is gone by then, it goes on: the run is the lock's holder's. SIGTERM
interrupts the run. It is no verb.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from config.environment import process_environment
from dispatcher.cli.session import Session
from dispatcher.isolated import CLAIMED, INTERRUPT_LEASE_LOST, SIGNS, STOP, refusal_line, request_of
from engine.errors import EngineError

if TYPE_CHECKING:
    from engine.api import Engine

EVERY = 1.0
"""Seconds between two looks for a sign of life."""


def main() -> int:
    """Execute the order; 0 when the run stopped somewhere, 1 when it was refused."""
    order = json.loads(sys.stdin.readline() or "null")
    if order is None:
        return 0  # nobody wants it any more
    session = _session(Path(sys.argv[1]), sys.argv[2])
    try:
        engine = session.wiring().engine
        _heed_signals(engine)
        with _signs(engine, order["run_id"], session.store_dir):
            _execute(engine, order, _claimed(engine, order["run_id"]))
    except EngineError as problem:
        _say(refusal_line(problem))
        return 1
    finally:
        session.close()
    return 0


def _session(store_dir: Path, config: str) -> Session:
    session = Session(process_environment())
    session.given_store_dir = store_dir
    if config:
        session.use_config(Path(config))
    session.start_logging()
    return session


def _execute(engine: Engine, order: dict[str, Any], claimed: Callable[[], None]) -> None:
    from engine.api import LaunchRequest

    run_id, lock = order["run_id"], order["lock"]
    if order["kind"] == "resume":
        engine.resume(request_of(order, claimed))
        return
    values = order["vars"]
    request = LaunchRequest(
        Path(order["bot"]),
        Path(order["workspace"]),
        vars={name: value for name, value in values.items() if isinstance(value, str)},
        typed_vars={name: value for name, value in values.items() if not isinstance(value, str)},
        run_id=run_id,
        name=order["name"],
        claimed=claimed,
        lock_fd=lock,
    )
    engine.launch(request)


def _claimed(engine: Engine, run_id: str) -> Callable[[], None]:
    """Say that the run is ours; stop it when its card is another daemon's by now."""

    def claimed() -> None:
        _say(CLAIMED)
        if sys.stdin.readline().strip() == STOP:
            engine.interrupt(run_id, INTERRUPT_LEASE_LOST)

    return claimed


def _say(line: str) -> None:
    """One line to the daemon, if it still listens."""
    with suppress(OSError):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def _heed_signals(engine: Engine) -> None:
    signal.signal(signal.SIGTERM, lambda number, _frame: engine.interrupt_all(signal.Signals(number).name))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _signs:  # noqa: N801 - a context, read as a phrase
    """Touches a file whenever the run showed a sign of life, so that the daemon sees one."""

    def __init__(self, engine: Engine, run_id: str, store_dir: Path) -> None:
        self._engine, self._run_id = engine, run_id
        self._file = store_dir / "runs" / run_id / SIGNS
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="signs", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        last: float | None = None
        while not self._ended.wait(EVERY):
            sign = self._engine.last_sign(self._run_id)
            if sign != last:
                last = sign
                with suppress(OSError):
                    self._file.touch(mode=0o600)


if __name__ == "__main__":
    sys.exit(main())
