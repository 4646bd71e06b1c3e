"""The operations of the connectors as the checks need them (language.md 5.6).

The host turns the catalogue of ``connectors`` into these records; the engine never imports a connector.
"""

from __future__ import annotations

from dataclasses import dataclass

TYPES = ("string", "int", "float", "bool", "string[]", "list", "object", "json")
"""The types of parameters."""
READ = "read"
IDEMPOTENT = "idempotent"
"""Two of the four effect classes: a read changes nothing, repeating an idempotent operation changes nothing more."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation; ``type`` is one of ``TYPES``, any other word takes a value as it is."""

    name: str
    type: str = "string"
    required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: ``effect`` is its class, ``has_probe`` whether a lost answer can be looked up."""

    name: str
    parameters: tuple[Parameter, ...] = ()
    effect: str = READ
    honours_key: bool = False
    has_probe: bool = True
