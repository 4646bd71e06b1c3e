"""Presets, budget and permissions of the workflow (language.md 4.2, 5.1, 10, 14)."""

from __future__ import annotations

from engine.dsl.ast import Scalar
from engine.dsl.checks.context import Context
from engine.dsl.checks.nodes import is_duration
from engine.dsl.data import Misfit, PresetDraft, outside, read_literal
from engine.dsl.diagnostics import suggestion
from engine.dsl.reader import Section
from engine.dsl.values import fit


def check_values(context: Context) -> None:
    """Presets against vars, the budget, permission rules."""
    for preset in context.draft.presets.values():
        _preset(context, preset)
    caps = context.workflow.section("budget")
    if caps is not None and caps.text("max_duration") and not is_duration(caps.text("max_duration")):
        context.found.add("X006", caps.place("max_duration"), found=caps.text("max_duration"))
    _permissions(context)
    for section in (context.workflow, *(node.section for node in context.draft.nodes.values())):
        _compaction(context, section)


def _preset(context: Context, preset: PresetDraft) -> None:
    for key, line in preset.values.items():
        var = context.draft.vars.get(key)
        if var is None:
            if not context.draft.incomplete:
                hint = suggestion(key, context.draft.vars, "declare it in `vars:`")
                context.found.add("C070", line, preset=preset.name, name=key, hint=hint)
            continue
        assert isinstance(line.value, Scalar)
        try:
            value = read_literal(var.var.type, line.value)
        except Misfit as misfit:
            problem = f"`{key}` is {var.var.type.value}, and {misfit}"
            context.found.add("C071", line.value, preset=preset.name, problem=problem, expected=misfit.expected)
            continue
        broken = outside(var.var, value)
        if broken is not None:
            problem = f"`{key}` is outside its {'enum' if broken[0] == 'C126' else 'pattern'}"
            expected = f"one of {broken[1]['members']}" if broken[0] == "C126" else "a value that matches"
            context.found.add("C071", line.value, preset=preset.name, problem=problem, expected=expected)
    for key, given in preset.from_file.items():
        _from_file(context, preset, key, given)


def _from_file(context: Context, preset: PresetDraft, key: str, given: object) -> None:
    var = context.draft.vars.get(key)
    if var is None:
        if not context.draft.incomplete:
            context.found.add("C070", preset, preset=preset.name, name=key)
        return
    problem = fit(var.var.type, given, var.var.enum).problem
    if problem:
        words = f"`{key}`: {problem}"
        context.found.add("C071", preset, preset=preset.name, problem=words, expected=f"a {var.var.type.value}")


def _permissions(context: Context) -> None:
    section = context.workflow
    rules = [key for key in ("allow", "ask", "deny") if section.has(key)]
    modes = section.has("permission") or any(node.section.has("permission") for node in context.draft.nodes.values())
    if rules and not modes:
        context.found.add("C111", section.items[rules[0]].line)


def _compaction(context: Context, section: Section) -> None:
    inner = section.section("compaction")
    if inner is None:
        return
    for key, low, high in (("threshold", 0.0, 1.0), ("preserve_recent", 0.5, float("inf"))):
        if inner.has(key) and not low < inner.number(key) <= high:
            context.found.add("C043", inner.place(key), problem=f"`{key}` cannot be {inner.number(key):g}")
