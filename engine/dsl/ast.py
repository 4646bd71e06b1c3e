"""The tree of one source file: what was written, in order, with places and comments.

Made by ``parser``; read by ``reader``, ``groups``, ``diff`` and the formatter. The tree is generic: a declaration has
a block of properties, edges and ``with`` lines; which properties a kind knows is ``shapes``. All records are frozen.
Equality ignores places, comments and the way a value was quoted or laid out, so that two trees are equal when they say
the same in the same order (language.md 16; what may stand in another order is ``diff``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from engine.dsl.graph import Span
from engine.dsl.tokens import Comment


class ScalarKind(StrEnum):
    """What a literal is after reading."""

    TEXT = "text"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"


class Style(StrEnum):
    """How a literal was written; ``NESTED`` is a list or map with others inside, kept as text in a contract."""

    BARE = "bare"
    DOTTED = "dotted"
    QUOTED = "quoted"
    RAW = "raw"
    BLOCK = "block"
    NESTED = "nested"


@dataclass(frozen=True, slots=True)
class Trivia:
    """Comments that belong to a construct: on lines before it, at its end, and whether a blank line precedes it."""

    before: tuple[Comment, ...] = ()
    trailing: tuple[Comment, ...] = ()
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Scalar:
    """A literal or a word. ``spelling`` keeps the digits of a number or the word of a bool."""

    kind: ScalarKind
    value: str | int | float | bool
    span: Span = field(compare=False)
    style: Style = field(default=Style.BARE, compare=False)
    spelling: str = field(default="", compare=False)

    @property
    def text(self) -> str:
        """The value as text: a number or bool as it was spelt."""
        return self.value if isinstance(self.value, str) else self.spelling


@dataclass(frozen=True, slots=True)
class ListValue:
    """``[a, b]`` or a block of ``- item`` lines, whose comments are ``trivia``, one for each item."""

    items: tuple[Scalar, ...]
    span: Span = field(compare=False)
    dashes: bool = field(default=False, compare=False)
    trivia: tuple[Trivia | None, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """One ``key: value`` of a map."""

    key: str
    value: Scalar
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class MapValue:
    """``{ key: value, … }``."""

    entries: tuple[Entry, ...]
    span: Span = field(compare=False)
    comments: tuple[Comment, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Constraint:
    """``[enum: "a", "b"]`` or ``[matching: "…"]`` behind a type."""

    name: str
    values: tuple[str, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type with constraints and a default, as in ``vars``; ``optional`` is the ``?`` of a contract."""

    name: str
    span: Span = field(compare=False)
    constraints: tuple[Constraint, ...] = ()
    default: Scalar | ListValue | None = None
    optional: bool = False


Value: TypeAlias = Scalar | ListValue | MapValue | TypeValue


@dataclass(frozen=True, slots=True)
class Property:
    """``KEY: value`` with an optional block below; ``value`` None for a bare ``KEY:``.

    ``broken``: the value could not be read, which is reported; the property counts as given.
    """

    key: str
    value: Value | None
    block: Block | None
    span: Span = field(compare=False)
    trivia: Trivia | None = field(default=None, compare=False)
    broken: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class WithLine:
    """A line ``with { … }`` of a subbot or an emit."""

    map: MapValue
    span: Span = field(compare=False)
    trivia: Trivia | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class When:
    """``when f``, ``when not f`` (``field``) or ``when "…"`` (``expression``)."""

    span: Span = field(compare=False)
    field: str = ""
    negated: bool = False
    expression: Scalar | None = None


@dataclass(frozen=True, slots=True)
class LoopClause:
    """``as NAME(cap)``; ``cap`` is an int or a string; ``unbounded`` with an optional number as fuel."""

    name: str
    span: Span = field(compare=False)
    cap: Scalar | None = None
    unbounded: bool = False


@dataclass(frozen=True, slots=True)
class ForeachClause:
    """``as foreach NAME(element in "items")``."""

    name: str
    element: str
    items: Scalar
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class NodeRef:
    """A node by name, dotted for a member of a group."""

    name: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class EdgeLine:
    """``a -> b -> c`` with its clauses, which belong to the last arrow."""

    nodes: tuple[NodeRef, ...]
    span: Span = field(compare=False)
    when: When | None = None
    otherwise: bool = False
    loop: LoopClause | None = None
    foreach: ForeachClause | None = None
    mapping: MapValue | None = None
    clause_span: Span | None = field(default=None, compare=False)
    trivia: Trivia | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Text:
    """The body of a prompt; ``rows`` is the source line of each line of the text, empty for text from a file."""

    value: str
    span: Span = field(compare=False)
    rows: tuple[int, ...] = field(default=(), compare=False)
    folder: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Declaration:
    """A top-level declaration or a member of a group.

    ``name`` is empty for ``vars``, ``presets``, ``attachments``, ``secrets``. ``parameters`` belong to a group,
    ``text`` to a prompt.
    """

    kind: str
    name: str
    block: Block | None
    span: Span = field(compare=False)
    name_span: Span = field(compare=False)
    parameters: tuple[str, ...] = ()
    text: Text | None = None
    trivia: Trivia | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Use:
    """``use GROUP as PREFIX with { … }``."""

    group: str
    prefix: str
    bindings: MapValue | None
    span: Span = field(compare=False)
    prefix_span: Span = field(compare=False)
    trivia: Trivia | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Import:
    """``import "path"``."""

    path: str
    span: Span = field(compare=False)
    trivia: Trivia | None = field(default=None, compare=False)


BlockEntry: TypeAlias = Property | WithLine | EdgeLine | Declaration


@dataclass(frozen=True, slots=True)
class Block:
    """The indented lines below a header, in order; ``comments`` stand after the last of them.

    ``unclear``: a line of it could not be read, so that something that is missing may stand there.
    """

    entries: tuple[BlockEntry, ...]
    span: Span = field(compare=False)
    comments: tuple[Comment, ...] = field(default=(), compare=False)
    unclear: bool = field(default=False, compare=False)

    def properties(self) -> tuple[Property, ...]:
        """The ``KEY:`` lines only."""
        return tuple(entry for entry in self.entries if isinstance(entry, Property))


@dataclass(frozen=True, slots=True)
class File:
    """One source file as a tree. ``unclear`` are names of declarations whose header could not be read: a reference
    to one of them is no further mistake. ``differs`` are places that profile 2 would read differently, in a file that
    does not say its profile."""

    path: str
    profile: int
    imports: tuple[Import, ...]
    declarations: tuple[Declaration | Use, ...]
    comments: tuple[Comment, ...] = field(default=(), compare=False)
    unclear: frozenset[str] = field(default=frozenset(), compare=False)
    differs: tuple[Span, ...] = field(default=(), compare=False)
