"""Expressions: text -> ``Expression`` -> value (language.md 8).

The one door to the ``expression_*`` modules. The compiler parses and checks, the runtime evaluates; an ``Expression``
is immutable and may be evaluated by several threads at once. Evaluation reads the scope and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.dsl.expression_checks import Finding, StaticType, TypeOf, check_tree
from engine.dsl.expression_errors import EvaluationError, ExpressionSyntaxError
from engine.dsl.expression_evaluator import Frame, Program, checked, compile_tree
from engine.dsl.expression_parser import parse_tree
from engine.dsl.expression_tree import Call, Lambda, NamePath, Part, postorder
from engine.dsl.scope import Scope

__all__ = [
    "EvaluationError",
    "Expression",
    "ExpressionSyntaxError",
    "Finding",
    "PathReference",
    "StaticType",
    "TypeOf",
    "evaluate",
    "parse",
    "references",
    "static_check",
]


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression; two are equal when their texts are."""

    text: str
    tree: Part = field(compare=False, repr=False)
    program: Program = field(compare=False, repr=False)
    slots: int = field(compare=False, repr=False)
    grows: bool = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PathReference:
    """A path that an expression reads; ``bare`` when the text leaves out ``input.``. ``offset`` is where it starts."""

    namespace: str
    path: tuple[str, ...]
    bare: bool
    offset: int

    @property
    def text(self) -> str:
        """The path as a person writes it."""
        return ".".join(self.path if self.bare else (self.namespace, *self.path))


def parse(text: str) -> Expression:
    """Compile an expression. Raises ``ExpressionSyntaxError`` (C040), and nothing else for any text."""
    tree = parse_tree(text)
    slots, grows = 0, False
    for part in postorder(tree):
        if isinstance(part, Lambda):
            slots = max(slots, *(slot + 1 for slot in part.slots))
        grows = grows or (isinstance(part, Call) and part.name in ("map", "reduce"))
    return Expression(text, tree, compile_tree(tree), slots, grows)


def evaluate(expression: Expression, scope: Scope) -> Any:
    """The value of an expression: None, bool, int, float, str, list or dict.

    Raises ``EvaluationError`` when an operator or function cannot take what it is given, when 64 bits overflow, when
    more than 100 000 elements are visited, or when the value would be larger than 16 MiB (language.md 8.2, 8.3, 17).
    """
    try:
        value = expression.program(Frame(scope, expression.slots))
    except RecursionError:
        raise EvaluationError("the expression is nested too deeply to be evaluated here") from None
    return checked(value) if expression.grows else value


def references(expression: Expression) -> tuple[PathReference, ...]:
    """Every path that the expression reads, in the order of the text; lambda parameters are none."""
    found = (part for part in postorder(expression.tree) if isinstance(part, NamePath))
    return tuple(PathReference(part.namespace, part.names, part.bare, part.offset) for part in found)


def static_check(
    expression: Expression, type_of: TypeOf, *, condition: bool = False, target: str = ""
) -> tuple[Finding, ...]:
    """What is wrong with the expression whatever its values are: C107, C108, C120, C121, C138, C146.

    ``type_of(namespace, path)`` gives a declared type or None; ``condition`` is true for a ``when``; ``target`` is the
    declared type of the field that takes the value, or empty.
    """
    return check_tree(expression.tree, type_of, condition=condition, target=target)
