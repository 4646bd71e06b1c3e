"""Parses every template and expression of a draft, once, and reports what cannot be read (C004, C040).

Called by ``load`` between ``assemble`` and ``checks``. The result is kept in the draft by the literal that it came
from, so that checks and compiler share it. Implements language.md 8 and 9.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.dsl import expressions, templates
from engine.dsl.ast import Property, Scalar, ScalarKind, Style
from engine.dsl.draft import Draft, EdgeDraft, NodeDraft, PromptDraft, Site, Use
from engine.dsl.expressions import ExpressionSyntaxError
from engine.dsl.graph import Span
from engine.dsl.places import inside, inside_text
from engine.dsl.templates import Template, TemplateSyntaxError

ROUTING = ("model", "backend", "provider", "interaction_model")
NODE_TEMPLATES = ("command", "script", "postcondition", "over", "message", "review_url", "idempotency_key", *ROUTING)
PROMPTS = ("system", "user", "instructions", "interaction_prompt")


def node_sites(node: NodeDraft) -> Iterator[Site]:
    """The templates and expressions of a node; prompts are apart, because nodes share them."""
    items = node.section.items
    for key in NODE_TEMPLATES:
        item = items.get(key)
        if item is not None and item.scalar is not None and isinstance(item.data, str):
            yield Site(_use_of(key), key, item.scalar, node)
    for key, use in (("params", Use.VALUE), ("expr", Use.EXPRESSION)):
        section = node.section.section(key)
        for name, item in section.items.items() if section else ():
            if item.scalar is not None and item.scalar.kind is ScalarKind.TEXT:
                yield Site(use, name, item.scalar, node)
    fallbacks = node.section.section("fallbacks")
    for route in fallbacks.items if fallbacks else ():
        section = fallbacks.section(route) if fallbacks else None
        condition = section.scalar("when") if section else None
        if condition is not None:
            yield Site(Use.CONDITION, "when", condition, node)
    for entry in node.section.mapping.entries if node.section.mapping else ():
        yield Site(Use.VALUE, entry.key, entry.value, node)


def _use_of(key: str) -> Use:
    if key in ("command", "postcondition"):
        return Use.COMMAND
    if key == "script":
        return Use.SCRIPT
    return Use.ROUTING if key in ROUTING else Use.VALUE


def edge_sites(edge: EdgeDraft) -> Iterator[Site]:
    """The templates and expressions of an edge."""
    if edge.when is not None and edge.when.expression is not None:
        yield Site(Use.CONDITION, "when", edge.when.expression, edge=edge)
    if edge.loop is not None and edge.loop.cap is not None and edge.loop.cap.kind is ScalarKind.TEXT:
        use = Use.CAP if "{{" in edge.loop.cap.text else Use.EXPRESSION
        yield Site(use, edge.loop.name, edge.loop.cap, edge=edge)
    if edge.foreach is not None:
        yield Site(Use.CAP, edge.foreach.name, edge.foreach.items, edge=edge)
    for entry in edge.mapping:
        yield Site(Use.MAPPING, entry.key, entry.value, edge=edge)


def sites(draft: Draft) -> list[Site]:
    """Every text of the draft that is a template or an expression, prompts excepted."""
    if not draft.sites:
        draft.sites.extend(site for node in draft.nodes.values() for site in node_sites(node))
        draft.sites.extend(site for edge in draft.edges for site in edge_sites(edge))
    return draft.sites


def parse_texts(draft: Draft) -> None:
    """Fill ``draft.templates``, ``draft.expressions`` and ``draft.prompt_templates``."""
    for site in sites(draft):
        if site.use in (Use.EXPRESSION, Use.CONDITION):
            _expression(draft, site)
        elif not (site.node and site.node.kind in ("agent", "judge") and site.key == "command"):
            _template(draft, site)
    for prompt in draft.prompts.values():
        _prompt(draft, prompt)


def _template(draft: Draft, site: Site) -> None:
    text = site.scalar.text
    if "{{" not in text:
        draft.templates[id(site.scalar)] = Template((text,) if text else ())
        return
    try:
        draft.templates[id(site.scalar)] = templates.parse(text)
    except TemplateSyntaxError as problem:
        place = inside(site.scalar, problem.offset)
        _report(draft, "C004", place, site, message=problem.message, hint=problem.expected)


def _expression(draft: Draft, site: Site) -> None:
    try:
        draft.expressions[id(site.scalar)] = expressions.parse(site.scalar.text)
    except ExpressionSyntaxError as problem:
        place = inside(site.scalar, problem.offset)
        hint = problem.expected or "write an expression such as `x > 0`"
        _report(draft, "C040", place, site, problem=problem.message, expected=hint)


def _report(draft: Draft, code: str, place: Span, site: Site, **fields: object) -> None:
    node = site.node.name if site.node else ""
    edge = site.edge.label if site.edge else ""
    draft.found.add(code, place, node=node, edge=edge, **fields)


def _prompt(draft: Draft, prompt: PromptDraft) -> None:
    text = prompt.text.value
    if "{{" not in text:
        draft.prompt_templates[prompt.name] = Template((text,) if text else ())
        return
    try:
        draft.prompt_templates[prompt.name] = templates.parse(text)
    except TemplateSyntaxError as problem:
        if "include" in text[problem.offset : problem.offset + 20]:
            return
        place = prompt_place(prompt, problem.offset)
        draft.found.add("C004", place, message=problem.message, hint=problem.expected)


def prompt_place(prompt: PromptDraft, offset: int) -> Span:
    """Where character ``offset`` of a prompt stands."""
    if prompt.literal is not None:
        return inside(prompt.literal, offset)
    return inside_text(prompt.text, offset)


def is_prompt_name(scalar: Scalar) -> bool:
    """Whether a property names a prompt, rather than holding its text."""
    return scalar.style is Style.BARE


def literal_of(line: Property) -> Scalar | None:
    """The literal of a line, when it is one."""
    return line.value if isinstance(line.value, Scalar) else None
