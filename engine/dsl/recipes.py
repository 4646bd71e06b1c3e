"""Recipes: launch configurations as JSON, read and checked for their shape (language.md 13).

Called by ``bundle`` for ``recipes/*.json`` and, for the recipe of a run, by ``runtime/cooking.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from engine.dsl.diagnostics import nearest
from engine.dsl.shapes import SHAPES
from engine.dsl.textform import NotJson, read_json

MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with a recipe: the key, what was found there, what to write."""

    key: str
    found: str
    expected: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """One recipe file: the name that it gives itself, else the file's stem; what is wrong with it; what it says."""

    file: Path
    name: str
    flaws: tuple[Flaw, ...]
    values: Mapping[str, object] = field(default_factory=dict)

    def map(self, key: str) -> Mapping[str, object]:
        """A map of the recipe, empty when it has none of that name."""
        found = self.values.get(key)
        return found if isinstance(found, dict) else {}

    @property
    def prompts(self) -> dict[str, str]:
        """Prompt name -> the text that takes the place of the workflow's."""
        return {name: str(text) for name, text in self.map("prompt_pack").items()}


def read_recipe(path: Path) -> Recipe:
    """The recipe at ``path``. Raises ``OSError`` when the file cannot be read."""
    with path.open("rb") as stream:
        data = stream.read(MOST_BYTES + 1)
    flaws: list[Flaw] = []
    values: object = None
    if len(data) > MOST_BYTES:
        flaws.append(Flaw("", "larger than 1 MiB", "a shorter recipe"))
    else:
        try:
            values = read_json(data)
        except NotJson as problem:
            flaws.append(Flaw("", f"no JSON ({problem})", "one JSON object"))
        else:
            flaws += _flaws("", values, _RECIPE)
    name = values.get("name") if isinstance(values, dict) else ""
    known = values if isinstance(values, dict) and not flaws else {}
    return Recipe(path, name if isinstance(name, str) and name else path.stem, tuple(flaws), known)


def _text(key: str, value: object) -> list[Flaw]:
    return [] if isinstance(value, str) else [Flaw(key, _shown(value), "a text")]


def _any(_key: str, _value: object) -> list[Flaw]:
    return []


def _map(key: str, value: object) -> list[Flaw]:
    return [] if isinstance(value, dict) else [Flaw(key, _shown(value), "a map")]


def _texts(key: str, value: object) -> list[Flaw]:
    if not isinstance(value, dict):
        return _map(key, value)
    return [flaw for name, part in value.items() for flaw in _text(f"{key}.{name}", part)]


def _budget(key: str, value: object) -> list[Flaw]:
    return _flaws(key, value, dict.fromkeys(SHAPES["budget"].known, _any))


def _reference(key: str, value: object) -> list[Flaw]:
    return _flaws(key, value, {"name": _text, "path": _text})


def _policy(key: str, value: object) -> list[Flaw]:
    return _flaws(key, value, {"primary_metric": _text, "success_value": _any})


Check = Callable[[str, object], list[Flaw]]
_RECIPE: Mapping[str, Check] = MappingProxyType(
    {
        "name": _text,
        "workflow_ref": _reference,
        "preset_vars": _map,
        "prompt_pack": _texts,
        "budget": _budget,
        "evaluation_policy": _policy,
    }
)


def _flaws(key: str, value: object, known: Mapping[str, Check]) -> list[Flaw]:
    """What is wrong with a map whose keys are known."""
    if not isinstance(value, dict):
        return [Flaw(key, _shown(value), "a map" if key else "one JSON object")]
    found: list[Flaw] = []
    for name, part in value.items():
        place = f"{key}.{name}" if key else str(name)
        check = known.get(name)
        found += check(place, part) if check else [_unknown(place, str(name), known)]
    return found


def _unknown(place: str, name: str, known: Mapping[str, Check]) -> Flaw:
    close = nearest(name, known)
    return Flaw(place, "there: no such key is known", f"`{close}`" if close else f"one of {', '.join(sorted(known))}")


def _shown(value: object) -> str:
    words = {type(None): "null", bool: "a bool", int: "a number", float: "a number", str: "a text", list: "a list"}
    return words.get(type(value), "a map")
