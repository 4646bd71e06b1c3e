"""The catalogue of the connectors in the engine's words, for the compiler and for calls.

Two packages meet here that know nothing of each other: ``connectors.catalogue`` and ``engine.dsl.catalogue``. The
models load when somebody looks an operation up; a workflow without an action never pays for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from engine.dsl.catalogue import Operation, Parameter


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


CATALOGUE = Catalogue()
