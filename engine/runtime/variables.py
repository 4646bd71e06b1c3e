"""Launch values: what was given, the preset, the defaults, and the values that a run starts with.

Called by ``launch`` before anything is written and by every resume with the inputs that the run keeps. Pure but for the
environment that it is handed. Implements language.md 4.1, 4.2 and 2.6.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.dsl.environment import expand
from engine.dsl.graph import Graph, ValueType, Var
from engine.dsl.values import launch_value
from engine.errors import InvalidVars

NOTHING: Mapping[str, object] = {}


def given_values(
    graph: Graph, texts: Mapping[str, str], typed: Mapping[str, object], preset: str = ""
) -> dict[str, object]:
    """The values given at launch, each in its type; ``texts`` win over ``typed``.

    Raises InvalidVars, naming the var, for an unknown name, an unknown preset, a value that does not fit.
    """
    if preset and preset not in graph.presets:
        raise InvalidVars(f"preset {preset} is not declared", _known("presets", graph.presets))
    made: dict[str, object] = {}
    for is_typed, values in ((True, typed), (False, texts)):
        for name, value in values.items():
            made[name] = _fitted(_declared(graph, name), value, typed=is_typed)
    return made


def resolve(
    graph: Graph,
    given: Mapping[str, object],
    preset: str,
    environment: Mapping[str, str],
    recipe: Mapping[str, object] = NOTHING,
) -> dict[str, object]:
    """Every declared var with its value: given, else the preset's, else the recipe's, else its default.

    Raises InvalidVars for a required var without a value. Inputs that a newer text no longer declares are left out.
    """
    chosen = graph.presets.get(preset, {})
    made: dict[str, object] = {}
    for name, var in graph.vars.items():
        if name in given:
            made[name] = _fitted(var, given[name], typed=True)
        elif name in chosen:
            made[name] = chosen[name]
        elif name in recipe:
            made[name] = _fitted(var, recipe[name], typed=True)
        elif var.required:
            raise InvalidVars(f"var {name} ({var.type}) has no value", f"give it with --var {name}=VALUE")
        else:
            made[name] = _default(var, environment)
    return made


def _default(var: Var, environment: Mapping[str, str]) -> object:
    if var.type is ValueType.STRING and isinstance(var.default, str):
        return _fitted(var, expand(var.default, environment), typed=True)
    return var.default


def _declared(graph: Graph, name: str) -> Var:
    if name not in graph.vars:
        raise InvalidVars(f"var {name} is not declared", _known("vars", graph.vars))
    return graph.vars[name]


def _known(what: str, names: Mapping[str, object]) -> str:
    return f"the {what} of this workflow are: {', '.join(sorted(names)) or 'none'}"


def _fitted(var: Var, value: object, *, typed: bool) -> object:
    found = launch_value(var, value, typed=typed)
    if found.problem:
        raise InvalidVars(
            f"var {var.name} ({var.type}): {found.problem}", f"give a value that fits: --var {var.name}=VALUE"
        )
    return found.value
