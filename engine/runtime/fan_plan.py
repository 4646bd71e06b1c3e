"""Which branches a fan-out has: pure, from the router, its edges and the elements.

Called by ``fan_out`` before the first branch starts and again by a resume; the same values give the same plan.
Implements language.md 7.5 and 7.7 and engine.md 9.2 and 9.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from engine.dsl.expressions import EvaluationError
from engine.dsl.graph import AgentNode, Edge, Graph, Node, RouterMode, RouterNode, SubbotNode, ToolNode

NO_ELEMENT = object()


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch before it starts: its id, the edge that starts it, what it sees of the router, whom it waits for."""

    id: str
    edge: Edge
    bindings: Mapping[str, object]
    key: str = ""
    waits_for: tuple[str, ...] = ()


def branches_of(router: RouterNode, edges: tuple[Edge, ...], elements: list[object] | None) -> tuple[Branch, ...]:
    """The branches in their order. ``elements`` are those of a ``fan_out_each``, None for a ``fan_out_all``.

    Raises EvaluationError for a missing, empty or double key, an unknown or own dependency, and a cycle.
    """
    if elements is None:
        return tuple(Branch(f"branch_{router.name}_{edge.target}", edge, {}) for edge in edges)
    edge = edges[0]
    made = tuple(
        Branch(
            f"branch_{router.name}_{index}",
            edge,
            {router.element: element, "index": index, "count": len(elements)},
            _key(router, element, index) if router.key else "",
            _waits(router, element),
        )
        for index, element in enumerate(elements)
    )
    if router.key:
        _check_order(router, made)
    return made


def single(router: RouterNode, edge: Edge) -> Branch:
    """The one branch of an empty list where there is no join: a null element, count 0."""
    return Branch(f"branch_{router.name}_0", edge, {router.element: None, "index": 0, "count": 0})


def _key(router: RouterNode, element: object, index: int) -> str:
    value = element.get(router.key) if isinstance(element, dict) else None
    if value is None or value == "" or isinstance(value, (dict, list)):
        raise EvaluationError(f"element {index} of router {router.name} has no key {router.key}")
    return str(value)


def _waits(router: RouterNode, element: object) -> tuple[str, ...]:
    if not router.depends_on or not isinstance(element, dict):
        return ()
    value = element.get(router.depends_on)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise EvaluationError(f"{router.depends_on} of an element of router {router.name} is no list")
    return tuple(str(each) for each in value)


def _check_order(router: RouterNode, branches: tuple[Branch, ...]) -> None:
    known: set[str] = set()
    for branch in branches:
        if branch.key in known:
            raise EvaluationError(f"router {router.name} has two elements with the key {branch.key}")
        known.add(branch.key)
    for branch in branches:
        for wanted in branch.waits_for:
            if wanted == branch.key or wanted not in known:
                what = "itself" if wanted == branch.key else f"{wanted}, which is no element"
                raise EvaluationError(f"element {branch.key} of router {router.name} waits for {what}")
    left, done = list(branches), set[str]()
    while left:
        ready = [branch for branch in left if done.issuperset(branch.waits_for)]
        if not ready:
            names = ", ".join(sorted(branch.key for branch in left))
            raise EvaluationError(f"the elements {names} of router {router.name} wait for each other")
        done.update(branch.key for branch in ready)
        left = [branch for branch in left if branch.key not in done]


def unsafe_writers(
    graph: Graph, router: RouterNode, branches: tuple[Branch, ...], join: str, at_once: int
) -> tuple[str, ...]:
    """Nodes of two branches that may write the workspace at once; empty when it is safe (language.md 7.7)."""
    if router.mode is RouterMode.FAN_OUT_EACH:
        if at_once == 1 or in_a_row(branches):
            return ()
        return tuple(_writers(graph, branches[0].edge.target, join))[:1]
    first = [next(_writers(graph, branch.edge.target, join), "") for branch in branches]
    writing = tuple(name for name in first if name)
    return writing[:2] if len(writing) > 1 else ()


def in_a_row(branches: tuple[Branch, ...]) -> bool:
    """Whether no two of the branches can run at once: each waits for the one before, directly or not."""
    left, done = list(branches), set[str]()
    while left:
        ready = [branch for branch in left if done.issuperset(branch.waits_for)]
        if len(ready) != 1:
            return False
        done.add(ready[0].key)
        left.remove(ready[0])
    return True


def _writers(graph: Graph, start: str, join: str) -> Iterator[str]:
    seen, order = {start}, [start]
    for name in order:
        if name == join or name not in graph.nodes:
            continue
        if may_write(graph.nodes[name]):
            yield name
        for edge in graph.outgoing(name):
            if edge.target not in seen:
                seen.add(edge.target)
                order.append(edge.target)


def may_write(node: Node) -> bool:
    """Whether a node may write the workspace."""
    if isinstance(node, ToolNode):
        return not node.action and not node.readonly and not node.parallel_safe
    if isinstance(node, AgentNode):
        return not node.readonly
    return isinstance(node, SubbotNode) and not node.isolated
