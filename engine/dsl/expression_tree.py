"""The tree of an expression: what the parser makes, the checks read and the evaluator compiles (language.md 8.1).

Children always exist before their parents, and no node is deeper than 256, so walks keep their own stack and callers
need no recursion. ``offset`` is where the node starts in the text, for diagnostics.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MAX_DEPTH = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What every node of the tree has."""

    offset: int
    depth: int = 1

    @property
    def children(self) -> tuple[Part, ...]:
        """The nodes below this one, in the order of the text."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal(Part):
    """A number, a string or a bool."""

    value: int | float | str | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePath(Part):
    """A path into a namespace; ``bare`` when the text leaves out ``input.``."""

    namespace: str
    names: tuple[str, ...]
    bare: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPath(Part):
    """A path that starts at a lambda parameter, which lives in ``slot``."""

    slot: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unary(Part):
    """``-`` or ``!``."""

    sign: str
    operand: Part

    @property
    def children(self) -> tuple[Part, ...]:
        """The operand."""
        return (self.operand,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain(Part):
    """Operators of one level, applied from the left: ``signs`` stand between ``operands``.

    Comparisons do not chain, so theirs has two operands. All signs of a logical chain are the same.
    """

    signs: tuple[str, ...]
    operands: tuple[Part, ...]

    @property
    def children(self) -> tuple[Part, ...]:
        """The operands."""
        return self.operands


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscript(Part):
    """``receiver[key]``, and ``receiver.name`` after a bracket."""

    receiver: Part
    key: Part

    @property
    def children(self) -> tuple[Part, ...]:
        """Receiver and key."""
        return (self.receiver, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lambda(Part):
    """``x => body``; an argument of ``map``, ``filter`` and ``reduce`` only."""

    slots: tuple[int, ...]
    body: Part

    @property
    def children(self) -> tuple[Part, ...]:
        """The body."""
        return (self.body,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Part):
    """A call of a known function; the number of arguments may still be wrong (C138)."""

    name: str
    arguments: tuple[Part, ...]

    @property
    def children(self) -> tuple[Part, ...]:
        """The arguments."""
        return self.arguments


def postorder(root: Part) -> Iterator[Part]:
    """Every node, children before their parents."""
    todo: list[tuple[Part, bool]] = [(root, False)]
    while todo:
        part, seen = todo.pop()
        if seen:
            yield part
            continue
        todo.append((part, True))
        todo.extend((child, False) for child in reversed(part.children))
