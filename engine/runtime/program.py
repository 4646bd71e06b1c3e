"""The program that a run executes: loaded, refused when it has errors or reaches what this build does not run.

Called by ``launch`` and by every resume. Implements language.md 1.1 (a launch refuses what it would reach), 1.2 and 15.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.dsl.graph import Graph, HumanNode, Node, NodeKind, RouterMode, RouterNode, ToolNode
from engine.dsl.surroundings import Surroundings
from engine.dsl.unit import PACKED, is_bundle
from engine.errors import SourceInvalid
from engine.run import SourceFile
from engine.runtime.executing import RUN_HERE
from engine.runtime.host import Host
from engine.runtime.kept_programs import Program
from engine.runtime.recipes import check_recipe

if TYPE_CHECKING:
    from engine.dsl.load import Loaded
    from engine.dsl.recipes import Recipe

__all__ = ["Program", "bundle_of", "load_program", "reached", "recorded_elsewhere"]


def load_program(host: Host, file: Path, recipe: Recipe | None = None) -> Program:
    """The workflow for execution: as it was compiled before, or compiled, with the prompts of a recipe.

    Raises SourceMissing, SourceInvalid with the first error, BadInput for a recipe of another workflow.
    """
    path = file.absolute()
    if recipe is not None:
        program = _compiled(replace(host.settings.around, prompts=recipe.prompts), host, file)
        check_recipe(recipe, program.graph)
        return program
    known = host.programs.find(path)
    if known is not None:
        return known
    program = _compiled(host.settings.around, host, file)
    host.programs.keep(path, program)
    return program


def _compiled(around: Surroundings, host: Host, file: Path) -> Program:
    from engine.dsl.load import load

    loaded, path = load(file, around), file.absolute()
    _refuse_errors(loaded, file)
    graph = loaded.graph
    assert graph is not None
    _refuse_unsupported(host, graph, file)
    sources = tuple(SourceFile(each.path, each.text) for each in loaded.sources)
    return Program(graph, loaded.digest, sources, path, bundle_of(path))


def bundle_of(path: Path) -> str:
    """The bundle that opening ``path`` opens: a pack, a folder, the folder around a ``main.bot``; empty for others."""
    if path.is_dir() or path.suffix == PACKED:
        return str(path)
    return str(path.parent) if is_bundle(path) else ""


def _refuse_errors(loaded: Loaded, file: Path) -> None:
    from engine.dsl.load import launch_errors

    errors = launch_errors(loaded)
    if not errors:
        return
    first = errors[0]
    more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
    text = f"{first.file}:{first.line}:{first.column}: {first.code} {first.message}{more}"
    raise SourceInvalid(text, first.hint or f"see all findings with: pointsman validate {file}")


def _refuse_unsupported(host: Host, graph: Graph, file: Path) -> None:
    for name in reached(graph):
        node = graph.nodes[name]
        what = _unsupported(host, node)
        if what:
            place = f"{node.span.file}:{node.span.line}: " if node.span else ""
            raise SourceInvalid(f"{place}X001 node {name} {what}", f"take the node out of {file}")


def _unsupported(host: Host, node: Node) -> str:
    """What this build does not do with the node, as the rest of a sentence; empty when it runs it."""
    if isinstance(node, RouterNode):
        return "lets a model choose its edge, and this build asks no model" if node.mode not in RUN_MODES else ""
    if isinstance(node, ToolNode) and node.action and host.settings.remote is None:
        return "calls a connector, and nothing here runs connector operations"
    if host.nodes[node.kind] is None and node.kind not in RUN_HERE:
        return f"is of kind {node.kind}: it asks a model, and this build asks none"
    if isinstance(node, HumanNode) and node.interaction == ASKS_MODEL and host.nodes[NodeKind.AGENT] is None:
        return "lets a model answer its question, and this build asks none"
    return ""


ASKS_MODEL = "llm"
"""The interaction of a human node that a model answers; ``llm_or_human`` falls back on the person."""


RUN_MODES = frozenset(set(RouterMode) - {RouterMode.LLM})
"""Router modes of this build."""


def reached(graph: Graph) -> tuple[str, ...]:
    """The nodes that ``entry`` leads to, nearest first; terminals are none."""
    order, seen = [graph.entry], {graph.entry}
    for name in order:
        for edge in graph.outgoing(name):
            if edge.target in graph.nodes and edge.target not in seen:
                seen.add(edge.target)
                order.append(edge.target)
    return tuple(name for name in order if name in graph.nodes)


def recorded_elsewhere(program: Program, digest: str) -> bool:
    """Whether ``digest`` is that of a bundle's main file alone, as an older build recorded it (engine.md 7.6)."""
    main = program.sources[0].text.encode()
    return bool(program.bundle_path) and hashlib.sha256(main).hexdigest() == digest
