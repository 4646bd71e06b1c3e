"""What the edges of a draft say together: reachability, cycles, loop bodies, branches and where they meet.

Used by ``checks`` and ``compiler``; knows nothing of texts. Every walk keeps its own stack. Edges to unknown nodes are
walked over like edges to nodes that end there. Implements language.md 7.4, 7.6 and the notes under 14.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from engine.dsl.draft import Draft, EdgeDraft
from engine.dsl.graph import TERMINALS, RouterMode

BRANCHING = frozenset({RouterMode.FAN_OUT_ALL, RouterMode.FAN_OUT_EACH, RouterMode.LLM})
NEAR = 64


@dataclass(slots=True)
class Cycles:
    """Cycles over edges without loop clause: back edges, and an order in which sources come before targets."""

    back: list[EdgeDraft] = field(default_factory=list)
    order: dict[str, int] = field(default_factory=dict)


class Flow:
    """The edges of a draft, with answers that are computed once when asked for."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.nodes = draft.nodes
        self.entry = entry_of(draft)
        self._after: dict[str, frozenset[str]] = {}

    @cached_property
    def forward(self) -> dict[str, list[EdgeDraft]]:
        """Edges without loop clause, by source."""
        found: dict[str, list[EdgeDraft]] = {}
        for source, edges in self.draft.outgoing.items():
            found[source] = [edge for edge in edges if not edge.loop_name]
        return found

    @cached_property
    def backward(self) -> dict[str, list[EdgeDraft]]:
        """Edges without loop clause, by target."""
        found: dict[str, list[EdgeDraft]] = {}
        for target, edges in self.draft.incoming.items():
            found[target] = [edge for edge in edges if not edge.loop_name]
        return found

    @cached_property
    def reached(self) -> frozenset[str]:
        """Every node that ``entry`` leads to, over all edges."""
        return self._reach([self.entry] if self.entry else [])

    def _reach(self, starts: Iterable[str]) -> frozenset[str]:
        todo, seen = list(starts), set(starts)
        outgoing = self.draft.outgoing
        while todo:
            for edge in outgoing.get(todo.pop(), ()):
                if edge.target not in seen:
                    seen.add(edge.target)
                    todo.append(edge.target)
        return frozenset(seen)

    def may_follow(self, first: str, second: str) -> bool:
        """Whether ``second`` can run after ``first`` ran, over all edges; a node follows itself on a cycle only."""
        incoming = self.draft.incoming
        if first in self._after:
            return second in self._after[first]
        todo, seen = deque([second]), {second}
        while todo and len(seen) < NEAR:
            for edge in incoming.get(todo.popleft(), ()):
                if edge.source == first:
                    return True
                if edge.source not in seen:
                    seen.add(edge.source)
                    todo.append(edge.source)
        if not todo:
            return False
        targets = {edge.target for edge in self.draft.outgoing.get(first, ())}
        self._after[first] = self._reach(targets)
        return second in self._after[first]

    @cached_property
    def cycles(self) -> Cycles:
        """Back edges and order, by one depth-first walk from the entry in declaration order."""
        return _Walk(self).run()

    @cached_property
    def loop_edges(self) -> dict[str, list[EdgeDraft]]:
        """Edges with a loop or foreach clause, by its name."""
        found: dict[str, list[EdgeDraft]] = {}
        for edge in self.draft.edges:
            if edge.loop_name:
                found.setdefault(edge.loop_name, []).append(edge)
        return found

    @cached_property
    def bodies(self) -> dict[str, frozenset[str]]:
        """The body of every loop: the ends of its edges plus what lies between a target and a source."""
        return {name: self._body(edges) for name, edges in self.loop_edges.items()}

    def _body(self, edges: list[EdgeDraft]) -> frozenset[str]:
        order = self.cycles.order
        sources = {edge.source for edge in edges}
        targets = {edge.target for edge in edges}
        last = max(order.get(name, 0) for name in sources)
        first = min(order.get(name, 0) for name in targets)
        after = set(targets)
        todo = list(targets)
        while todo:
            for edge in self.forward.get(todo.pop(), ()):
                if edge.target not in after and order.get(edge.target, 0) <= last:
                    after.add(edge.target)
                    todo.append(edge.target)
        before = set(sources)
        todo = list(sources)
        while todo:
            for edge in self.backward.get(todo.pop(), ()):
                if edge.source not in before and order.get(edge.source, 0) >= first:
                    before.add(edge.source)
                    todo.append(edge.source)
        return frozenset((after & before) | sources | targets) - TERMINALS

    @cached_property
    def routers(self) -> dict[str, RouterMode]:
        """Routers that make branches, with their mode."""
        found: dict[str, RouterMode] = {}
        for node in self.nodes.values():
            item = node.section.items.get("mode")
            if node.kind == "router" and (item is None or item.data is not None):
                mode = RouterMode(node.section.text("mode", RouterMode.FAN_OUT_ALL))
                if mode in BRANCHING and (mode is not RouterMode.LLM or node.section.flag("multi")):
                    found[node.name] = mode
        return found

    @cached_property
    def convergence(self) -> dict[str, str]:
        """The join of every branching router that has one; inner and later routers are decided first."""
        order = self.cycles.order
        found: dict[str, str] = {}
        for name in sorted(self.routers, key=lambda router: -order.get(router, 0)):
            join = self._join(name, found)
            if join:
                found[name] = join
        return {name: found[name] for name in self.routers if name in found}

    def _join(self, router: str, known: dict[str, str]) -> str:
        walked = list(self._walk(router, known))
        for name in walked:
            node = self.nodes.get(name)
            if node is not None and node.section.has("await"):
                return name
        branches = self._marks(router)
        single = self.routers[router] is RouterMode.FAN_OUT_EACH
        direct = {edge.index: place for place, edge in enumerate(self.draft.outgoing.get(router, ()))}
        for name in walked:
            sources = {edge.source for edge in self.backward.get(name, ())}
            if len(sources) < 2:
                continue
            lies: set[int] = set()
            for edge in self.backward.get(name, ()):
                lies |= {direct[edge.index]} if edge.index in direct else branches.get(edge.source, set())
            if single or len(lies) > 1:
                return name
        return ""

    def _targets(self, router: str) -> list[str]:
        return [edge.target for edge in self.draft.outgoing.get(router, ())]

    def _walk(self, router: str, known: dict[str, str]) -> Iterable[str]:
        """Nodes from the router's targets on, breadth first; a fan-out on the way is stepped over."""
        todo: deque[str] = deque()
        seen = {router}
        self._enter(self._targets(router), seen, todo)
        while todo:
            name = todo.popleft()
            yield name
            self._enter(self._next(name, known), seen, todo)

    def _enter(self, names: Iterable[str], seen: set[str], todo: deque[str]) -> None:
        for name in names:
            if name not in seen and name not in TERMINALS:
                seen.add(name)
                todo.append(name)

    def _next(self, name: str, known: dict[str, str]) -> list[str]:
        if name in self.routers:
            join = known.get(name, "")
            return [edge.target for edge in self.forward.get(join, ())] if join else []
        return [edge.target for edge in self.forward.get(name, ())]

    def _marks(self, router: str) -> dict[str, set[int]]:
        """In which branches each node lies that the router's targets lead to."""
        marks: dict[str, set[int]] = {}
        for place, target in enumerate(self._targets(router)):
            todo, seen = [target], {target, router}
            while todo:
                name = todo.pop()
                if name in TERMINALS:
                    continue
                marks.setdefault(name, set()).add(place)
                for edge in self.forward.get(name, ()):
                    if edge.target not in seen:
                        seen.add(edge.target)
                        todo.append(edge.target)
        return marks

    @cached_property
    def branches(self) -> dict[str, list[frozenset[str]]]:
        """For every branching router, the nodes of each of its branches, without the join."""
        return {router: [self._branch(router, target) for target in self._targets(router)] for router in self.routers}

    def _branch(self, router: str, target: str) -> frozenset[str]:
        stop = {router, self.convergence.get(router, router), *TERMINALS}
        if target in stop:
            return frozenset()
        todo, seen = [target], {target}
        while todo:
            for edge in self.forward.get(todo.pop(), ()):
                if edge.target not in seen and edge.target not in stop:
                    seen.add(edge.target)
                    todo.append(edge.target)
        return frozenset(seen)

    @cached_property
    def in_branch(self) -> frozenset[str]:
        """Every node that lies in some branch."""
        return frozenset().union(*(branch for found in self.branches.values() for branch in found))


class _Walk:
    """An iterative depth-first walk over edges without loop clause: back edges, and Tarjan's components in order."""

    def __init__(self, flow: Flow) -> None:
        self.forward = flow.forward
        self.starts = [flow.entry, *flow.nodes] if flow.entry else list(flow.nodes)
        self.found = Cycles()
        self.index: dict[str, int] = {}
        self.low: dict[str, int] = {}
        self.stack: list[str] = []
        self.stacked: set[str] = set()
        self.active: set[str] = set()
        self.components = 0

    def run(self) -> Cycles:
        for start in self.starts:
            if start not in self.index:
                self._from(start)
        return self.found

    def _open(self, name: str) -> None:
        self.index[name] = self.low[name] = len(self.index)
        self.stack.append(name)
        self.stacked.add(name)
        self.active.add(name)

    def _from(self, start: str) -> None:
        todo = [(start, iter(self.forward.get(start, ())))]
        self._open(start)
        while todo:
            name, edges = todo[-1]
            for edge in edges:
                target = edge.target
                if target in self.active:
                    self.found.back.append(edge)
                if target not in self.index:
                    self._open(target)
                    todo.append((target, iter(self.forward.get(target, ()))))
                    break
                if target in self.stacked:
                    self.low[name] = min(self.low[name], self.index[target])
            else:
                todo.pop()
                self.active.discard(name)
                if todo:
                    above = todo[-1][0]
                    self.low[above] = min(self.low[above], self.low[name])
                if self.low[name] == self.index[name]:
                    self._component(name)

    def _component(self, root: str) -> None:
        self.components += 1
        while True:
            name = self.stack.pop()
            self.stacked.discard(name)
            self.found.order[name] = -self.components
            if name == root:
                return


def entry_of(draft: Draft) -> str:
    """The declared entry node, empty when it is missing or unknown."""
    entry = draft.workflow.section.text("entry") if draft.workflow else ""
    return entry if entry in draft.nodes else ""
