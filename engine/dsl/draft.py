"""The unit on its way to a graph: every declaration by name, read and checked for its shape, with places.

Made by ``assemble``, filled up by ``texts``, judged by ``checks`` and turned into a ``Graph`` by ``compiler``. A draft
may be incomplete and full of mistakes; a graph never is. Records only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from engine.dsl.ast import Declaration, Entry, ForeachClause, LoopClause, Scalar, Text, When
from engine.dsl.data import PresetDraft, SchemaDraft, VarDraft
from engine.dsl.diagnostics import Diagnostics
from engine.dsl.expressions import Expression
from engine.dsl.graph import TERMINALS, Span
from engine.dsl.reader import Feature, Section
from engine.dsl.templates import Template


@dataclass(slots=True)
class NodeDraft:
    """A node with its properties; ``folder`` is that of the file that declares it."""

    name: str
    kind: str
    section: Section
    span: Span
    folder: Path

    def __str__(self) -> str:
        return f"{self.kind} `{self.name}`"


@dataclass(slots=True)
class EdgeDraft:
    """One arrow with its clauses. ``index`` is its place among all edges."""

    index: int
    source: str
    target: str
    source_span: Span
    target_span: Span
    when: When | None = None
    otherwise: bool = False
    loop: LoopClause | None = None
    foreach: ForeachClause | None = None
    mapping: tuple[Entry, ...] = ()
    clause_span: Span | None = None

    @property
    def span(self) -> Span:
        """Where the edge starts."""
        return self.source_span

    @property
    def label(self) -> str:
        """The edge as people write it."""
        return f"{self.source} -> {self.target}"

    @property
    def loop_name(self) -> str:
        """The name of its loop or foreach, or empty."""
        clause = self.loop or self.foreach
        return clause.name if clause else ""

    @property
    def plain(self) -> bool:
        """Neither condition nor loop clause."""
        return self.when is None and self.loop is None and self.foreach is None


@dataclass(slots=True)
class PromptDraft:
    """A prompt; ``text`` has its includes replaced. ``anonymous`` prompts stand in the property that uses them."""

    name: str
    text: Text
    span: Span
    literal: Scalar | None = None


class Use(StrEnum):
    """Where a text stands; decides what it may read and how it is rendered."""

    COMMAND = "command"
    SCRIPT = "script"
    VALUE = "value"
    ROUTING = "routing"
    PROMPT = "prompt"
    MAPPING = "mapping"
    CAP = "cap"
    EXPRESSION = "expression"
    CONDITION = "condition"


@dataclass(frozen=True, slots=True)
class Site:
    """One text that is read: at a node, or on an edge, under a key."""

    use: Use
    key: str
    scalar: Scalar
    node: NodeDraft | None = None
    edge: EdgeDraft | None = None

    @property
    def reader(self) -> str:
        """Who reads it, in words."""
        return str(self.node) if self.node else f"edge `{self.edge.label if self.edge else ''}`"


@dataclass(slots=True)
class Draft:
    """Everything that was declared, first declaration of a name first, and what was parsed from its texts.

    ``uses`` gives the group behind each prefix.
    """

    found: Diagnostics
    folder: Path
    nodes: dict[str, NodeDraft] = field(default_factory=dict)
    edges: list[EdgeDraft] = field(default_factory=list)
    schemas: dict[str, SchemaDraft] = field(default_factory=dict)
    prompts: dict[str, PromptDraft] = field(default_factory=dict)
    vars: dict[str, VarDraft] = field(default_factory=dict)
    presets: dict[str, PresetDraft] = field(default_factory=dict)
    others: dict[str, dict[str, OtherDraft]] = field(default_factory=dict)
    groups: dict[str, Declaration] = field(default_factory=dict)
    uses: dict[str, str] = field(default_factory=dict)
    workflow: WorkflowDraft | None = None
    features: list[Feature] = field(default_factory=list)
    unclear: frozenset[str] = frozenset()
    incomplete: bool = False
    main: str = ""
    outgoing: dict[str, list[EdgeDraft]] = field(default_factory=dict)
    incoming: dict[str, list[EdgeDraft]] = field(default_factory=dict)
    templates: dict[int, Template] = field(default_factory=dict)
    expressions: dict[int, Expression] = field(default_factory=dict)
    prompt_templates: dict[str, Template] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)

    def knows(self, node: str) -> bool:
        """Whether an edge or reference may name ``node`` without a further mistake."""
        return node in self.nodes or node in TERMINALS or node in self.unclear or self.incomplete

    def ends_at(self, node: str) -> bool:
        """Whether a run ends at ``node``: an edge out of it is X007, and no edge for anything else."""
        return node in TERMINALS or (node in self.nodes and self.nodes[node].kind == "fail")

    def other(self, kind: str) -> dict[str, OtherDraft]:
        """Declarations of a kind that is neither node nor data: cursors, secrets, attachments …"""
        return self.others.get(kind, {})


@dataclass(slots=True)
class OtherDraft:
    """A declaration of an EXTENDED kind, kept for its checks and for a later runtime."""

    kind: str
    name: str
    section: Section
    span: Span
    declaration: Declaration | None = None
    value: str = ""


@dataclass(slots=True)
class WorkflowDraft:
    """The workflow."""

    name: str
    section: Section
    span: Span
