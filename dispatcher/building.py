"""From wiring and one generation of settings to a ``Station``: the hands that a tick works with.

Called by the daemon at start and at each reload, by ``--dry-run`` and ``explain``. Slots, memory and the crash points
outlive a generation; everything else is made anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from config.catalogue import find_bot
from config.settings import Settings
from connectors.registry import CLIENTS
from dispatcher.bots import Bots
from dispatcher.crashpoints import CrashPoints
from dispatcher.engine_door import EngineRuns
from dispatcher.gitwork import unsaved
from dispatcher.hooks import run_hook
from dispatcher.isolated import IsolatedRuns, Surrounding
from dispatcher.ledger import Stopwatch
from dispatcher.slots import Slots
from dispatcher.station import Memory, Station
from dispatcher.workspaces import Workspaces
from engine.process import clean_environment
from engine.store.owners import owner_here

if TYPE_CHECKING:
    from connectors.forge.board import LabelBoard
    from dispatcher.wiring import Wiring


@dataclass(frozen=True, slots=True)
class Kept:
    """What outlives a generation: caches, threads, crash points, and the environment that the process was given."""

    memory: Memory
    slots: Slots
    crash: CrashPoints
    environment: Mapping[str, str]


def _engine(wiring: Wiring, settings: Settings, kept: Kept, bots: Bots) -> EngineRuns:
    """Runs as threads of this process, or each in a process of its own."""
    given = (wiring.engine, wiring.store, wiring.clock, settings.runs.orphan_grace, bots)
    if settings.runs.isolation == "thread":
        return EngineRuns(*given)
    config = str(settings.origin.file or "")
    return IsolatedRuns(*given).within(Surrounding(wiring.store_dir, wiring.store_url, config, kept.environment))


def _mirrors(wiring: Wiring, settings: Settings) -> Mapping[str, LabelBoard]:
    """native board -> the forge's board that it mirrors."""
    return {each.name: cast("LabelBoard", wiring.boards[each.mirror]) for each in settings.boards if each.mirror}


def build(wiring: Wiring, settings: Settings, kept: Kept, removed: frozenset[str] = frozenset()) -> Station:
    """The station of these settings; ``removed`` names the boards in them that are only watched."""
    paths, folder = settings.bots.paths, settings.origin.folder
    visible = clean_environment(kept.environment, settings.secret_names)
    outputs = wiring.store_dir / "output"
    clock, tally = wiring.clock, kept.memory.tally
    bots = Bots(clock, wiring.around)
    mirrored = settings.mirrored

    def find(name: str) -> Path | None:
        return find_bot(name, paths, folder)

    return Station(
        settings=settings,
        boards={name: board for name, board in wiring.boards.items() if name not in mirrored},
        mirrors=_mirrors(wiring, settings),
        store=wiring.store,
        store_name=wiring.store_name,
        ledger=wiring.ledger.measured(
            Stopwatch(clock.monotonic, partial(tally.observe, "pointsman_store_write_seconds"))
        ),
        engine=_engine(wiring, settings, kept, bots),
        slots=kept.slots,
        workspaces=Workspaces(settings.workspace.root, wiring.store_name, wiring.ids),
        run_hook=lambda hook, call: run_hook(hook, call, kept.environment, clock),
        unsaved=lambda path: unsaved(path, visible, outputs, clock),
        find_bot=find,
        clock=clock,
        ids=wiring.ids,
        owner=owner_here(kept.memory.instance),
        crash=kept.crash,
        memory=kept.memory,
        leadership=wiring.leadership(kept.memory.tally),
        lock_doubt=wiring.lock_doubt,
        journal=wiring.journal if any(each.kind in CLIENTS for each in settings.boards) else None,
        removed=removed,
    )
