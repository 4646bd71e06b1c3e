"""What every check is given, and the names that references may use. Records and look-ups; nothing is reported here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from engine.dsl.bundle import Bundle
from engine.dsl.data import SchemaDraft
from engine.dsl.diagnostics import Diagnostics
from engine.dsl.draft import Draft, NodeDraft
from engine.dsl.flow import Flow
from engine.dsl.graph import Span
from engine.dsl.reader import Section
from engine.dsl.surroundings import Surroundings
from engine.dsl.unit import Unit

UNSETTLING = frozenset(["E001", "E002", "E003", "E004", "E031", "E032", "E046", "C001", "C008", "C116", "C117", "C118"])


@dataclass(frozen=True)
class Context:
    """One draft and the world around it."""

    draft: Draft
    flow: Flow
    around: Surroundings
    unit: Unit
    bundle: Bundle | None

    @property
    def found(self) -> Diagnostics:
        """Where findings go."""
        return self.draft.found

    @cached_property
    def workflow(self) -> Section:
        """The workflow's properties; an empty section when there is no workflow."""
        if self.draft.workflow:
            return self.draft.workflow.section
        return Section(Span(self.draft.main, 1, 1))

    @cached_property
    def settled(self) -> bool:
        """Whether the edges are known as they were meant: without it, what follows from missing edges is no news."""
        return not (self.draft.unclear or self.draft.incomplete) and not any(f.code in UNSETTLING for f in self.found)

    def schema(self, node: NodeDraft, key: str = "output") -> SchemaDraft | None:
        """The declared schema of a node, None when it names none, an unknown one, or one that is not clear."""
        schema = self.draft.schemas.get(node.section.text(key))
        return None if schema is None or schema.unclear else schema

    @cached_property
    def publishers(self) -> Mapping[str, list[NodeDraft]]:
        """Which nodes publish an artifact."""
        found: dict[str, list[NodeDraft]] = {}
        for node in self.draft.nodes.values():
            if node.section.text("publish"):
                found.setdefault(node.section.text("publish"), []).append(node)
        return found

    @cached_property
    def order(self) -> Mapping[str, int]:
        """The place of every node in the text."""
        return {name: place for place, name in enumerate(self.draft.nodes)}

    @cached_property
    def foreaches(self) -> frozenset[str]:
        """Names of foreach loops."""
        return frozenset(edge.foreach.name for edge in self.draft.edges if edge.foreach)

    def by_kind(self, *kinds: str) -> Iterable[NodeDraft]:
        """The nodes of some kinds, in the order of the text."""
        return (node for node in self.draft.nodes.values() if node.kind in kinds)


def longest(path: tuple[str, ...], known: Iterable[str] | Mapping[str, object]) -> tuple[str, tuple[str, ...]]:
    """The longest known name that ``path`` starts with, and the rest; the first part when none is known."""
    names = known if isinstance(known, (Mapping, frozenset, set)) else frozenset(known)
    for size in range(min(len(path), 4), 0, -1):
        name = ".".join(path[:size])
        if name in names:
            return name, path[size:]
    return (path[0] if path else ""), path[1:]
