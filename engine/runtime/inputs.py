"""Which edges feed a node on a visit, and the input that they make.

Called by ``step`` before a node runs. Pure; rendering a mapping is handed in. Implements language.md 7.8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.dsl.graph import Edge, Mapped


def participating(
    incoming: tuple[Edge, ...], taken: tuple[int, ...], has_output: Callable[[str], bool]
) -> tuple[Edge, ...]:
    """The edges whose ``with`` maps make the input, in the order in which they are applied.

    ``taken`` are the indexes of the edges on record for this visit; without any, every edge whose source has an output
    takes part. Edges with a loop clause are applied last.
    """
    if taken:
        part = [edge for edge in incoming if edge.index in taken]
        if part and all(edge.loop for edge in part):
            part += [edge for edge in incoming if not edge.loop and has_output(edge.source)]
    else:
        part = [edge for edge in incoming if has_output(edge.source)]
    return tuple(sorted(part, key=lambda edge: (bool(edge.loop), edge.index)))


def build_input(
    base: Mapping[str, object], edges: tuple[Edge, ...], render: Callable[[Mapped, Edge], object]
) -> dict[str, object]:
    """The input: ``base`` (the vars at the entry, else nothing) with the mappings of the edges over it."""
    made = dict(base)
    for edge in edges:
        for mapped in edge.mappings:
            made[mapped.key] = render(mapped, edge)
    return made
