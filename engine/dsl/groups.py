"""Groups: ``use`` copies the members of a ``group`` under a prefix, at compile time (language.md 11).

Called by ``assemble`` between parsing and reading. Works on the tree: a copy has new names, and new texts where the
language reads them; places stay those of the group, so that a mistake is shown where it was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from engine.dsl import templates
from engine.dsl.ast import (
    Block,
    BlockEntry,
    Declaration,
    EdgeLine,
    Entry,
    MapValue,
    NodeRef,
    Property,
    Scalar,
    ScalarKind,
    Style,
    Text,
    Use,
    WithLine,
)
from engine.dsl.diagnostics import Diagnostics, suggestion
from engine.dsl.graph import TERMINALS

MEMBER_KINDS = frozenset(["agent", "judge", "router", "human", "tool", "compute", "subbot", "fail"])
PROMPT_KEYS = frozenset({"system", "user", "instructions", "interaction_prompt"})
TEMPLATE_KEYS = PROMPT_KEYS | frozenset(
    [
        "command",
        "script",
        "postcondition",
        "over",
        "message",
        "review_url",
        "idempotency_key",
        "model",
        "backend",
        "provider",
        "interaction_model",
    ]
)
TEMPLATE_BLOCKS = frozenset({"params"})
EXPRESSION_BLOCKS = frozenset({"expr"})

_IN_TEMPLATE = re.compile(r"(\{\{\s*+!?+\s*+(outputs|loop|each)\s*+\.\s*+)(\w++)")
_IN_EXPRESSION = re.compile(
    r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|((?<![\w.\]])(outputs|loop|each)\s*+\.\s*+)(\w++)""", re.DOTALL
)


@dataclass(slots=True)
class Copies:
    """What a unit's ``use`` lines made: nodes, edges, and prompts of their own."""

    nodes: list[Declaration] = field(default_factory=list)
    edges: list[EdgeLine] = field(default_factory=list)
    prompts: list[Declaration] = field(default_factory=list)


def expand(
    uses: list[Use], groups: Mapping[str, Declaration], prompts: Mapping[str, Declaration], found: Diagnostics
) -> Copies:
    """The copies of all ``uses``. ``prompts`` are those that members may name."""
    copies = Copies()
    for use in uses:
        group = groups.get(use.group)
        if group is None:
            hint = suggestion(use.group, groups, f"declare `group {use.group}:`")
            found.add("C116", use, name=use.group, hint=hint)
            continue
        copy = _Copy(use, group, prompts, found).run()
        copies.nodes += copy.nodes
        copies.edges += copy.edges
        copies.prompts += copy.prompts
    return copies


def members_of(group: Declaration, found: Diagnostics) -> tuple[list[Declaration], list[EdgeLine]]:
    """The nodes and edges of a group; anything else in it is reported."""
    nodes: list[Declaration] = []
    edges: list[EdgeLine] = []
    for entry in group.block.entries if group.block else ():
        if isinstance(entry, EdgeLine):
            edges.append(entry)
        elif isinstance(entry, Declaration) and entry.kind in MEMBER_KINDS:
            nodes.append(entry)
            if entry.name in TERMINALS:
                found.add("C042", entry.name_span, name=entry.name)
        else:
            what = f"{entry.kind} `{entry.name}`" if isinstance(entry, Declaration) else "this line"
            found.add("E001", entry, found=what, expected="a group holds nodes and edges")
    if not nodes:
        found.add("C141", group, name=group.name)
    return nodes, edges


def prompts_with_parameters(declared: Iterable[Declaration], prompts: Mapping[str, Declaration]) -> frozenset[str]:
    """The prompts that read ``params`` and that a member of some group names."""
    found: set[str] = set()
    for group in declared:
        for member in group.block.entries if group.block else ():
            block = member.block if isinstance(member, Declaration) else None
            for line in block.properties() if block else ():
                prompt = prompts.get(line.value.text) if isinstance(line.value, Scalar) else None
                if line.key in PROMPT_KEYS and prompt and prompt.text and templates.params(prompt.text.value):
                    found.add(prompt.name)
    return frozenset(found)


def _bindings(use: Use, group: Declaration, found: Diagnostics) -> dict[str, str]:
    given = {entry.key: entry.value.text for entry in use.bindings.entries} if use.bindings else {}
    missing = [name for name in group.parameters if name not in given]
    extra = [name for name in given if name not in group.parameters]
    problems = [f"`{name}` is missing" for name in missing] + [f"`{name}` is unknown" for name in extra]
    if problems:
        expected = ", ".join(group.parameters) or "none"
        found.add("C117", use, group=group.name, problem=", ".join(problems), expected=expected)
    return {**{name: name for name in group.parameters}, **given}  # a word, so that nothing else is said of its place


class _Copy:
    """One ``use``."""

    def __init__(self, use: Use, group: Declaration, prompts: Mapping[str, Declaration], found: Diagnostics) -> None:
        self.prefix = use.prefix
        self.bindings = _bindings(use, group, found)
        self.prompts = prompts
        self.nodes, self.edges = members_of(group, found)
        self.names = {node.name for node in self.nodes}
        self.loops = {clause.name for edge in self.edges if (clause := edge.loop or edge.foreach)}
        self.copied: dict[str, str] = {}
        self.copies = Copies()

    def run(self) -> Copies:
        """The copy."""
        for node in self.nodes:
            block = self._block(node.block) if node.block else None
            self.copies.nodes.append(replace(node, name=self._prefixed(node.name), block=block))
        self.copies.edges.extend(self._edge(edge) for edge in self.edges)
        return self.copies

    def _prefixed(self, name: str) -> str:
        return f"{self.prefix}.{name}"

    def _renamed(self, found: re.Match[str]) -> str:
        if found[2] is None:
            return found[0]
        known = self.names if found[2] == "outputs" else self.loops
        return found[1] + (self._prefixed(found[3]) if found[3] in known else found[3])

    def template(self, text: str) -> str:
        """A template as the copy has it."""
        if "{{" not in text:
            return text
        return templates.bind(_IN_TEMPLATE.sub(self._renamed, text), self.bindings)

    def expression(self, text: str) -> str:
        """An expression as the copy has it."""
        return templates.bind(_IN_EXPRESSION.sub(self._renamed, text), self.bindings)

    def _block(self, block: Block) -> Block:
        return replace(block, entries=tuple(self._entry(entry) for entry in block.entries))

    def _entry(self, entry: BlockEntry) -> BlockEntry:
        if isinstance(entry, WithLine):
            return replace(entry, map=self._map(entry.map))
        if not isinstance(entry, Property):
            return entry
        if entry.key in PROMPT_KEYS and isinstance(entry.value, Scalar) and entry.value.style is Style.BARE:
            return replace(entry, value=self._prompt(entry.value))
        if entry.key in TEMPLATE_KEYS and isinstance(entry.value, Scalar):
            return replace(entry, value=self._scalar(entry.value, self.template))
        if entry.block is not None and entry.key in TEMPLATE_BLOCKS | EXPRESSION_BLOCKS:
            read = self.expression if entry.key in EXPRESSION_BLOCKS else self.template
            lines = tuple(
                replace(line, value=self._scalar(line.value, read))
                if isinstance(line, Property) and isinstance(line.value, Scalar)
                else line
                for line in entry.block.entries
            )
            return replace(entry, block=replace(entry.block, entries=lines))
        return entry

    def _scalar(self, scalar: Scalar, read: Callable[[str], str]) -> Scalar:
        if scalar.kind is not ScalarKind.TEXT:
            return scalar
        return replace(scalar, value=read(scalar.text))

    def _prompt(self, scalar: Scalar) -> Scalar:
        """A prompt that reads parameters or members is copied; another one is shared."""
        declared = self.prompts.get(scalar.text)
        if declared is None or declared.text is None:
            return scalar
        if scalar.text not in self.copied:
            text = self.template(declared.text.value)
            name = scalar.text if text == declared.text.value else self._prefixed(scalar.text)
            self.copied[scalar.text] = name
            if name != scalar.text:
                copy = replace(declared, name=name, text=replace(declared.text, value=text))
                self.copies.prompts.append(copy)
        return replace(scalar, value=self.copied[scalar.text])

    def _map(self, found: MapValue) -> MapValue:
        entries = tuple(Entry(e.key, self._scalar(e.value, self.template), e.span) for e in found.entries)
        return replace(found, entries=entries)

    def _edge(self, edge: EdgeLine) -> EdgeLine:
        nodes = tuple(
            NodeRef(self._prefixed(node.name), node.span) if node.name in self.names else node for node in edge.nodes
        )
        when, loop, foreach = edge.when, edge.loop, edge.foreach
        if when and when.expression:
            when = replace(when, expression=self._scalar(when.expression, self.expression))
        if loop:
            cap = loop.cap
            if cap is not None and cap.kind is ScalarKind.TEXT:
                cap = self._scalar(cap, self.template if "{{" in self.bound(cap.text) else self.expression)
            loop = replace(loop, name=self._prefixed(loop.name), cap=cap)
        if foreach:
            items = self._scalar(foreach.items, self.template)
            foreach = replace(foreach, name=self._prefixed(foreach.name), items=items)
        mapping = self._map(edge.mapping) if edge.mapping else None
        return replace(edge, nodes=nodes, when=when, loop=loop, foreach=foreach, mapping=mapping)

    def bound(self, text: str) -> str:
        """``text`` with its parameters only."""
        return templates.bind(text, self.bindings)


def without_rows(text: Text, value: str) -> Text:
    """A prompt text with other words, which no longer have places of their own."""
    return text if value == text.value else replace(text, value=value, rows=())
