"""Blocks of the tree checked against ``shapes``: from properties as written to values by name.

Called by ``draft`` for every declaration. Reports unknown keys (E012), keys given twice (E010), values that do not fit
(E020 or the code of the property), and notes every construct that is EXTENDED, for X001. Blocks whose lines are data
(``vars``, ``expr``, ``resources`` …) are handed on as they are. Implements language.md 2.5, 3 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from engine.dsl.ast import (
    Block,
    EdgeLine,
    ListValue,
    MapValue,
    Property,
    Scalar,
    ScalarKind,
    Style,
    TypeValue,
    WithLine,
)
from engine.dsl.diagnostics import Diagnostics, nearest
from engine.dsl.graph import Span
from engine.dsl.shapes import SHAPES, Mark, Prop, Shape, Want

HOMES = ("agent", "router", "human", "tool", "compute", "subbot", "fail", "workflow", "budget")
DATA_BLOCKS = frozenset({"vars", "attachments"})
WORDED = frozenset({ScalarKind.TEXT, ScalarKind.BOOL})


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose block is read: a kind and a name, which may be empty (``budget``)."""

    kind: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind} `{self.name}`" if self.name else f"`{self.kind}`"


@dataclass(frozen=True, slots=True)
class Feature:
    """Something EXTENDED that was used; ``advisory`` ones never stop a run."""

    text: str
    span: Span
    owner: Owner
    advisory: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One property that was read: its value, the literal it came from if it was one, and the line itself."""

    data: object
    scalar: Scalar | None
    line: Property

    @property
    def span(self) -> Span:
        """The place of the value, else of the key."""
        return self.scalar.span if self.scalar else self.line.span


@dataclass(slots=True)
class Section:
    """A block that was read: properties by name, edges, ``with`` line, in the order of the text."""

    span: Span
    items: dict[str, Item] = field(default_factory=dict)
    edges: list[EdgeLine] = field(default_factory=list)
    mapping: MapValue | None = None
    unclear: bool = False

    def lacks(self, key: str) -> bool:
        """Whether the property is missing or empty; one whose value is wrong is not missing as well."""
        item = self.items.get(key)
        return not self.unclear if item is None else item.data == ""

    def has(self, key: str) -> bool:
        """Whether the property was given, whatever its value."""
        return key in self.items

    def text(self, key: str, default: str = "") -> str:
        """The text of a property."""
        item = self.items.get(key)
        return item.data if item is not None and isinstance(item.data, str) else default

    def scalar(self, key: str) -> Scalar | None:
        """The literal of a property."""
        item = self.items.get(key)
        return item.scalar if item else None

    def flag(self, key: str) -> bool:
        """A bool that is false by default."""
        item = self.items.get(key)
        return item is not None and item.data is True

    def number(self, key: str) -> float:
        """A number that is 0 by default."""
        item = self.items.get(key)
        data = item.data if item else 0
        return data if isinstance(data, (int, float)) else 0

    def names(self, key: str) -> tuple[Scalar, ...]:
        """The elements of a list."""
        item = self.items.get(key)
        return item.data if item is not None and isinstance(item.data, tuple) else ()

    def section(self, key: str) -> Section | None:
        """A nested block."""
        item = self.items.get(key)
        return item.data if item is not None and isinstance(item.data, Section) else None

    def place(self, key: str) -> Span:
        """Where a property stands, else where the block starts."""
        item = self.items.get(key)
        return item.span if item else self.span


class Reader:
    """Reads blocks; collects the EXTENDED constructs that it meets in ``features``."""

    def __init__(self, found: Diagnostics) -> None:
        self.found = found
        self.features: list[Feature] = []

    def section(self, block: Block | None, shape_name: str, owner: Owner, span: Span) -> Section:
        """The block as a section; an absent block is an empty one that starts at ``span``."""
        shape = SHAPES[shape_name]
        section = Section(span, unclear=block is not None and block.unclear)
        for entry in block.entries if block else ():
            if isinstance(entry, Property):
                self._property(entry, shape, owner, section)
            elif isinstance(entry, EdgeLine) and shape.edges:
                section.edges.append(entry)
            elif isinstance(entry, WithLine) and shape.mapping and section.mapping is None:
                section.mapping = entry.map
            elif isinstance(entry, WithLine) and shape.mapping:
                self.found.add("E010", entry, what="the line", name="with", first="the lines above")
            else:
                what = "an edge" if isinstance(entry, EdgeLine) else "`with`"
                where = "edges stand in the workflow" if isinstance(entry, EdgeLine) else f"{owner} has no `with`"
                self.found.add("E001", entry, found=what, expected=where)
        return section

    def _property(self, entry: Property, shape: Shape, owner: Owner, section: Section) -> None:
        prop = shape.known.get(entry.key, shape.other)
        if prop is None:
            if entry.broken:
                self.found.forgive(entry.span.file, entry.span.line, entry.span.line)
            hint = _unknown(entry.key, shape, owner)
            self.found.add("E012", entry, name=entry.key, owner=str(owner), hint=hint, node=_node(owner))
            return
        first = section.items.get(entry.key)
        if first is not None:
            where = f"line {first.line.span.line}"
            problem = f"parameter `{entry.key}` is given twice, first on {where}"
            fields = {"what": "the key", "name": entry.key, "first": where, "problem": problem, "expected": "keep one"}
            self.found.add(shape.twice, entry, node=_node(owner), **fields)
            return
        self._note(entry, prop, owner)
        item = None if entry.broken else _READERS[prop.want](self, entry, prop, owner)
        section.items[entry.key] = item or Item(None, None, entry)

    def _note(self, entry: Property, prop: Prop, owner: Owner) -> None:
        if prop.mark in (Mark.EXTENDED, Mark.ADVISORY):
            text = f"`{entry.key}` in {owner}"
            self.features.append(Feature(text, entry.span, owner, prop.mark is Mark.ADVISORY))

    def bad(self, entry: Property, prop: Prop, owner: Owner, expected: str = "", at: Span | None = None) -> None:
        """Report that the value of ``entry`` is not what the property takes."""
        expected = expected or _expected(prop)
        shown = shown_value(entry.value) if entry.value is not None else "empty"
        place = at or (entry.value.span if entry.value is not None else entry.span)
        problem = f"`{entry.key}` cannot be {shown}"
        name = entry.key if prop.code == "E020" else owner.name
        if prop.want is Want.WORD and isinstance(entry.value, Scalar):
            close = nearest(entry.value.text, prop.words)
            expected = f"did you mean `{close}`? the words are {', '.join(prop.words)}" if close else expected
        fields = {"name": name, "found": shown, "expected": expected, "problem": problem}
        if prop.code == "E020" and expected.startswith("did you"):
            fields["hint"] = expected
        self.found.add(prop.code, place, node=_node(owner), **fields)

    def without_block(self, entry: Property) -> None:
        """Report a block below a property that has none."""
        if entry.block is not None:
            self.found.add("E001", entry.block, found="indentation", expected=f"`{entry.key}` takes no block")


def _unknown(key: str, shape: Shape, owner: Owner) -> str:
    """A hint for an unknown property: the nearest one, or whose property it is."""
    homes = [kind for kind in HOMES if key in SHAPES[kind].known]
    whose = f"`{key}` is a property of {', '.join(homes)}" if homes else f"remove it; {owner} does not know it"
    close = nearest(key, shape.known)
    return f"did you mean `{close}`?" if close else whose


def _expected(prop: Prop) -> str:
    if prop.want is Want.WORD:
        return " or ".join(prop.words) if len(prop.words) < 3 else "one of " + ", ".join(prop.words)
    return str(prop.want)


def _node(owner: Owner) -> str:
    return owner.name if owner.kind in SHAPES and owner.kind not in ("workflow",) else ""


def shown_value(value: object) -> str:
    """A value as a message shows it."""
    if isinstance(value, Scalar):
        text = value.text if len(value.text) <= 40 else value.text[:37] + "…"
        text = text.replace("\n", " ")
        return f"`{text}`" if value.style in (Style.BARE, Style.DOTTED) else f'"{text}"'
    if isinstance(value, ListValue):
        return "a list"
    if isinstance(value, MapValue):
        return "a map"
    return "a type" if isinstance(value, TypeValue) else "empty"


def is_name(text: str) -> bool:
    """Whether ``text`` is a name of language.md 2.3."""
    return text.isidentifier()


def _text(reader: Reader, entry: Property, prop: Prop, owner: Owner) -> Item | None:
    reader.without_block(entry)
    value = entry.value
    if isinstance(value, Scalar) and value.kind in WORDED and value.style is not Style.DOTTED:
        return Item(value.text, value, entry)
    reader.bad(entry, prop, owner, _quote_it(value))
    return None


def _quote_it(value: object) -> str:
    if isinstance(value, Scalar):
        return f'it in quotes: "{value.text}"'
    return ""


def _name(reader: Reader, entry: Property, prop: Prop, owner: Owner) -> Item | None:
    reader.without_block(entry)
    value = entry.value
    if isinstance(value, Scalar) and value.kind in WORDED and is_name(value.text):
        return Item(value.text, value, entry)
    reader.bad(entry, prop, owner)
    return None


def _ref(reader: Reader, entry: Property, prop: Prop, owner: Owner) -> Item | None:
    reader.without_block(entry)
    value = entry.value
    if isinstance(value, Scalar) and value.kind in WORDED:
        return Item(value.text, value, entry)
    reader.bad(entry, prop, owner)
    return None


def _bool(reader: Reader, entry: Property, prop: Prop, owner: Owner) -> Item | None:
    reader.without_block(entry)
    value = entry.value
    if isinstance(value, Scalar) and value.text in ("true", "false"):
        return Item(value.text == "true", value, entry)
    reader.bad(entry, prop, owner)
    return None


def _int(reader: Reader, entry: Property, prop: Prop, owner: Owner) -> Item | None:
    reader.without_block(entry)
    value = entry.value
    if isinstance(value, Scalar) and value.kind is ScalarKind.INT and int(value.value) >= 0:
        return Item(value.value, value, entry)
    reader.bad(entry, prop, owner)
    return None


def _number(reader: Reader, entry: Property, prop: Prop, owner: Owner) -> Item | None:
    reader.without_block(entry)
    value = entry.value
    if isinstance(value, Scalar) and value.kind in (ScalarKind.INT, ScalarKind.FLOAT):
        number = float(value.value)
        if 0 <= number < float("inf"):
            return Item(value.value, value, entry)
    reader.bad(entry, prop, owner)
    return None


def _word(reader: Reader, entry: Property, prop: Prop, owner: Owner) -> Item | None:
    reader.without_block(entry)
    value = entry.value
    if isinstance(value, Scalar):
        word = value.text
        if word in prop.words or (prop.environment and "$" in word):
            if word in prop.extended:
                text = f"`{entry.key}: {word}` in {owner}"
                reader.features.append(Feature(text, value.span, owner))
            return Item(word, value, entry)
    reader.bad(entry, prop, owner)
    return None


def _list(reader: Reader, entry: Property, prop: Prop, owner: Owner) -> Item | None:
    reader.without_block(entry)
    value = entry.value
    if prop.single and isinstance(value, Scalar):
        value = ListValue((value,), value.span)
    if not isinstance(value, ListValue):
        reader.bad(entry, prop, owner)
        return None
    for element in value.items:
        if not _fits_list(element, prop.want):
            name = entry.key if prop.code == "E020" else owner.name
            shown = shown_value(element)
            problem = f"`{entry.key}` cannot hold {shown}"
            fields = {"name": name, "found": shown, "expected": _expected(prop), "problem": problem}
            reader.found.add(prop.code, element, node=_node(owner), **fields)
            return None
    return Item(value.items, None, entry)


def _fits_list(element: Scalar, want: Want) -> bool:
    if want is Want.NAMES:
        return element.kind in WORDED and is_name(element.text.replace(".", "_"))
    if want is Want.TEXTS:
        return element.kind is ScalarKind.TEXT and element.style is not Style.DOTTED
    return element.kind in WORDED


def _nested(reader: Reader, entry: Property, prop: Prop, owner: Owner) -> Item | None:
    if entry.value is not None:
        reader.bad(entry, prop, owner)
        return None
    if prop.shape in DATA_BLOCKS:
        return Item(entry.block, None, entry)
    inner = owner if prop.shape in ("expr", "params", "route") else Owner(entry.key, owner.name)
    found = Reader(reader.found)
    section = found.section(entry.block, prop.shape, inner, entry.span)
    reader.features.extend(Feature(f.text, f.span, owner, f.advisory) for f in found.features)
    return Item(section, None, entry)


def _map(reader: Reader, entry: Property, prop: Prop, owner: Owner) -> Item | None:
    if isinstance(entry.value, MapValue):
        reader.without_block(entry)
        return Item({pair.key: pair.value for pair in entry.value.entries}, None, entry)
    if entry.value is not None:
        reader.bad(entry, prop, owner)
        return None
    data: dict[str, Scalar] = {}
    for line in entry.block.properties() if entry.block else ():
        if isinstance(line.value, Scalar):
            data[line.key] = line.value
        else:
            reader.bad(line, prop, owner, "a literal")
    return Item(data, None, entry)


def _sandbox(reader: Reader, entry: Property, prop: Prop, owner: Owner) -> Item | None:
    if entry.value is not None:
        item = _word(reader, entry, prop, owner)
        if item is not None and item.data == "inline":
            reader.features.append(Feature(f"`sandbox: inline` in {owner}", entry.span, owner))
        return item
    section = reader.section(entry.block, prop.shape, Owner("sandbox", owner.name), entry.span)
    mode = section.text("mode", "inline")
    if mode == "inline":
        reader.features.append(Feature(f"an inline `sandbox` in {owner}", entry.span, owner))
    return Item(section, None, entry)


def _open(reader: Reader, entry: Property, _prop: Prop, _owner: Owner) -> Item | None:
    reader.without_block(entry)
    scalar = entry.value if isinstance(entry.value, Scalar) else None
    return Item(scalar.value if scalar else entry.value, scalar, entry)


_READERS: Mapping[Want, Callable[[Reader, Property, Prop, Owner], Item | None]] = {
    Want.TEXT: _text,
    Want.PROMPT: _text,
    Want.NAME: _name,
    Want.REF: _ref,
    Want.BOOL: _bool,
    Want.INT: _int,
    Want.NUMBER: _number,
    Want.WORD: _word,
    Want.NAMES: _list,
    Want.TEXTS: _list,
    Want.TOOLS: _list,
    Want.BLOCK: _nested,
    Want.MAP: _map,
    Want.SANDBOX: _sandbox,
    Want.OPEN: _open,
}
