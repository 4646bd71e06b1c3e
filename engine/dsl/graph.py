"""The compiled workflow: what the compiler hands out and the runtime walks.

Made by ``dsl.compiler`` only, and only when no diagnostic is an error. Every record is frozen, so that threads of
one process may share a graph. It promises structure, not behaviour: what a node *does* is ``engine/nodes``, which
edge is taken is ``engine/runtime/edges.py``. Implements language.md 4 to 7 and 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.dsl.expressions import Expression
    from engine.dsl.templates import Template

DONE = "done"
FAIL = "fail"
TERMINALS = frozenset({DONE, FAIL})


class NodeKind(StrEnum):
    """Every kind of node of language.md 5; ``done`` and the plain ``fail`` are terminals, not nodes."""

    AGENT = "agent"
    JUDGE = "judge"
    ROUTER = "router"
    HUMAN = "human"
    TOOL = "tool"
    COMPUTE = "compute"
    SUBBOT = "subbot"
    FAIL = "fail"
    EMIT = "emit"
    WAIT = "wait"
    AWAIT_ANSWERS = "await_answers"


class RouterMode(StrEnum):
    """The five modes of a router (language.md 5.2)."""

    FAN_OUT_ALL = "fan_out_all"
    FAN_OUT_EACH = "fan_out_each"
    CONDITION = "condition"
    ROUND_ROBIN = "round_robin"
    LLM = "llm"


class ValueType(StrEnum):
    """The types of vars and schema fields (language.md 4.1, 4.5)."""

    STRING = "string"
    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    JSON = "json"
    STRINGS = "string[]"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a source file: path as given to the loader, 1-based line and column."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a schema."""

    name: str
    type: ValueType
    enum: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """A declared schema; order of fields is the order of the text (it orders a form)."""

    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Var:
    """A launch value. ``required`` when the text gives no default; ``default`` is already read into its type,
    except that string defaults keep their environment forms until launch (language.md 2.6)."""

    name: str
    type: ValueType
    required: bool
    default: object = None
    enum: tuple[str, ...] = ()
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """Caps of ``budget:``; 0 is unlimited, durations in seconds (language.md 10)."""

    max_parallel_branches: int = 0
    max_duration: float = 0.0
    max_duration_text: str = ""
    max_cost_usd: float = 0.0
    max_tokens: int = 0
    warn_tokens: int = 0
    max_iterations: int = 0
    pause_on_exceeded: bool = False


@dataclass(frozen=True, slots=True)
class AttachmentSlot:
    """A file that a launch hands over (language.md 4.3). ``accept`` are types such as ``text/*``, empty for any.

    ``bundled`` is the absolute path of the file that the bundle brings along, empty for none.
    """

    name: str
    image: bool = False
    required: bool = False
    accept: tuple[str, ...] = ()
    description: str = ""
    bundled: str = ""


@dataclass(frozen=True, slots=True)
class Mapped:
    """One ``key: value`` of a ``with`` map."""

    key: str
    value: Template


class LoopKind(StrEnum):
    """How a loop clause bounds itself (language.md 7.4)."""

    BOUNDED = "bounded"
    TEMPLATE = "template"
    EXPRESSION = "expression"
    UNBOUNDED = "unbounded"
    FOREACH = "foreach"


@dataclass(frozen=True, slots=True)
class Loop:
    """A named loop of the workflow with everything that edges of that name share.

    ``cap`` is the literal bound, or the fuel of an unbounded loop (0: ``budget.max_iterations``). ``entries`` are the
    targets of its edges, ``body`` the ends of its edges plus what lies between a target and a source over edges
    without loop clause. ``element`` and ``items`` belong to a foreach.
    """

    name: str
    kind: LoopKind
    cap: int = 0
    cap_template: Template | None = None
    cap_expression: Expression | None = None
    element: str = ""
    items: Template | None = None
    entries: frozenset[str] = frozenset()
    body: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge. ``index`` is its place among all edges of the workflow, in declaration order.

    At most one of ``when_field`` and ``when_expression`` is set; ``otherwise`` is the ``else`` clause.
    """

    index: int
    source: str
    target: str
    when_field: str = ""
    negated: bool = False
    when_expression: Expression | None = None
    when_text: str = ""
    otherwise: bool = False
    loop: str = ""
    mappings: tuple[Mapped, ...] = ()
    span: Span | None = None

    @property
    def conditional(self) -> bool:
        """Whether the edge has a ``when`` clause."""
        return bool(self.when_field) or self.when_expression is not None

    @property
    def plain(self) -> bool:
        """Neither condition nor loop clause (language.md 7.1)."""
        return not self.conditional and not self.loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What every kind shares. ``convergence`` is the declared ``await`` word or empty."""

    name: str
    kind: NodeKind
    description: str = ""
    input: str = ""
    output: str = ""
    publish: str = ""
    artifact_labels: tuple[str, ...] = ()
    convergence: str = ""
    needs: tuple[str, ...] = ()
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNode(Node):
    """A tool. Exactly one of ``command``, ``script`` and ``action`` is set; ``timeout`` in seconds, 0 for none
    and for an environment form, which stays in ``timeout_text`` until the node runs (language.md 2.6). ``repairs`` is
    how often the command may be run again while its ``postcondition`` does not hold, 0 unless ``policy`` is recover."""

    command: Template | None = None
    script: Template | None = None
    language: str = "sh"
    action: str = ""
    connection: str = ""
    params: tuple[Mapped, ...] = ()
    idempotency_key: Template | None = None
    timeout: float = 0.0
    timeout_text: str = ""
    parallel_safe: bool = False
    readonly: bool = False
    postcondition: Template | None = None
    policy: str = ""
    repairs: int = 0
    sandbox: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeNode(Node):
    """``expr`` lines in order."""

    lines: tuple[tuple[str, Expression], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanNode(Node):
    """A question. ``instructions`` is the rendered-later prompt text; ``min_answers`` 0 means every field."""

    instructions: Template | None = None
    interaction: str = "human"
    min_answers: int = 0
    properties: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterNode(Node):
    """A router; ``element`` is the name of ``as`` of a ``fan_out_each``."""

    mode: RouterMode = RouterMode.FAN_OUT_ALL
    over: Template | None = None
    element: str = "item"
    key: str = ""
    depends_on: str = ""
    multi: bool = False
    properties: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class FailNode(Node):
    """A named fail; an empty ``code`` means the table's code of the plain terminal."""

    code: str = ""
    message: Template | None = None
    resumable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentNode(Node):
    """An agent or a judge. The raw properties are kept as text for the backend that runs it."""

    model: str = ""
    backend: str = ""
    system: Template | None = None
    user: Template | None = None
    session: str = "fresh"
    tools: tuple[str, ...] = ()
    timeout: float = 0.0
    timeout_text: str = ""
    readonly: bool = False
    interaction: str = ""
    properties: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class SubbotNode(Node):
    """A child run. ``source`` is the absolute path that the loader resolved."""

    source: str = ""
    mappings: tuple[Mapped, ...] = ()
    isolated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalNode(Node):
    """``emit``, ``wait`` and ``await_answers``; ``timeout`` in seconds."""

    event: str = ""
    mappings: tuple[Mapped, ...] = ()
    timeout: float = 0.0
    timeout_text: str = ""
    await_from: str = ""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One text behind the digest: path relative to the main file's folder, with ``/`` (language.md 15)."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Graph:
    """A whole compiled workflow. Mappings are read-only; ``edges`` and ``incoming`` keep declaration order.

    ``convergence`` gives the join of a fan-out router (language.md 7.6), absent where there is none; ``preset_texts``
    the extra system text of a preset that comes from a bundle (13).
    """

    workflow: str
    entry: str
    nodes: Mapping[str, Node]
    edges: Mapping[str, tuple[Edge, ...]]
    incoming: Mapping[str, tuple[Edge, ...]]
    schemas: Mapping[str, Schema]
    vars: Mapping[str, Var]
    presets: Mapping[str, Mapping[str, object]]
    loops: Mapping[str, Loop]
    budget: Budget
    convergence: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    interaction: str = ""
    default_backend: str = ""
    worktree: str = "none"
    sandbox: str = "none"
    loop_budget_guard: bool = True
    resources: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    digest: str = ""
    sources: tuple[SourceFile, ...] = ()
    folder: str = ""
    skills_dir: str = ""
    preset_texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    attachments: Mapping[str, AttachmentSlot] = field(default_factory=lambda: MappingProxyType({}))

    def outgoing(self, node: str) -> tuple[Edge, ...]:
        """Edges that start at ``node``, in declaration order; empty for a terminal."""
        return self.edges.get(node, ())

    def schema_of(self, name: str) -> Schema | None:
        """The schema called ``name``, or None for an empty name."""
        return self.schemas[name] if name else None
