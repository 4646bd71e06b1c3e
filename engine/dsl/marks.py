"""X001: what is EXTENDED, and what of it a run would reach (language.md 1.1).

``note_features`` warns about every EXTENDED construct and keeps which of them a launch has to refuse; what a launch
refuses is decided here, not in the engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.dsl.codes import CODES, Severity
from engine.dsl.diagnostics import Diagnostic
from engine.dsl.draft import Draft
from engine.dsl.flow import Flow
from engine.dsl.reader import Feature
from engine.dsl.shapes import SHAPES
from engine.dsl.uses import reached_declarations

NODE_KINDS = frozenset(
    ["agent", "judge", "router", "human", "tool", "compute", "subbot", "fail", "emit", "wait", "await_answers"]
)


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """Findings that are warnings in ``validate`` and refuse a launch, because a run would reach them."""

    refused: tuple[Diagnostic, ...] = ()


def note_features(draft: Draft, flow: Flow) -> LaunchFacts:
    """Warn about every EXTENDED construct (X001) and say which of them a run reaches; likewise X004."""
    declared = reached_declarations(draft, flow)
    refused: list[Diagnostic] = []
    for feature in draft.features:
        draft.found.add("X001", feature.span, node=_node(feature), feature=feature.text)
        if not feature.advisory and _reached(feature, flow, declared):
            refused.append(_error("X001", feature.span.file, feature, feature.text))
    refused += [_raised(found) for found in draft.found if found.code == "X004" and found.node in flow.reached]
    return LaunchFacts(tuple(refused))


def errors_at_launch(facts: LaunchFacts) -> Iterable[Diagnostic]:
    """The refusals as errors."""
    return facts.refused


def _node(feature: Feature) -> str:
    return feature.owner.name if feature.owner.kind in NODE_KINDS else ""


def _reached(feature: Feature, flow: Flow, declared: frozenset[tuple[str, str]]) -> bool:
    kind, name = feature.owner.kind, feature.owner.name
    if kind == "workflow":
        return True
    if kind in NODE_KINDS and kind in SHAPES:
        return name in flow.reached
    return (kind, name) in declared


def _error(code: str, file: str, feature: Feature, text: str) -> Diagnostic:
    row = CODES[code]
    message = row.message.format(feature=text)
    span = feature.span
    return Diagnostic(code, Severity.ERROR, file, span.line, span.column, message, row.hint, _node(feature))


def _raised(found: Diagnostic) -> Diagnostic:
    return Diagnostic(
        found.code, Severity.ERROR, found.file, found.line, found.column, found.message, found.hint, found.node
    )
