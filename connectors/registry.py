"""Which class serves which ``kind`` of board. Read by ``dispatcher/wiring.py``; classes load when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from connectors.errors import Unsupported

CONNECTORS: Mapping[str, str] = MappingProxyType(
    {
        "native": "connectors.native.board:NativeBoard",
        "memory": "connectors.memory.board:MemoryBoard",
    }
)
"""kind -> module and class."""


def connector_class(kind: str) -> type:
    """The class of a kind. Raises ``Unsupported``."""
    place = CONNECTORS.get(kind)
    if place is None:
        raise Unsupported(f'There is no connector of kind "{kind}".', f"This build has: {', '.join(CONNECTORS)}.")
    module, name = place.split(":")
    found = getattr(import_module(module), name)
    assert isinstance(found, type)
    return found
