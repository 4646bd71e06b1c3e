"""How a path finds its value (language.md 8.1, 9.1, 11)."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from engine.dsl.scope import UNRESOLVED, Scope

SCOPE = Scope(
    vars=MappingProxyType({"x": {"y": None}, "list": [1]}),
    outputs={"r1.gate": {"id": 1, "history": "own"}, "r1": {"gate": {"only": 2}}, "plain": {}},
    loop={"r1.retry": {"iteration": 3}, "retry": MappingProxyType({"max": 4})},
    each={"parts": {"item": {"a": 1}}},
    history=lambda name: [name],
)


@pytest.mark.parametrize(
    ("namespace", "path", "expected"),
    [
        ("vars", ("x",), {"y": None}),
        ("vars", ("x", "y"), None),
        ("vars", ("x", "y", "z"), UNRESOLVED),
        ("vars", ("x", "q"), UNRESOLVED),
        ("vars", ("list", "0"), UNRESOLVED),
        ("vars", ("gone",), UNRESOLVED),
        ("outputs", ("r1", "gate", "id"), 1),
        ("outputs", ("r1", "gate", "only"), UNRESOLVED),
        ("outputs", ("r1", "gate"), {"id": 1, "history": "own"}),
        ("outputs", ("r1", "gate", "history"), ["r1.gate"]),
        ("outputs", ("plain",), {}),
        ("outputs", ("ghost", "history"), UNRESOLVED),
        ("loop", ("r1", "retry", "iteration"), 3),
        ("loop", ("retry",), {"max": 4}),
        ("each", ("parts", "item", "a"), 1),
        ("attachments", ("a",), UNRESOLVED),
        ("vars", (), {"x": {"y": None}, "list": [1]}),
    ],
)
def test_the_longest_known_name_wins(namespace: str, path: tuple[str, ...], expected: Any) -> None:
    found = SCOPE.resolve(namespace, path)
    assert found is expected if expected is UNRESOLVED else found == expected
    assert not isinstance(found, MappingProxyType)
