"""The catalogue of the connectors in the engine's words, and the door to their calls; both load when they are used.

Two packages meet here that know nothing of each other: ``connectors.catalogue`` and ``engine.dsl.catalogue``. The
models load when somebody looks an operation up; a workflow without an action never pays for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Protocol

from engine.dsl.catalogue import Operation, Parameter
from engine.ports import EffectGuard, EffectProbe, OperationCall, OperationRunner, Probed, Remote, SentEffect


class Catalogue(Mapping[str, Operation]):
    """Every operation of every forge, by its dotted name."""

    @cached_property
    def _known(self) -> Mapping[str, Operation]:
        from connectors.catalogue.operations import NAMES, Entry, Probe
        from connectors.catalogue.shapes import shapes

        def made(name: str, forge: str, entry: Entry) -> Operation:
            parameters = tuple(Parameter(each.name, each.type, each.required) for each in shapes(entry.params))
            return Operation(name, parameters, str(entry.effect_on(forge)), has_probe=entry.probe is not Probe.NONE)

        return {name: made(name, forge, entry) for name, (forge, entry) in NAMES.items()}

    def __getitem__(self, name: str) -> Operation:
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __bool__(self) -> bool:
        return True


class RemoteDoor(OperationRunner, EffectProbe, Protocol):
    """Everything that the engine asks of the connectors; ``dispatcher.remote`` implements it."""

    passed: Callable[[str], None]

    def check(self, call: OperationCall) -> str:
        """Why the parameters cannot be used; empty when they can."""
        ...

    def shown(self, params: Mapping[str, object]) -> Mapping[str, object]:
        """The parameters as they may be stored."""
        ...


class LateRemote:
    """The door, loaded when the first call is made: a run without an action never pays for it."""

    def __init__(self, make: Callable[[], RemoteDoor]) -> None:
        self._make = make

    @cached_property
    def _door(self) -> RemoteDoor:
        return self._make()

    def port(self) -> Remote:
        """As the engine takes it."""
        return Remote(self, self, self._check, self._shown, self._passed)

    def run(self, call: OperationCall, guard: EffectGuard) -> Mapping[str, object]:
        """As ``OperationRunner``."""
        return self._door.run(call, guard)

    def probe(self, effect: SentEffect) -> Probed:
        """As ``EffectProbe``."""
        return self._door.probe(effect)

    def _check(self, call: OperationCall) -> str:
        return self._door.check(call)

    def _shown(self, params: Mapping[str, object]) -> Mapping[str, object]:
        return self._door.shown(params)

    def _passed(self, point: str) -> None:
        self._door.passed(point)


CATALOGUE = Catalogue()
