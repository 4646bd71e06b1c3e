"""Connector operations for the engine: the runner of ``action:`` nodes and the probe of lost answers (engine.md 5.4).

Implements ``engine.ports.OperationRunner`` and ``EffectProbe`` over the connections of the configuration. What a lost
answer means is decided by ``connectors.effects.guard`` and by the engine; this module translates between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from connectors.catalogue.operations import NAMES
from connectors.effects.guard import Guard, Known
from connectors.effects.markers import markers_in
from connectors.errand import Errand, Purpose
from connectors.errors import ConnectorError, Unsupported
from connectors.forge import operations
from connectors.forge.board import PROBES
from connectors.forge.desk import Desk
from connectors.secrets import Exit
from dispatcher import log
from dispatcher.forges import Forges
from dispatcher.secrecy import Where
from engine.ports import (
    EffectGuard,
    Found,
    NotFound,
    OperationCall,
    Probed,
    SentEffect,
    Undone,
    Unreadable,
    Witness,
)

_log = log.get(__name__)
_RESULTS: Mapping[type[object], str] = {
    operations.Made: "found",
    operations.Unmade: "undone",
    operations.Unseen: "not_found",
    operations.Unread: "unreadable",
}
"""How a look-up is called in the log and in the metrics."""


@dataclass(frozen=True, slots=True)
class EngineRow:
    """The engine's guard as the connectors' row. Implements ``connectors.effects.guard.Row``."""

    guard: EffectGuard

    @property
    def effect_id(self) -> str:
        """The id of the row."""
        return self.guard.effect_id

    @property
    def marker(self) -> str:
        """The line for created texts."""
        return self.guard.marker

    def stopped(self) -> bool:
        """Whether the run was told to stop."""
        return self.guard.stopped()

    def sending(self) -> None:
        """Bytes may leave from now on; raises when they may not."""
        self.guard.sending()

    def note(self, known: Known) -> None:
        """What the row keeps beside the answer."""
        wire = dict(known.wire or {})
        self.guard.witness(Witness(known.status, wire, known.pending, known.read_back, known.note))


class ForgeRemote:
    """Both ports over the forges of a process. ``passed`` is told the points X3 and X4."""

    def __init__(self, forges: Forges, passed: Callable[[str], None]) -> None:
        self._forges = forges
        self.passed = passed

    def check(self, call: OperationCall) -> str:
        """Why the parameters cannot be used; empty when they can."""
        try:
            operations.parameters(call.operation, call.params, bound=self._bound(call.connection))
        except ConnectorError as error:
            return error.message
        return ""

    def shown(self, params: Mapping[str, object]) -> Mapping[str, object]:
        """The parameters without secrets."""
        world = self._forges.world

        def tell(places: int) -> None:
            world.observer.count("pointsman_redactions_total", places, where=Where.ROW.value)

        clean = Exit(world.redactor, tell).scrub(dict(params))
        assert isinstance(clean, dict)
        return clean

    def run(self, call: OperationCall, guard: EffectGuard) -> Mapping[str, object]:
        """Make the call. Raises ``ConnectorError``, which the engine reads by protocol."""
        clock = self._forges.world.clock
        errand = Errand(Purpose.ACTION, call.timeout)
        desk = self._desk(call.operation, call.connection, call.params, errand.reading())
        run_id = next((each.pairs.get("run", "") for each in markers_in(guard.marker)), "")
        words = self._forges.words(call.connection, run_id)
        made = replace(desk, words=words, effect_id=guard.effect_id, marker=guard.marker)
        seconds = call.timeout or self._forges.seconds(call.connection)
        seconds = min(seconds, call.within) if call.within else seconds
        door = Guard(desk.client.pace, clock, self.passed)
        told = {"effect_id": guard.effect_id, "operation": call.operation, "connection": call.connection}
        try:
            result = operations.run(call.operation, made, door, EngineRow(guard), operations.Call(errand, seconds))
        except ConnectorError as error:
            _log.info(
                "effect.failed" if guard.effect_id else "read.failed", **told, code=error.code, error=error.message
            )
            raise
        if guard.effect_id:
            _log.info("effect.done", **told)
        return result

    def probe(self, effect: SentEffect) -> Probed:
        """What the forge shows of a call whose answer was lost; raises nothing of the forge's."""
        try:
            answer = self._seen(effect)
        except ConnectorError as error:
            answer = operations.Unread(error.message)
        told = {"effect_id": effect.id, "operation": effect.operation}
        result = _RESULTS[type(answer)]
        _log.info("effect.probed", **told, result=result)
        self._forges.world.observer.count("pointsman_probes_total", operation=effect.operation, result=result)
        if isinstance(answer, operations.Made):
            if answer.note:
                _log.warning("effect.duplicate_found", **told, note=answer.note)
            return Found(answer.response, answer.note)
        if isinstance(answer, operations.Unmade):
            return Undone(answer.why)
        return Unreadable(answer.why) if isinstance(answer, operations.Unread) else NotFound()

    def _seen(self, effect: SentEffect) -> operations.Made | operations.Unmade | operations.Unseen | operations.Unread:
        errand = Errand(Purpose.PROBE)
        suffix = effect.operation.split(".", 1)[-1]
        if suffix in PROBES:
            client, words = self._forges.client(effect.connection), self._forges.words(effect.connection)
            desk = Desk(client, words, self._forges.world.clock, effect.params, errand)
        elif effect.operation in NAMES:
            desk = self._desk(effect.operation, effect.connection, effect.params, errand)
        else:
            return operations.Unseen("nobody knows this operation")
        desk = replace(
            desk,
            effect_id=effect.id,
            marker=effect.marker,
            sent_at=effect.sent_at or effect.created_at,
            foreign=lambda url: _log.warning("effect.marker_foreign", effect_id=effect.id, url=url),
        )
        return PROBES[suffix](desk) if suffix in PROBES else operations.probe(effect.operation, desk)

    def _desk(self, operation: str, connection: str, given: Mapping[str, object], errand: Errand) -> Desk:
        params = operations.parameters(operation, given, bound=self._bound(connection))
        client = self._forges.client(connection, params.repo or "")
        return Desk(client, self._forges.words(connection), self._forges.world.clock, params, errand)

    def _bound(self, connection: str) -> bool:
        try:
            return bool(self._forges.connection(connection).repo)
        except Unsupported:
            return True
