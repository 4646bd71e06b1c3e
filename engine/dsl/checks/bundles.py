"""Manifest and skills of a bundle against its workflow (language.md 13, 14), and the profile of files (C144)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.dsl.bundle import Bundle
from engine.dsl.checks.context import Context
from engine.dsl.diagnostics import suggestion
from engine.dsl.graph import Span
from engine.dsl.manifest import KNOWN, as_map

SHORTEST_DESCRIPTION = 20
OURS = "pointsman"
_VERSION = re.compile(r"\s*+(?:>=)?+\s*+([0-9]{1,9})(?:\.([0-9]{1,9}))?+(?:\.([0-9]{1,9}))?+\S*+\s*+")


def check_bundles(context: Context) -> None:
    """The manifest where there is a bundle; the profile of every file."""
    _profiles(context)
    bundle = context.bundle
    if bundle is None:
        return
    _manifest(context, bundle)
    _skills(context, bundle)
    _recipes(context, bundle)


def _profiles(context: Context) -> None:
    for source in context.unit.order:
        places = source.tree.differs
        if places:
            lines = ", ".join(str(place.line) for place in places[:3]) + (" …" if len(places) > 3 else "")
            what = f"line{'s' if len(places) > 1 else ''} {lines}"
            context.found.add("C144", places[0], count=len(places), what=what)


def _manifest(context: Context, bundle: Bundle) -> None:
    manifest = bundle.manifest
    for key in manifest.values:
        if key not in KNOWN:
            hint = suggestion(key, KNOWN, "remove it")
            context.found.add("X011", manifest.place(key), name=key, hint=hint)
    for code, key, name in _named_vars(bundle):
        if name not in context.draft.vars and not context.draft.incomplete:
            hint = suggestion(name, context.draft.vars, "declare the var")
            context.found.add(code, manifest.place(key), name=name, hint=hint)
    capabilities = manifest.values.get("capabilities")
    given = _node_capabilities(context)
    for capability in capabilities if isinstance(capabilities, list) else ():
        if str(capability) not in given:
            context.found.add("C220", manifest.place("capabilities"), name=capability)
    _requires(context, bundle)


def _named_vars(bundle: Bundle) -> Iterator[tuple[str, str, str]]:
    """Every var that the manifest names: the code for an unknown one, the key it stands under, its name."""
    manifest = bundle.manifest
    yield from (("C200", "dispatch_vars", name) for name in manifest.map("dispatch_vars"))
    invocations = manifest.values.get("invocations")
    for invocation in invocations if isinstance(invocations, list) else ():
        inner = as_map(invocation)
        for code, key in (("C201", "context"), ("C204", "args")):
            yield from ((code, "invocations", name) for name in as_map(inner.get(key)))
        if inner.get("kind") == "schedule":
            yield from (("C202", "invocations", name) for name in as_map(inner.get("vars")))
    yield from (("C203", "launch", name) for name in as_map(manifest.map("launch").get("vars")))


def _node_capabilities(context: Context) -> frozenset[str]:
    sections = [context.workflow, *(node.section for node in context.draft.nodes.values())]
    return frozenset(capability.text for section in sections for capability in section.names("capabilities"))


def _requires(context: Context, bundle: Bundle) -> None:
    manifest = bundle.manifest
    place, given = manifest.place("requires"), manifest.values.get("requires")
    if given is not None and not isinstance(given, dict):
        context.found.add("E020", place, name="requires", found=f"`{given}`", expected='`{pointsman: ">= X.Y.Z"}`')
    for engine, wanted in manifest.map("requires").items():
        if engine != OURS:
            context.found.add("C251", place, name=engine, wanted=wanted)
        elif not _VERSION.fullmatch(str(wanted)):
            context.found.add("E020", place, name="requires", found=f"`{wanted}`", expected='`">= X.Y.Z"`')
        elif newer(str(wanted), context.around.version):
            context.found.add("C250", place, wanted=wanted, found=context.around.version)


def newer(wanted: str, version: str) -> bool:
    """Whether ``wanted`` (``>= X.Y.Z``) is above ``version``; what cannot be read is not."""
    first, second = (_VERSION.fullmatch(text) for text in (wanted, version))
    if first is None or second is None:
        return False
    return _numbers(first) > _numbers(second)


def _numbers(found: re.Match[str]) -> tuple[int, ...]:
    return tuple(int(part or 0) for part in found.groups())


def _skills(context: Context, bundle: Bundle) -> None:
    seen: dict[str, str] = {}
    for skill in bundle.skill_files:
        if not skill.name:
            context.found.add("C231", skill.place, file=skill.file)
        if not skill.description:
            context.found.add("C232", skill.place, file=skill.file)
        elif len(skill.description) < SHORTEST_DESCRIPTION:
            context.found.add("C233", skill.place, name=skill.name or skill.file)
        if skill.name and skill.name in seen:
            context.found.add("C234", skill.place, name=skill.name)
        elif skill.name:
            seen[skill.name] = skill.file


def _recipes(context: Context, bundle: Bundle) -> None:
    """The shape of the recipes that a bundle brings along (language.md 13)."""
    for recipe in bundle.recipes:
        place = Span(str(recipe.file), 1, 1)
        for flaw in recipe.flaws:
            what = f"{recipe.file.name}{': ' if flaw.key else ''}{flaw.key}"
            context.found.add("E020", place, name=what, found=flaw.found, expected=flaw.expected)
