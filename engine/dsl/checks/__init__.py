"""The checks of a draft, one file per theme; ``check_all`` runs them in the order of the table (language.md 14)."""

from __future__ import annotations

from engine.dsl.bundle import Bundle
from engine.dsl.draft import Draft
from engine.dsl.flow import Flow
from engine.dsl.surroundings import Surroundings
from engine.dsl.unit import Unit


def check_all(draft: Draft, flow: Flow, around: Surroundings, unit: Unit, bundle: Bundle | None) -> None:
    """Report everything that is wrong with ``draft``."""
