"""One process's way to the forge: the product's own connections, board, rows and calls over a loopback.

Made by ``forge`` for each process that ever lives in a history. Faulty variants of a part are ``forge_mutants``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from connectors.forge.board import LabelBoard
from connectors.observer import Silent
from connectors.transport.exchanging import Setting
from connectors.transport.exchanging import Target as Place
from dispatcher import board_rows
from dispatcher.forge_boards import Parts as BoardParts
from dispatcher.forge_boards import made
from dispatcher.forges import Forges, World
from dispatcher.ledger import Ledger
from dispatcher.ledger.forge_rows import LedgerLimits
from dispatcher.operations import CATALOGUE, LateRemote
from dispatcher.remote import ForgeRemote
from engine.api import Engine, EngineSettings
from engine.dsl.surroundings import Surroundings
from engine.errors import EngineError
from engine.outcome import Failed
from engine.ports import OperationCall, Remote
from engine.runtime.performing import perform
from tests.kit.loopback import Loopback

if TYPE_CHECKING:
    from tests.simulation.forge import ForgeGround
    from tests.simulation.machine import Execution


class LoopForges(Forges):
    """The connections of a process, over a loopback."""

    loopback: Loopback

    def setting(self, place: Place) -> Setting:
        return Setting(place, self.world.clock, resolver=lambda host, _port: [host], sockets=self.loopback)


class Hands:
    """What one process reaches the forge with."""

    forges_class = LoopForges
    rows_class = board_rows.BoardRows

    def __init__(self, ground: ForgeGround, process: str) -> None:
        play = ground.play
        self.ground, self.play, self.process = ground, play, process
        self.loopback = Loopback(ground.side, partial(ground.around, process))
        ledger = Ledger(play.database)
        self.forges = self.forges_class(play.settings, World(play.clock, LedgerLimits(ledger), Silent()))
        self.forges.loopback = self.loopback
        rows = board_rows.Desk(play.store.effects, play.clock, play.ids, self.forges.world.redactor, self._passed)
        self.journal = self.rows_class(rows)
        settings = EngineSettings(around=Surroundings(CATALOGUE), remote=self.remote())
        self.engine = Engine(play.store, settings, play.clock, play.ids, instance=process)
        parts = BoardParts(
            settings=play.settings,
            forges=self.forges,
            ledger=ledger,
            effects=play.store.effects,
            journal=self.journal,
            clock=play.clock,
            passed=self._passed,
            watches=True,
        )
        self.board: Any = self.shaped(made(parts, play.settings.boards[0]))
        self.board.move = ground.watching(self.board.move)

    def remote(self) -> Remote:
        """The calls of runs, and their probes."""
        return LateRemote(lambda: ForgeRemote(self.forges, self._passed)).port()

    def shaped(self, board: LabelBoard) -> LabelBoard:
        """The board as it is used."""
        return board

    def _passed(self, _point: str) -> None:
        self.ground.around(self.process)

    def call(self, each: Execution, node: str, call: OperationCall) -> str:
        """One call of a run, as the engine makes it; the failure's code, empty when it was made."""
        host: Any = self.engine._host
        attempt = SimpleNamespace(
            run_id=each.run_id,
            epoch=each.epoch,
            store=self.play.store,
            clock=self.play.clock,
            ids=self.play.ids,
            settings=host.settings,
            host=host,
            environment={},
            stop=SimpleNamespace(is_set=lambda: bool(each.stop)),
            again=each.again,
            by="a person",
            deadline=None,
            caps=SimpleNamespace(duration=0.0),
            runlog=SimpleNamespace(alert=self.ground.alerted),
        )
        line: Any = SimpleNamespace(attempt=attempt, state=SimpleNamespace(branch_id=""), branch="")
        step: Any = SimpleNamespace(node=SimpleNamespace(name=node), path="")
        try:
            outcome = perform(line, step, call)
        except EngineError as error:
            self.play.watch.note(f"    {each.run_id}: {error}")
            return "EXECUTION_FAILED"
        return str(outcome.code) if isinstance(outcome, Failed) else ""

    def close(self) -> None:
        """Let go of everything."""
        self.forges.close()


MakeHands = Callable[["ForgeGround", str], Hands]
