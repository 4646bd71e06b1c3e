"""Which module plays which forge; loaded when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from connectors.fake_forge.dialect import Dialect
from connectors.fake_forge.records import Kind

DIALECTS: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.GITHUB: "connectors.fake_forge.github.dialect",
        Kind.GITLAB: "connectors.fake_forge.gitlab.dialect",
        Kind.FORGEJO: "connectors.fake_forge.forgejo.dialect",
    }
)
"""kind -> module whose ``DIALECT`` plays it."""


def dialect_of(kind: Kind) -> Dialect:
    """The dialect of a kind."""
    dialect: Dialect = import_module(DIALECTS[kind]).DIALECT
    return dialect
