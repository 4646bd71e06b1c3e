"""Runs in processes of their own: they outlive the daemon, and are found again by their locks (dispatcher.md 13).

``station.EngineDoor`` for ``runs.isolation: process``. The slot's thread takes the run's lock, starts the process,
which inherits it, and waits until it has ended; the daemon itself keeps nothing of the lock. Everything else that is
asked of the engine is asked as for threads. A stop reaches the process through the run's row.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dispatcher.engine_door import EngineRuns
from dispatcher.station import INTERRUPT_LEASE_LOST, LaunchOrder
from engine import errors, states
from engine.api import ResumeRequest
from engine.detached import Detached, start
from engine.errors import EngineError, LeaseLost, LockHeld
from engine.process import signal_group
from engine.run import BudgetAsk
from engine.store.changes import StopKind
from engine.store.groups import Groups
from engine.store.locks import RunLock
from engine.store.owners import is_here, owner_here

SIGNS = ".signs"
"""File of a run's folder that its process touches when something moved."""
LOG = "process.log"
MODULE = "dispatcher.cli.run_process"
OURS_ALONE = (sys.executable, "-P", "-m", MODULE)
"""How a run's process is begun: ``-P``, since a folder ``dispatcher`` where the daemon works is somebody else's."""
CLAIMED, GO, STOP = "claimed", "go", "stop"
"""What the process says when the run is its own, and the two answers to that."""


@dataclass(frozen=True, slots=True)
class Surrounding:
    """What a process is started with: the store, the configuration file (empty for none), the environment."""

    store_dir: Path
    store_url: str
    config: str
    environment: Mapping[str, str]


class IsolatedRuns(EngineRuns):
    """Implements ``station.EngineDoor``."""

    around: Surrounding
    _seen: dict[str, tuple[object, float]]

    def within(self, around: Surrounding) -> IsolatedRuns:
        """Say what processes are started with; itself."""
        self.around, self._seen = around, {}
        return self

    def launch(self, order: LaunchOrder, claimed: Callable[[], None]) -> None:
        """Execute a fresh run in a process, until it has ended."""
        given = {"bot": str(order.bot), "workspace": str(order.workspace), "vars": dict(order.vars), "name": order.name}
        self._execute(order.run_id, {"kind": "launch", **given}, claimed)

    def resume(self, run_id: str, attended: bool, claimed: Callable[[], None], outcome: int = -1, by: str = "") -> None:
        """Execute the next attempt in a process, until it has ended."""
        record = self._store.runs.get(run_id)
        answers = self._recorded(run_id) if states.requires_answers(record.status) else None
        self.take_up(ResumeRequest(run_id, answers=answers, attended=attended, by=by, only=outcome, claimed=claimed))

    def take_up(self, request: ResumeRequest) -> None:
        """Execute a resume as somebody asked for it in a process, until it has ended."""
        self._execute(request.run_id, order_of(request), request.claimed)

    def interrupt(self, run_id: str, cause: str) -> bool:
        """Write the cause into the run's row, which its process watches."""
        return super().interrupt(run_id, cause) or self._store.runs.request_stop(run_id, StopKind.INTERRUPT, cause)

    def silent_for(self, run_id: str) -> float:
        """Seconds since the last sign of life that was seen from here; 0 while the node has a limit of its own."""
        if run_id in self.executing():
            return super().silent_for(run_id)
        try:
            sign: object = (self._folder(run_id) / SIGNS).stat().st_mtime_ns
        except OSError:
            sign = None
        now = self._clock.monotonic()
        known = self._seen.get(run_id)
        if known is None or known[0] != sign:
            self._seen[run_id] = (sign, now)
            return 0.0
        silent = now - known[1]
        return 0.0 if silent > 1 and self._own_limit(run_id) else silent

    def isolated(self) -> bool:
        """Yes."""
        return True

    def kill(self, run_id: str) -> bool:
        """SIGKILL to the run's process and the groups that it started, where their identity is the recorded one."""
        owner = self._store.runs.get(run_id).owner
        if not is_here(owner) or owner.pid == owner_here().pid or not self.owner_alive(owner):
            return False
        signal_group(owner.pid, signal.SIGKILL)
        for group in Groups(self._store.root, run_id).alive():
            signal_group(group.leader, signal.SIGKILL)
        return True

    def _folder(self, run_id: str) -> Path:
        return self._store.root / "runs" / run_id

    def _execute(self, run_id: str, order: Mapping[str, object], claimed: Callable[[], None]) -> None:
        lock = RunLock(self._store.root, run_id, owner_here())
        if not lock.acquire():
            raise LockHeld(f"the lock of run {run_id} is held by {lock.holder_text()}", "wait until it has ended")
        try:
            process = self._started(lock)
        except OSError as problem:
            lock.release()
            raise EngineError(f"no process could be started: {problem.strerror}", "look at limits and memory") from None
        process.tell(json.dumps({**order, "run_id": run_id, "lock": lock.fileno()}))
        lock.let_go()
        try:
            self._converse(process, claimed)
        finally:
            process.wait()
            self._seen.pop(run_id, None)

    def _started(self, lock: RunLock) -> Detached:
        around = self.around
        argv = [*OURS_ALONE, str(around.store_dir), around.config]
        environment = {**around.environment, "POINTSMAN_STORE_URL": around.store_url}
        return start(argv, environment, [lock.fileno()], self._folder(lock.run_id) / LOG)

    def _converse(self, process: Detached, claimed: Callable[[], None]) -> None:
        """Hear whether the run was claimed, and say whether it is wanted still. Raises what the process refused."""
        said = process.hear()
        if said != CLAIMED:
            raise _refusal(said)
        try:
            claimed()
        except LeaseLost:
            process.tell(STOP)
            raise
        process.tell(GO)


def order_of(request: ResumeRequest) -> dict[str, object]:
    """A resume as the process is told it; its lock and its id are added by who starts the process."""
    return {
        "kind": "resume",
        "answers": None if request.answers is None else dict(request.answers),
        "texts": dict(request.texts),
        "file": str(request.file) if request.file is not None else None,
        "force": request.force,
        "ask": asdict(request.ask),
        "attended": request.attended,
        "by": request.by,
        "only": request.only,
    }


def request_of(order: Mapping[str, Any], claimed: Callable[[], None]) -> ResumeRequest:
    """The resume that the order tells."""
    return ResumeRequest(
        run_id=order["run_id"],
        file=Path(order["file"]) if order["file"] is not None else None,
        texts=order["texts"],
        answers=order["answers"],
        force=order["force"],
        ask=BudgetAsk(**order["ask"]),
        attended=order["attended"],
        by=order["by"],
        only=order["only"],
        claimed=claimed,
        lock_fd=order["lock"],
    )


def refusal_line(problem: EngineError) -> str:
    """A refusal as the process says it."""
    return json.dumps({"code": problem.code, "message": problem.message, "hint": problem.hint})


def _refusal(said: str) -> EngineError:
    """The refusal as the engine would have raised it here."""
    try:
        told = json.loads(said)
        made = _BY_CODE.get(told["code"], EngineError)
        return made(str(told["message"]), str(told["hint"]))
    except (ValueError, TypeError, KeyError):
        return EngineError("the process of the run ended before it had the run", f"look into its {LOG}")


_BY_CODE = {
    each.code: each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, EngineError) and each is not EngineError
}
__all__ = [
    "CLAIMED",
    "INTERRUPT_LEASE_LOST",
    "SIGNS",
    "STOP",
    "IsolatedRuns",
    "Surrounding",
    "order_of",
    "refusal_line",
    "request_of",
]
