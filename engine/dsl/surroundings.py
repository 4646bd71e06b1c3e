"""What the loader is told about the world around a workflow. Records only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from engine.dsl.catalogue import Operation


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Operations and connections are None when nobody knows them: then nothing is checked against them. ``tools``
    gives the tools of each backend that says which it has; ``version`` is that of this program, ``cache`` the
    folder where packed bundles are unpacked. ``prompts`` take the place of the main file's prompts of those names."""

    catalogue: Mapping[str, Operation] | None = None
    connections: Mapping[str, str] | None = None
    backends: frozenset[str] = frozenset({"scripted"})
    default_backend: str = ""
    version: str = ""
    tools: Mapping[str, frozenset[str]] = field(default_factory=dict)
    cache: Path | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)


class Around(TypedDict, total=False):
    """The fields of ``Surroundings`` as keywords."""

    catalogue: Mapping[str, Operation] | None
    connections: Mapping[str, str] | None
    backends: frozenset[str]
    default_backend: str
    version: str
    tools: Mapping[str, frozenset[str]]
    cache: Path | None
    prompts: Mapping[str, str]
