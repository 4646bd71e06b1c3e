"""Branches side by side: writers, shared keys, what a branch may not hold (language.md 7.6, 7.7, 14)."""

from __future__ import annotations

from engine.dsl.checks.context import Context
from engine.dsl.draft import NodeDraft
from engine.dsl.graph import RouterMode

LONELY_MODES = ("review", "llm_or_human")


def check_parallel(context: Context) -> None:
    """Every router that makes branches."""
    if not context.settled:
        return
    for router in context.flow.routers:
        _writers(context, router)
        _keys(context, router)
    for name in sorted(context.flow.in_branch):
        node = context.draft.nodes.get(name)
        if node is not None:
            _alone(context, node)


def may_write(node: NodeDraft) -> bool:
    """Whether a node may write the workspace (language.md 7.7)."""
    section = node.section
    if section.flag("readonly"):
        return False
    if node.kind == "tool":
        return (section.has("command") or section.has("script")) and not section.flag("parallel_safe")
    if node.kind == "subbot":
        return not section.flag("isolated")
    return node.kind in ("agent", "judge")


def _writer(context: Context, branch: frozenset[str]) -> str:
    """The first node of a branch, in the order of the text, that may write."""
    nodes = context.draft.nodes
    writers = [name for name in branch if name in nodes and may_write(nodes[name])]
    return min(writers, key=lambda name: context.order[name], default="")


def _writers(context: Context, router: str) -> None:
    writers = [_writer(context, branch) for branch in context.flow.branches[router]]
    writers = [name for name in writers if name]
    node = context.draft.nodes[router]
    if context.flow.routers[router] is RouterMode.FAN_OUT_EACH and writers:
        problem = f"`{writers[0]}` may write the workspace in several branches of `{router}` at once"
        context.found.add("X008", node, node=router, problem=problem)
    elif len(writers) > 1:
        both = f"`{writers[0]}` and `{writers[1]}`" if writers[0] != writers[1] else f"`{writers[0]}`, in two branches,"
        problem = f"{both} may write the workspace at once, in branches of `{router}`"
        context.found.add("X008", node, node=router, problem=problem)


def _keys(context: Context, router: str) -> None:
    """Two branches that map one key to the join with different text (C028)."""
    join = context.flow.convergence.get(router)
    if not join:
        return
    branches = context.flow.branches[router]
    seen: dict[str, tuple[int, str]] = {}
    for edge in context.draft.incoming.get(join, ()):
        place = next((place for place, branch in enumerate(branches) if edge.source in branch), -1)
        if place < 0:
            continue
        for entry in edge.mapping:
            first = seen.setdefault(entry.key, (place, entry.value.text))
            if first[0] != place and first[1] != entry.value.text:
                context.found.add("C028", entry, edge=edge.label, key=entry.key, target=join)


def _alone(context: Context, node: NodeDraft) -> None:
    section = node.section
    if section.text("session") == "persist":
        context.found.add("C243", section.place("session"), node=node.name, name=node.name)
    mode = section.text("interaction")
    if mode in LONELY_MODES:
        context.found.add("C245", section.place("interaction"), node=node.name, name=node.name, found=mode)
