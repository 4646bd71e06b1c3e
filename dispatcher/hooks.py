"""People's scripts around a card's runs: built environment, own process group, real limit (dispatcher.md 22).

Called by starting (``after_create``, ``before_run``), settling (``after_run``) and cleaning (``before_remove``). The
environment is made from nothing; no secret of the daemon is passed. Whether a failure matters is the caller's to say.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from config.settings import HookSettings
from connectors.card import Card
from dispatcher.commands import Command, run_command
from engine.ports import Clock

KEPT = ("PATH", "HOME", "LANG", "TZ")
"""What a hook sees of the daemon's environment."""
_TAIL = 400


class Hook(StrEnum):
    """The four moments."""

    AFTER_CREATE = "after_create"
    BEFORE_RUN = "before_run"
    AFTER_RUN = "after_run"
    BEFORE_REMOVE = "before_remove"


@dataclass(frozen=True, slots=True)
class HookEnd:
    """How a hook ended: ``ok``, or why not in one line, and after how long; ``stopped`` by a stop of the daemon."""

    ok: bool
    why: str = ""
    seconds: float = 0.0
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """For which card and attempt a hook runs; ``status`` and ``code`` are set for ``after_run``."""

    card: Card
    run_id: str
    attempt: int
    workspace: Path
    store_dir: Path
    document: Mapping[str, object]
    status: str = ""
    code: str = ""
    stop: threading.Event = field(default_factory=threading.Event)
    """Ends the hook early, when set."""


def environment(call: Call, base: Mapping[str, str], card_file: Path) -> dict[str, str]:
    """The whole environment of a hook."""
    made = {name: base[name] for name in KEPT if name in base}
    told = {
        "CARD_ID": call.card.id,
        "CARD_NUMBER": str(call.card.number),
        "CARD_TITLE": call.card.title,
        "BOARD": call.card.board,
        "COLUMN": call.card.column or "",
        "RUN_ID": call.run_id,
        "ATTEMPT": str(call.attempt),
        "WORKSPACE": str(call.workspace),
        "STORE_DIR": str(call.store_dir),
        "CARD_FILE": str(card_file),
    }
    if call.status:
        told |= {"RUN_STATUS": call.status, "FAILURE_CODE": call.code}
    return made | {f"POINTSMAN_{name}": _plain(value) for name, value in told.items()}


def _plain(text: str) -> str:
    """Text as an environment can hold it."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def run_hook(settings: HookSettings, call: Call, base: Mapping[str, str], clock: Clock) -> HookEnd:
    """Run one hook to its end or its limit; never raises for what the hook does."""
    folder = call.store_dir / "runs" / call.run_id
    card_file = folder / "card.json"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        card_file.write_text(json.dumps(call.document, ensure_ascii=False), encoding="utf-8")
        card_file.chmod(0o600)
        argv = ("sh", "-c", settings.script) if settings.script is not None else (str(settings.path),)
        given = environment(call, base, card_file)
        command = Command(argv, call.workspace, given, settings.timeout, folder / "output", "hook", call.stop)
        end = run_command(command, clock)
    except OSError as error:
        return HookEnd(ok=False, why=error.strerror or str(error))
    if end.stopped:
        return HookEnd(False, "it was stopped: the daemon stops", end.seconds, stopped=True)
    if end.timed_out:
        return HookEnd(False, f"it was killed after its limit of {settings.timeout:g} s", end.seconds)
    if end.code != 0:
        said = " ".join(end.err.split())[-_TAIL:]
        return HookEnd(False, f"it ended with {end.code}" + (f": {said}" if said else ""), end.seconds)
    return HookEnd(True, "", end.seconds)
