"""Every word of the language has its sentence, and no sentence is left over."""

from __future__ import annotations

from engine.dsl import meanings, templates
from engine.dsl.expression_functions import FUNCTIONS
from engine.dsl.parser import WORDS
from engine.dsl.shapes import SHAPES


def test_every_property_of_every_block_has_a_sentence() -> None:
    used = set()
    for name, shape in SHAPES.items():
        for key in shape.known:
            assert meanings.meaning(name, key).endswith("."), f"{name}.{key}"
            own = f"{name}.{key}"
            used.add(own if own in meanings.PROPERTIES else key)
    assert used == set(meanings.PROPERTIES)


def test_declarations_functions_and_namespaces_have_their_sentences() -> None:
    assert set(meanings.KINDS) == set(WORDS)
    assert set(meanings.FUNCTIONS) == set(FUNCTIONS)
    assert set(meanings.NAMESPACES) == set(templates.NAMESPACES)
