"""Which top-level declarations the nodes that a run reaches refer to (language.md 1.1).

Used by ``marks`` for what a launch refuses, and by ``diff`` for what an edit affects. Pure.
"""

from __future__ import annotations

from engine.dsl.assemble import prompt_name
from engine.dsl.draft import Draft, NodeDraft, WorkflowDraft
from engine.dsl.flow import Flow
from engine.dsl.templates import Template
from engine.dsl.texts import PROMPTS, edge_sites, node_sites


def templates_of(draft: Draft, node: NodeDraft) -> list[Template]:
    """The templates of a node, of its prompts and of the edges that leave it."""
    found = [draft.templates.get(id(site.scalar)) for site in node_sites(node)]
    for key in PROMPTS:
        scalar = node.section.scalar(key)
        if scalar is not None:
            found.append(draft.prompt_templates.get(prompt_name(scalar)))
    for edge in draft.outgoing.get(node.name, ()):
        found.extend(draft.templates.get(id(site.scalar)) for site in edge_sites(edge))
    return [template for template in found if template is not None]


def reached_declarations(draft: Draft, flow: Flow) -> frozenset[tuple[str, str]]:
    """``(kind, name)`` of every declaration that something reached refers to."""
    found: set[tuple[str, str]] = set()
    for other in draft.other("attachments").values():
        if other.section.flag("required"):
            found.add(("attachment", other.name))
    for other in draft.other("secrets").values():
        if not other.section.flag("optional"):
            found.add(("secret", other.name))
    if draft.workflow:
        _servers(draft.workflow, found)
    for name in flow.reached:
        node = draft.nodes.get(name)
        if node is None:
            continue
        _servers(node, found)
        for template in templates_of(draft, node):
            for reference in template.references:
                if reference.namespace in ("attachments", "secrets"):
                    found.add((reference.namespace[:-1], reference.path[0]))
    return frozenset(found)


def _servers(owner: NodeDraft | WorkflowDraft, found: set[tuple[str, str]]) -> None:
    section = owner.section.section("mcp")
    for server in section.names("servers") if section else ():
        found.add(("mcp_server", server.text))
