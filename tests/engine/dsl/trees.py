"""Hypothesis strategies over the tree of a source file: everything that the parser can make, without comments."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from engine.dsl.ast import (
    Block,
    Constraint,
    Declaration,
    EdgeLine,
    Entry,
    File,
    ForeachClause,
    Import,
    ListValue,
    LoopClause,
    MapValue,
    NodeRef,
    Property,
    Scalar,
    ScalarKind,
    Style,
    Text,
    TypeValue,
    Use,
    When,
    WithLine,
)
from engine.dsl.graph import Span
from engine.dsl.parser.blocks import NODE_WORDS
from engine.dsl.spelling import Spelling, Unprintable, is_block

HERE = Span("x.bot", 1, 1)
CLAUSES = ("when", "else", "with", "as")
NAMES = st.sampled_from(
    [*"abxyz", "größe", "_hidden", "n2", "agent", "tool", "when", "as", "with", "not", "foreach", "entry"]
)
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
TRICKY = st.sampled_from(
    ["", "true", "a.b", "a: b", "# no", "it's", 'say "hi"', "\\", '\\"', "`x`", "{{vars.x}}", "a\n\n  b\n", "a\n\n",
     " lead\n", "-> x", "two\nlines", "${HOME}", "|", "5", "\t", "a\r\nb"]
)  # fmt: skip
TEXTS = ANY_TEXT | TRICKY


def scalar(text: str, style: Style) -> Scalar:
    return Scalar(ScalarKind.TEXT, text, HERE, style)


@cache
def printable(decodes: bool, *, block: bool = False) -> st.SearchStrategy[str]:
    """Texts that some form of a string can hold."""

    def holds(text: str) -> bool:
        try:
            Spelling(decodes).string(text)
        except Unprintable:
            return block and is_block(text)
        return True

    return TEXTS.filter(holds)


@cache
def literals(decodes: bool, *, block: bool = False) -> st.SearchStrategy[Scalar]:
    styles = st.sampled_from([Style.BARE, Style.QUOTED, Style.RAW, *([Style.BLOCK] if block else [])])
    numbers = st.integers(-(2**63) + 1, 2**63 - 1).map(lambda number: Scalar(ScalarKind.INT, number, HERE))
    floats = st.sampled_from([0.0, 0.5, -2.25, 3.0, 123456.75, 0.001, 1e15]).map(
        lambda n: Scalar(ScalarKind.FLOAT, n, HERE)
    )
    bools = st.booleans().map(lambda value: Scalar(ScalarKind.BOOL, value, HERE))
    return st.builds(scalar, printable(decodes, block=block), styles) | NAMES.map(word) | numbers | floats | bools


def word(name: str) -> Scalar:
    return scalar(name, Style.BARE)


@cache
def lists(decodes: bool) -> st.SearchStrategy[ListValue]:
    dotted = st.sampled_from(["a.b", "board.*", "x.y.z", "a.b.*"]).map(lambda name: scalar(name, Style.DOTTED))
    items = st.lists(literals(decodes) | dotted, max_size=3).map(tuple)
    return st.builds(lambda found, dashes: ListValue(found, HERE, dashes), items, st.booleans())


@cache
def maps(decodes: bool) -> st.SearchStrategy[MapValue]:
    pairs = st.dictionaries(NAMES | printable(decodes), literals(decodes), max_size=3)
    return pairs.map(lambda found: MapValue(tuple(Entry(key, value, HERE) for key, value in found.items()), HERE))


@cache
def types(decodes: bool) -> st.SearchStrategy[TypeValue]:
    values = st.lists(printable(decodes), min_size=1, max_size=3).map(tuple)
    constraint = st.builds(
        lambda name, found: Constraint(name, found, HERE), st.sampled_from(["enum", "matching"]), values
    )
    default = st.none() | literals(decodes) | lists(decodes)
    made = st.builds(
        lambda name, constraints, value, optional: TypeValue(name, HERE, constraints, value, optional),
        st.sampled_from(["string", "int", "string[]", "thing[]"]),
        st.lists(constraint, max_size=2).map(tuple),
        default,
        st.booleans(),
    )
    return made.filter(lambda t: t.name.endswith("[]") or bool(t.constraints) or t.default is not None or t.optional)


@cache
def edges(decodes: bool) -> st.SearchStrategy[EdgeLine]:
    nodes = st.lists(NAMES, min_size=1, max_size=2).map(lambda names: NodeRef(".".join(names), HERE))
    quoted = printable(decodes).map(lambda text: scalar(text, Style.QUOTED))
    fields = NAMES.map(lambda name: When(HERE, name))
    negated = NAMES.filter(lambda name: name not in CLAUSES).map(lambda name: When(HERE, name, negated=True))
    whens = st.none() | fields | negated | quoted.map(lambda text: When(HERE, expression=text))
    counts = st.integers(0, 9).map(lambda number: Scalar(ScalarKind.INT, number, HERE))
    loops = st.builds(lambda name, cap: LoopClause(name, HERE, cap), NAMES, counts | quoted) | st.builds(
        lambda name, cap: LoopClause(name, HERE, cap, unbounded=True), NAMES, st.none() | counts
    )
    foreaches = st.builds(lambda name, element, items: ForeachClause(name, element, items, HERE), NAMES, NAMES, quoted)

    def edge(path: list[NodeRef], when: When | None, repeat: Any, mapping: MapValue | None, other: bool) -> EdgeLine:
        loop = repeat if isinstance(repeat, LoopClause) else None
        foreach = repeat if isinstance(repeat, ForeachClause) else None
        return EdgeLine(tuple(path), HERE, when, other and when is None, loop, foreach, mapping)

    paths = st.lists(nodes, min_size=2, max_size=3)
    return st.builds(edge, paths, whens, st.none() | loops | foreaches, st.none() | maps(decodes), st.booleans())


@cache
def blocks(decodes: bool) -> st.SearchStrategy[Block]:
    values = st.none() | literals(decodes, block=True) | lists(decodes) | maps(decodes) | types(decodes)
    keys = NAMES | printable(decodes)
    leaves = (
        st.builds(lambda key, value: Property(key, value, None, HERE), keys, values)
        | edges(decodes)
        | maps(decodes).map(lambda found: WithLine(found, HERE))
    )
    return st.recursive(
        st.lists(leaves, min_size=1, max_size=3).map(block),
        lambda inner: st.lists(
            leaves
            | st.builds(
                lambda key, value, below: Property(key, value, below, HERE), keys, st.none() | NAMES.map(word), inner
            ),
            min_size=1,
            max_size=3,
        ).map(block),
        max_leaves=3,
    )


def block(entries: list[Any]) -> Block:
    return Block(tuple(entries), HERE)


@cache
def bodies(profile: int) -> st.SearchStrategy[str]:
    lines = (ANY_TEXT | st.sampled_from(["# text", "key: value", "`", "->", "  deeper", "\tx", '"'])).filter(
        lambda line: bool(line.strip(" \t")) and not set(line) & set("\n\r")
    )
    first = lines.filter(lambda line: line[0] != " ")
    middle = st.lists(lines | st.just("") if profile == 2 else lines, max_size=3)
    whole = st.builds(lambda head, rest, last: "\n".join([head, *rest, last]), first, middle, lines)
    return whole | first | st.just("")


@cache
def declarations(profile: int) -> st.SearchStrategy[Declaration | Use]:
    decodes = profile == 2
    body = blocks(decodes)
    maybe = st.none() | body
    nodes = st.builds(
        lambda kind, name, below: Declaration(kind, name, below, HERE, HERE), st.sampled_from(NODE_WORDS), NAMES, body
    )
    plain = st.sampled_from(["vars", "presets", "attachments", "secrets"])
    named = st.sampled_from(["schema", "mcp_server", "cursor", "supervisor", "contract", "workflow"])
    members = st.lists(nodes | edges(decodes), min_size=1, max_size=3).map(block)
    return st.one_of(
        nodes,
        st.builds(lambda kind, below: Declaration(kind, "", below, HERE, HERE), plain, maybe),
        st.builds(lambda kind, name, below: Declaration(kind, name, below, HERE, HERE), named, NAMES, maybe),
        st.builds(
            lambda name, text: Declaration("prompt", name, None, HERE, HERE, text=Text(text, HERE)),
            NAMES,
            bodies(profile),
        ),
        st.builds(
            lambda name, names, below: Declaration("group", name, below, HERE, HERE, tuple(names)),
            NAMES,
            st.lists(NAMES, max_size=2, unique=True),
            st.none() | members,
        ),
        st.builds(
            lambda group, prefix, found: Use(group, prefix, found, HERE, HERE), NAMES, NAMES, st.none() | maps(decodes)
        ),
    )


def files() -> st.SearchStrategy[File]:
    """Whole files in both profiles."""
    return in_profile(1) | in_profile(2)


@cache
def in_profile(profile: int) -> st.SearchStrategy[File]:
    imports = st.lists(printable(profile == 2).map(lambda path: Import(path, HERE)), max_size=2).map(tuple)
    content = st.lists(declarations(profile), max_size=4).map(tuple)
    return st.builds(lambda first, then: File("x.bot", profile, first, then), imports, content)
