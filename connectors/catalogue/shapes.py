"""The parameters of an operation in the words of the workflow language (language.md 5.6), read from its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from connectors.catalogue.params import Params


@dataclass(frozen=True, slots=True)
class Shape:
    """A parameter: its name, the language's word for its type, whether it must be there."""

    name: str
    type: str
    required: bool


_WORDS = {"string": "string", "integer": "int", "number": "float", "boolean": "bool", "object": "object"}


def shapes(params: type[Params]) -> tuple[Shape, ...]:
    """Every parameter but ``repo``, which each operation takes where its connection is bound to none."""
    schema = params.model_json_schema()
    required = frozenset(schema.get("required", ()))
    found = [Shape(name, _word(told), name in required) for name, told in schema["properties"].items()]
    return tuple(sorted((each for each in found if each.name != "repo"), key=lambda shape: not shape.required))


def _word(told: Mapping[str, Any]) -> str:
    if "anyOf" in told:
        told = next(each for each in told["anyOf"] if each.get("type") != "null")
    if told["type"] == "array":
        return "string[]"
    return _WORDS[told["type"]]
