"""Each kind leads to a class that is a board (connectors.md 3)."""

from __future__ import annotations

import pytest

from connectors.errors import AmbiguousEffect, Unsupported
from connectors.registry import CONNECTORS, connector_class
from engine.ports import AmbiguousEffect as AmbiguousPort


@pytest.mark.parametrize("kind", CONNECTORS)
def test_each_kind_has_a_class_with_the_verbs_of_a_board(kind: str) -> None:
    found = connector_class(kind)
    assert found.kind == kind
    for verb in ("columns", "list_cards", "get", "get_many", "move", "comment"):
        assert callable(getattr(found, verb))


def test_an_unknown_kind_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(Unsupported, match="jira") as refusal:
        connector_class("jira")
    assert "native" in refusal.value.hint


def test_the_engine_knows_an_ambiguous_effect_without_knowing_this_package() -> None:
    """Decision 24."""
    error = AmbiguousEffect("the answer was lost", effect_id="e1")
    assert isinstance(error, AmbiguousPort)
    assert error.ambiguous_effect()
