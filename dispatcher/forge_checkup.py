"""What ``pointsman doctor`` looks at on forges: connections, then boards, then calls in doubt (connectors.md 22).

Called by ``checkup``. It only reads, the forge as well as the store: limits are noted in memory, nothing that is seen
is remembered. ``repair`` is what ``--fix`` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from connectors.errors import ConnectorError
from connectors.forge.board import LabelBoard
from connectors.forge.board_reading import BoardReader
from connectors.forge.memory import ForgeMemory
from connectors.limiter.decisions import accepted
from connectors.limiter.state import LimiterStore, LimitState, MemoryLimiterStore
from connectors.observer import Silent
from connectors.registry import CLIENTS
from dispatcher import board_checkup, connection_checkup
from dispatcher.findings import Finding, failed, passed
from dispatcher.forge_boards import Unremembered, client_of, plan_of
from dispatcher.forges import Forges, World
from dispatcher.ledger import claims
from dispatcher.ledger.deliveries import last_of
from dispatcher.ledger.forge_rows import BoardMemory, LedgerLimits, Seat
from engine.errors import EngineError
from engine.run import EffectState

if TYPE_CHECKING:
    from config.boards import BoardSettings
    from dispatcher.wiring import Wiring


class CountedCalls(Silent):
    """Counts the requests that are made."""

    def __init__(self) -> None:
        self.calls = 0

    def count(self, metric: str, by: float = 1.0, **labels: str) -> None:
        """Only requests matter here."""
        if metric == "pointsman_forge_requests_total":
            self.calls += int(by)


def examine(wiring: Wiring, *, readable: bool) -> Iterator[Finding]:
    """Every connection and board. ``readable``: whether there is a store of this build to be read."""
    counted = CountedCalls()
    forges = Forges(wiring.settings, World(wiring.clock, _limits(wiring, readable=readable), counted))
    try:
        for name in wiring.settings.connections:
            yield from connection_checkup.examine(forges, name, wiring.settings)
        for board in wiring.settings.boards:
            if board.kind in CLIENTS:
                yield from _board(wiring, forges, counted, board, readable=readable)
    finally:
        forges.close()
    if readable:
        yield from _in_doubt(wiring)


def _board(
    wiring: Wiring, forges: Forges, counted: CountedCalls, board: BoardSettings, *, readable: bool
) -> Iterator[Finding]:
    reached = yield from connection_checkup.examine(forges, board.name, wiring.settings)
    last = last_of(wiring.ledger, board.name) if readable else None
    if not reached:
        yield from board_checkup.hook_secret(board, last)
        return
    memory: ForgeMemory = Unremembered()
    if readable:
        seat = Seat(board.name, board.kind, forges.connections_to(board))
        memory = BoardMemory(seat, wiring.ledger, wiring.store.effects, writes=False)
    client = client_of(forges, board)
    reader = BoardReader(plan_of(wiring.settings, board), client, memory, wiring.clock, counted)
    us = board_checkup.Us()
    if readable:
        live = {key[1]: row.comment_id for key, row in claims.of_board(wiring.ledger, board.name).items()}
        us = board_checkup.Us(claims.known_identity(wiring.ledger), live)
    patient = board_checkup.BoardPatient(
        wiring.settings, board, reader, lambda: counted.calls, wiring.clock.monotonic, last, us
    )
    yield from board_checkup.examine(patient)


def _limits(wiring: Wiring, *, readable: bool) -> LimiterStore:
    """The limits as the store has them; what is learned now stays in memory."""
    return PeekedLimits(LedgerLimits(wiring.ledger)) if readable else MemoryLimiterStore()


class PeekedLimits(MemoryLimiterStore):
    """Begins with the rows of another store and never writes there."""

    def __init__(self, behind: LimiterStore) -> None:
        super().__init__()
        self._behind = behind

    def read(self, credential: str) -> LimitState:
        """The row as learned here, else the one behind; that the forge refused the credential is found out anew."""
        own = super().read(credential)
        return accepted(self._behind.read(credential)) if own == LimitState(credential) else own


def _in_doubt(wiring: Wiring) -> Iterator[Finding]:
    """Calls whose answer was lost and that nobody settled."""
    try:
        rows = wiring.store.effects.list(states=(EffectState.AMBIGUOUS.value,))
    except EngineError as error:
        yield failed("effects.ambiguous", error.message, error.hint)
        return
    for row in rows:
        where = f"run {row.run_id}, node {row.node_id}" if row.run_id else f"card {row.card} of {row.connection}"
        text = f"{row.operation} of {where} may have been made: its answer was lost"
        yield failed("effects.ambiguous", text, f"Look with: pointsman effects show {row.id}")
    if not rows:
        yield passed("effects.ambiguous", "no call is in doubt")


def repair(wiring: Wiring) -> Iterator[Finding]:
    """Make the labels that columns are mapped to and that are missing, each with its effect row; one line each."""
    for given in wiring.settings.boards:
        board = wiring.boards[given.name]
        if not isinstance(board, LabelBoard):
            continue
        try:
            for name in board.missing_labels():
                board.define_label(name)
                yield passed("board.labels", f'{given.name}: the label "{name}" was made')
        except ConnectorError as error:
            text = f"{given.name}: the missing labels could not be made: {error.message}"
            yield failed("board.labels", text, error.hint)
