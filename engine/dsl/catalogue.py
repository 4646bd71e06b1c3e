"""The operations of the connectors as the checks need them (language.md 5.6).

The host turns the catalogue of ``connectors`` into these records; the engine never imports a connector.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation; ``type`` is for messages."""

    name: str
    type: str = "string"
    required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: ``effect`` is its class, ``has_probe`` whether a lost answer can be looked up."""

    name: str
    parameters: tuple[Parameter, ...] = ()
    effect: str = "read"
    honours_key: bool = False
    has_probe: bool = True
