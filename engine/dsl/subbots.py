"""Where a subbot's source lies, and whether it opens (language.md 5.7).

``child_path`` is pure; ``check_children`` is called by ``load`` with a function that says whether a child has errors,
so that this module does not need the loader.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from engine.dsl.draft import Draft, NodeDraft
from engine.dsl.reader import Feature, Owner

REMOTE = "bot://"


def child_path(source: str, folder: Path) -> str:
    """The absolute path that ``source`` of a file in ``folder`` means; a ``bot://`` source stays as it is."""
    if source.startswith(REMOTE) or not source:
        return source
    return os.path.abspath(folder / source)  # noqa: PTH100 - a link in the path keeps its name


def check_children(draft: Draft, problem_of: Callable[[Path], str]) -> None:
    """Report every subbot whose source does not open or has errors (X009); one elsewhere is EXTENDED."""
    for node in draft.nodes.values():
        source = node.section.text("source")
        if node.kind != "subbot" or not source:
            continue
        if source.startswith(REMOTE):
            owner, place = Owner(node.kind, node.name), node.section.place("source")
            draft.features.append(Feature(f"a `{REMOTE}` source in {owner}", place, owner))
        else:
            problem = _path_problem(source) or problem_of(Path(child_path(source, node.folder)))
            if problem:
                _report(draft, node, problem)


def _path_problem(source: str) -> str:
    if "\0" in source or Path(source).is_absolute():
        return "the path is not relative"
    return ""


def _report(draft: Draft, node: NodeDraft, problem: str) -> None:
    draft.found.add("X009", node.section.place("source"), node=node.name, name=node.name, problem=problem)
