"""The checks of a draft, one file per theme; ``check_all`` runs them in the order of the table (language.md 14)."""

from __future__ import annotations

from engine.dsl.checks.bundles import check_bundles
from engine.dsl.checks.connectors import check_connectors
from engine.dsl.checks.context import Context
from engine.dsl.checks.edges import check_edges
from engine.dsl.checks.expressions import check_expressions
from engine.dsl.checks.extended import check_extended
from engine.dsl.checks.later_nodes import check_later_nodes
from engine.dsl.checks.loops import check_loops
from engine.dsl.checks.nodes import check_nodes
from engine.dsl.checks.parallel import check_parallel
from engine.dsl.checks.references import check_references
from engine.dsl.checks.structure import check_structure
from engine.dsl.checks.values import check_values

__all__ = ["CHECKS", "Context", "check_all"]

CHECKS = (
    check_structure,
    check_edges,
    check_loops,
    check_nodes,
    check_values,
    check_references,
    check_expressions,
    check_connectors,
    check_parallel,
    check_extended,
    check_later_nodes,
    check_bundles,
)


def check_all(context: Context) -> None:
    """Report everything that is wrong with a draft, names first."""
    for check in CHECKS:
        check(context)
