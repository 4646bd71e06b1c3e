"""The functions behind the catalogue: one for each operation, none besides (connectors.md 7)."""

from __future__ import annotations

import pytest

from connectors.catalogue.operations import OPERATIONS
from connectors.effects.guard import Effect
from connectors.forge.code_changes import CHANGES
from connectors.forge.operations import BadParameters, parameters
from connectors.forge.reads import READS


def test_each_operation_has_its_function() -> None:
    """C069."""
    reads = {suffix for suffix, entry in OPERATIONS.items() if entry.effect is Effect.READ}
    assert READS.keys() == reads
    assert CHANGES.keys() == OPERATIONS.keys() - reads


@pytest.mark.parametrize(
    ("given", "bound", "told"),
    [
        ({"number": 0, "body": "x"}, True, "number"),
        ({"number": 1, "body": "x", "repo": "octo/web"}, True, "repo is not taken"),
        ({"number": 1, "body": "x"}, False, "repo is missing"),
        ({"number": 1, "body": "x", "repo": "octo"}, False, "repo"),
    ],
)
def test_parameters_that_cannot_be_used_are_named(given: dict[str, object], bound: bool, told: str) -> None:
    """C071."""
    with pytest.raises(BadParameters, match=told):
        parameters("github.issue.comment", given, bound=bound)


def test_the_repository_comes_from_the_connection_or_from_the_call() -> None:
    given = {"number": 1, "body": "x"}
    assert parameters("github.issue.comment", given, bound=True).repo is None
    assert parameters("github.issue.comment", {**given, "repo": "octo/web"}, bound=False).repo == "octo/web"
