"""A graph as a Mermaid flowchart, for ``pointsman diagram``.

Pure: a ``Graph`` goes in, text comes out. Labels are data: every character that Mermaid could read as its own syntax
is written as an entity, so that any workflow renders. Nodes are called ``n0``, ``n1``, … in the order of the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from engine.dsl.graph import (
    DONE,
    FAIL,
    AgentNode,
    ComputeNode,
    Edge,
    FailNode,
    Graph,
    HumanNode,
    LoopKind,
    Node,
    NodeKind,
    RouterMode,
    RouterNode,
    SubbotNode,
    ToolNode,
)

LONGEST: Final = 60
BREAK: Final = "<br/>"
SHAPES: Final = {
    NodeKind.AGENT: ('("', '")'),
    NodeKind.JUDGE: ('{{"', '"}}'),
    NodeKind.ROUTER: ('{"', '"}'),
    NodeKind.HUMAN: ('[/"', '"/]'),
    NodeKind.TOOL: ('["', '"]'),
    NodeKind.COMPUTE: ('[["', '"]]'),
    NodeKind.SUBBOT: ('[("', '")]'),
    NodeKind.FAIL: ('>"', '"]'),
    NodeKind.EMIT: ('(["', '"])'),
    NodeKind.WAIT: ('(["', '"])'),
    NodeKind.AWAIT_ANSWERS: ('[/"', '"/]'),
}
BRANCHING: Final = frozenset({RouterMode.FAN_OUT_ALL, RouterMode.FAN_OUT_EACH})
_SPECIAL: Final = re.compile(r"[^\w .,()+=!?/-]", re.ASCII)


def mermaid(graph: Graph, *, detailed: bool = False) -> str:
    """The flowchart of ``graph``; ``detailed`` adds what nodes run, their schemas, loop caps and mapped keys."""
    ids = {name: f"n{place}" for place, name in enumerate(graph.nodes)}
    edges = [edge for source in graph.edges.values() for edge in source]
    ends = [terminal for terminal in (DONE, FAIL) if any(edge.target == terminal for edge in edges)]
    ids.update((terminal, terminal + "_end") for terminal in ends)
    lines = ["flowchart TD", f'  start(["{escape(graph.workflow)}"]) --> {ids[graph.entry]}']
    for name, node in graph.nodes.items():
        opening, closing = SHAPES[node.kind]
        label = BREAK.join(map(escape, _label(graph, node, detailed=detailed)))
        lines.append(f"  {ids[name]}{opening}{label}{closing}")
    lines += [f'  {ids[terminal]}(["{terminal}"])' for terminal in ends]
    for edge in sorted(edges, key=lambda edge: edge.index):
        lines.append(f"  {ids[edge.source]} {_arrow(graph, edge, detailed=detailed)} {ids[edge.target]}")
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """``text`` on one line, shortened, as the inside of a quoted Mermaid label."""
    line = " ".join(text.split())
    if len(line) > LONGEST:
        line = line[: LONGEST - 1] + "…"
    return _SPECIAL.sub(lambda found: f"#{ord(found.group())};", line)


def _label(graph: Graph, node: Node, *, detailed: bool) -> Iterator[str]:
    yield node.name
    yield f"{node.kind} {node.mode}" if isinstance(node, RouterNode) else str(node.kind)
    if not detailed:
        return
    if node.description:
        yield node.description
    yield from _recipe(node)
    if node.output:
        schema = graph.schemas[node.output]
        yield f"gives {', '.join(field.name for field in schema.fields) or 'nothing'}"
    if node.publish:
        yield f"publishes {node.publish}"
    if node.convergence:
        yield f"joins, {node.convergence}"


def _recipe(node: Node) -> Iterator[str]:
    """What the node does, one thing per line."""
    if isinstance(node, ToolNode):
        recipe = node.command or node.script
        yield node.action or (recipe.source.strip().split("\n", 1)[0] if recipe else "")
    elif isinstance(node, ComputeNode):
        for field, expression in node.lines:
            yield f"{field} = {expression.text}"
    elif isinstance(node, AgentNode):
        yield " ".join(filter(None, (node.backend, node.model))) or "default backend"
    elif isinstance(node, HumanNode) and node.instructions:
        yield node.instructions.source.strip().split("\n", 1)[0]
    elif isinstance(node, RouterNode) and node.over:
        yield f"{node.element} of {node.over.source}"
    elif isinstance(node, FailNode):
        yield node.code or "no code"
    elif isinstance(node, SubbotNode):
        yield node.source.rsplit("/", 1)[-1]


def _arrow(graph: Graph, edge: Edge, *, detailed: bool) -> str:
    router = graph.nodes.get(edge.source)
    branches = isinstance(router, RouterNode) and router.mode in BRANCHING
    line = "-.->" if edge.loop else "==>" if branches else "-->"
    words = list(_words(graph, edge, detailed=detailed))
    return f'{line}|"{BREAK.join(map(escape, words))}"|' if words else line


def _words(graph: Graph, edge: Edge, *, detailed: bool) -> Iterator[str]:
    if edge.when_field:
        yield f"not {edge.when_field}" if edge.negated else edge.when_field
    elif edge.when_expression is not None:
        yield edge.when_text or edge.when_expression.text
    elif edge.otherwise:
        yield "else"
    if edge.loop:
        yield _loop(graph, edge.loop)
    if detailed and edge.mappings:
        yield f"with {', '.join(mapped.key for mapped in edge.mappings)}"


def _loop(graph: Graph, name: str) -> str:
    loop = graph.loops[name]
    if loop.kind is LoopKind.FOREACH:
        return f"foreach {name}"
    if loop.kind is LoopKind.UNBOUNDED:
        return f"{name}, unbounded"
    if loop.cap_template is not None:
        return f"{name}, at most {loop.cap_template.source}"
    if loop.cap_expression is not None:
        return f"{name}, at most {loop.cap_expression.text}"
    return f"{name}, at most {loop.cap}"
