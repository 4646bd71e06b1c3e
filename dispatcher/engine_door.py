"""The engine as the dispatcher asks for it: ``station.EngineDoor`` over ``engine.api`` and the store.

Made in ``wiring``. Compiled bots are remembered by the look of their files, so that a tick over many cards compiles
each bot once. Nothing here decides; a question that cannot be answered is answered on the side of doubt.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from dispatcher.bots import Bots
from dispatcher.candidate import Problem
from dispatcher.reasons import Reason
from dispatcher.station import Child, LaunchOrder
from engine import states
from engine.api import Engine, LaunchRequest, PromotionKind, ResumeRequest
from engine.dsl.graph import AgentNode, SignalNode, ToolNode
from engine.errors import EngineError, InvalidVars, SourceInvalid, SourceMissing
from engine.events import Event, EventType
from engine.outcome import RECOVERY
from engine.ports import Clock
from engine.process import TERM_GRACE, signal_group
from engine.run import Owner
from engine.store.groups import Groups
from engine.store.locks import held
from engine.store.owners import owner_alive
from engine.store.store import Store

_TAIL = 60
"""How many of the newest events are looked through for the last one of a kind."""


class EngineRuns:
    """Implements ``station.EngineDoor``."""

    def __init__(self, engine: Engine, store: Store, clock: Clock, grace: float, bots: Bots) -> None:
        self._engine = engine
        self._store = store
        self._clock = clock
        self._grace = grace
        self._bots = bots
        self._asked_to_end: dict[str, float] = {}

    def launch(self, order: LaunchOrder, claimed: Callable[[], None]) -> None:
        """Execute a fresh run until it stops."""
        self._engine.launch(_request(order.bot, order.workspace, order.vars, order, claimed))

    def resume(self, run_id: str, attended: bool, claimed: Callable[[], None], outcome: int = -1, by: str = "") -> None:
        """Execute the next attempt until it stops; answers that were recorded and not consumed go with it (R13)."""
        record = self._store.runs.get(run_id)
        answers = self._recorded(run_id) if states.requires_answers(record.status) else None
        self.take_up(ResumeRequest(run_id, answers=answers, attended=attended, by=by, only=outcome, claimed=claimed))

    def take_up(self, request: ResumeRequest) -> None:
        """Execute a resume as somebody asked for it, until it stops."""
        self._engine.resume(request)

    def promote(self, run_id: str, *, from_ahead: bool = False) -> bool:
        """Promote an orphan under its lock; a claim from ahead of our clock has waited its graces already."""
        grace = -math.inf if from_ahead else self._grace
        return self._engine.promote(run_id, grace).kind is PromotionKind.PROMOTED

    def interrupt(self, run_id: str, cause: str) -> bool:
        """Stop a run that executes here."""
        return self._engine.interrupt(run_id, cause)

    def probe_effect(self, effect_id: str) -> object:
        """Ask the forge about a call in doubt."""
        return self._engine.probe_effect(effect_id)

    def executing(self) -> Collection[str]:
        """Runs that execute in this process."""
        return self._engine.executing()

    def lock_held(self, run_id: str) -> bool:
        """Whether anybody holds the run's lock."""
        return held(self._store.root, run_id)

    def isolated(self) -> bool:
        """Not here: a run is a thread."""
        return False

    def kill(self, run_id: str) -> bool:
        """Nothing: a thread cannot be killed."""
        del run_id
        return False

    def owner_alive(self, owner: Owner) -> bool:
        """Whether the recorded process may still live."""
        return owner_alive(owner)

    def silent_for(self, run_id: str) -> float:
        """Seconds since the last sign of life; 0 while the node in flight has a limit of its own."""
        last = self._engine.last_sign(run_id)
        if last is None:
            return 0.0
        silent = self._clock.monotonic() - last
        return 0.0 if silent > 1 and self._own_limit(run_id) else silent

    def _own_limit(self, run_id: str) -> bool:
        """Whether the node in flight has a limit of its own; a run that is not stored yet may take its time too."""
        try:
            record = self._store.runs.get(run_id)
        except EngineError:
            return True
        started = self._last(run_id, EventType.NODE_STARTED)
        loaded = self._bots.loaded(Path(record.file_path))
        if started is None or loaded is None or loaded.graph is None:
            return False
        node = loaded.graph.nodes.get(started.node_id)
        return isinstance(node, ToolNode | AgentNode | SignalNode) and bool(node.timeout or node.timeout_text)

    def source_changed(self, path: str, digest: str) -> bool:
        """Whether the source is another by now; one that is gone is."""
        loaded = self._bots.loaded(Path(path))
        return loaded is None or bool(digest and loaded.digest and loaded.digest != digest)

    def problem(self, bot: Path, values: Mapping[str, object]) -> Problem | None:
        """The first diagnostic of the bot, or the first value that does not fit it."""
        request = _request(bot, Path(), values)
        return self._bots.checked(bot, values, lambda: self._check(request))

    def _check(self, request: LaunchRequest) -> Problem | None:
        try:
            self._engine.check_launch(request)
        except InvalidVars as error:
            return Problem(Reason.VARS_INVALID, {"var": "vars", "problem": error.message})
        except (SourceInvalid, SourceMissing) as error:
            place, _, rest = error.message.partition(": ")
            file, _, line = place.partition(":")
            known = bool(rest) and line.split(":")[0].isdigit()
            told = {"file": file, "line": line.split(":")[0], "diagnostic": rest}
            plain = {"file": request.file.name, "line": 1, "diagnostic": error.message}
            return Problem(Reason.BOT_INVALID, told if known else plain)
        return None

    def declared(self, bot: Path) -> frozenset[str] | None:
        """The names of the vars that the bot declares; None for a bot that does not compile."""
        loaded = self._bots.loaded(bot)
        return frozenset(loaded.graph.vars) if loaded is not None and loaded.graph is not None else None

    def children(self, run_id: str) -> tuple[Child, ...]:
        """The recorded groups that still work, else whoever else holds the run's lock."""
        known = tuple(Child(group.leader, _command(group.leader), True) for group in self._groups(run_id))
        return known or _holders(self._store.root / "runs" / run_id / ".lock")

    def stop_children(self, run_id: str) -> int:
        """SIGTERM to each recorded group, SIGKILL to what is left of it five seconds later."""
        groups = self._groups(run_id)
        first = self._asked_to_end.setdefault(run_id, self._clock.monotonic())
        waited = self._clock.monotonic() - first
        if 0 < waited < TERM_GRACE:
            return 0
        number = signal.SIGKILL if waited >= TERM_GRACE else signal.SIGTERM
        return sum(signal_group(group.leader, number) for group in groups)

    def _groups(self, run_id: str):  # type: ignore[no-untyped-def]
        return Groups(self._store.root, run_id).alive()

    def question(self, run_id: str) -> str:
        """What the run asks: the node and its fields; of one that waits behind a failure also what failed."""
        head = self._store.checkpoints.head(run_id)
        if head is None or head.pending is None:
            return "something that its checkpoint does not tell"
        asked = head.pending
        names = ", ".join(f"{field.get('name')} ({field.get('type')})" for field in asked.fields)
        told = f": {names}" if names else ""
        if asked.kind == RECOVERY:
            known = asked.questions
            failed = f"failed with {known.get('recovery_code')}: {str(known.get('last_error', '')).rstrip('.')}"
            return f"{asked.node_id} {failed}; repair it, then tell it so{told}"
        return f"{asked.node_id}{told}"

    def at_node(self, run_id: str) -> str:
        """The node at which the run is: the one that it executes, or the last one that it completed."""
        head = self._store.checkpoints.head(run_id)
        return head.node_id if head is not None else ""

    def answered(self, run_id: str) -> bool:
        """Whether answers to the pending question are recorded and not consumed."""
        return self._recorded(run_id) is not None

    def _recorded(self, run_id: str) -> Mapping[str, object] | None:
        head = self._store.checkpoints.head(run_id)
        if head is None or head.pending is None:
            return None
        found = self._store.interactions.get(run_id, head.pending.node_id, head.pending.interaction_id)
        return found.answers if found is not None and found.retired_at is None else None

    def interrupt_cause(self, run_id: str) -> str:
        """By what the run was interrupted last."""
        found = self._last(run_id, EventType.RUN_INTERRUPTED)
        return str(found.data.get("reason", "")) if found else ""

    def pause_reason(self, run_id: str) -> str:
        """Why the run was paused; a plain pause is a person's."""
        found = self._last(run_id, EventType.RUN_PAUSED)
        return str(found.data.get("reason") or "by a person") if found else "by a person"

    def budget_stop(self, run_id: str) -> Mapping[str, object]:
        """The axis of the budget that stopped the run, and how much of what."""
        found = self._last(run_id, EventType.BUDGET_EXCEEDED)
        data = found.data if found else {}
        return {"axis": data.get("dimension", ""), "used": data.get("used", 0), "limit": data.get("limit", 0)}

    def _last(self, run_id: str, kind: EventType) -> Event | None:
        try:
            newest = self._store.runs.get(run_id).event_seq
            events = [*self._store.timeline.events(run_id, max(0, newest - _TAIL))]
        except EngineError:
            return None
        return next((event for event in reversed(events) if event.type == kind), None)


def _request(
    bot: Path,
    workspace: Path,
    values: Mapping[str, object],
    order: LaunchOrder | None = None,
    claimed: Callable[[], None] | None = None,
) -> LaunchRequest:
    texts = {name: value for name, value in values.items() if isinstance(value, str)}
    typed = {name: value for name, value in values.items() if not isinstance(value, str)}
    if order is None or claimed is None:
        return LaunchRequest(bot, workspace, texts, typed)
    return LaunchRequest(bot, workspace, texts, typed, run_id=order.run_id, name=order.name, claimed=claimed)


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""
    return " ".join(words.split())[:80]


def _holders(lock: Path) -> tuple[Child, ...]:
    """Processes that have the lock file open; nothing where that cannot be told."""
    found = []
    for folder in Path("/proc").glob("[0-9]*/fd"):
        try:
            open_here = any(link.readlink() == lock for link in folder.iterdir())
        except OSError:
            continue
        if open_here:
            pid = int(folder.parent.name)
            found.append(Child(pid, _command(pid), False))
    return tuple(found)
