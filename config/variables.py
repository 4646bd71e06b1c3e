"""The ``POINTSMAN_*`` variables that tune the engine (engine.md 18), read once and checked.

``session`` reads them for every verb that executes something; the engine gets the plain values from ``wiring``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from config.durations import HOW, parse_duration
from config.problems import ConfigError, Problem

PREFIX = "POINTSMAN_"


@dataclass(frozen=True, slots=True)
class Variables:
    """Durations in seconds, sizes in bytes, cost in US dollars; ``None`` leaves the choice to whoever uses it."""

    auto_resume: int = 0
    schema_repairs: int = 2
    node_max_transient_retries: int | None = None
    budget_exit_grace: float = 0.10
    max_cost_per_day_usd: float | None = None
    branch_cancel_grace: float = 5.0
    reconcile_interval: float = 60.0
    process_timeout: float = 86400.0
    output_cap: int = 256 * 2**20
    workspace_max_file: int = 32 * 2**20
    sandbox_k8s_pod_ready_timeout: float | None = None
    host_id: str = ""
    """How this host is called in a shared store; without it the machine's own id, which cloned images may share."""


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError("below 0")
    return value


def _amount(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError("outside its range")
    return value


def _ratio(text: str) -> float:
    """A ratio from 0 to 1. Everything else is 0, as ``off`` is: in doubt nothing passes a cap (engine.md 10.3)."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0 <= value <= 1 else 0.0


def _duration(text: str) -> float:
    """A duration, or bare seconds: the variables are also set by scripts."""
    try:
        return _amount(text)
    except ValueError:
        return parse_duration(text)


def _size(text: str) -> int:
    units = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    for unit, factor in units.items():
        if text.endswith(unit):
            return int(_amount(text.removesuffix(unit).strip()) * factor)
    return _count(text)


def _name(text: str) -> str:
    if not text.replace("-", "").replace(".", "").replace("_", "").isalnum() or len(text) > 100:
        raise ValueError("not a name")
    return text


_NUMBER, _DURATION, _SIZE = "Give a number from 0 on.", HOW, "Give bytes, or a size like 256MiB."

_READERS: Mapping[str, tuple[Callable[[str], int | float | str], str]] = {
    "auto_resume": (_count, _NUMBER),
    "schema_repairs": (_count, _NUMBER),
    "node_max_transient_retries": (_count, _NUMBER),
    "budget_exit_grace": (_ratio, ""),
    "max_cost_per_day_usd": (_amount, _NUMBER),
    "branch_cancel_grace": (_duration, _DURATION),
    "reconcile_interval": (_duration, _DURATION),
    "process_timeout": (_duration, _DURATION),
    "output_cap": (_size, _SIZE),
    "workspace_max_file": (_size, _SIZE),
    "sandbox_k8s_pod_ready_timeout": (_duration, _DURATION),
    "host_id": (_name, "Give letters, digits, dots, dashes and underscores, at most 100."),
}


def variable_name(field: str) -> str:
    """The environment's name of a field: ``auto_resume`` is ``POINTSMAN_AUTO_RESUME``."""
    return PREFIX + field.upper()


def read_variables(environment: Mapping[str, str]) -> Variables:
    """All of them; an empty one counts as unset. Raises ``ConfigError`` (``invalid_setting``) naming each bad one."""
    found: dict[str, int | float | str] = {}
    problems: list[Problem] = []
    for field, (read, hint) in _READERS.items():
        text = environment.get(variable_name(field), "").strip()
        if not text:
            continue
        try:
            found[field] = read(text)
        except ValueError:
            problems.append(Problem(f'"{text}" is not a value for it', key=variable_name(field), hint=hint))
    if problems:
        raise ConfigError("invalid_setting", problems)
    return Variables(**found)  # type: ignore[arg-type]  # each reader gives its field's type; a test proves it
