"""What a person is asked about a call whose answer was lost, and whether what they answer fits (connectors.md 9).

Pure. Read by ``pointsman effects``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pydantic import ValidationError

from connectors.catalogue.operations import NAMES, Probe

QUESTIONS: Mapping[Probe, str] = MappingProxyType(
    {
        Probe.NOTHING_TO_DECIDE: "Nothing is to be decided: a read changes nothing.",
        Probe.NONE: "Did {operation} start anything on {connection}? Nothing is kept by which it could be found.",
        Probe.READ_BACK: "Is it on {connection} as the parameters say?",
        Probe.COMMENT_MARKER: "Is there a comment of our account on number {number} of {connection} with this marker?",
        Probe.REVIEW_MARKER: "Is there a review of our account on pull {number} of {connection} with this marker?",
        Probe.ISSUE_MARKER: 'Did our account make an issue "{title}" on {connection}, with this marker in its text?',
        Probe.PULL_MARKER: "Is there a pull of {head} into {base} on {connection}, made by our account?",
        Probe.RELEASE_MARKER: "Is there a release of tag {tag} on {connection}, with this marker in its text?",
        Probe.BRANCH_SHA: "Is there a branch {name} at {sha} on {connection}?",
    }
)
"""By which read a call is decided -> what a person looks for. Total, as a test proves."""
UNKNOWN = "Was this call made?"
BOARD = "Was this written to card {number} of board {connection}?"


def question(operation: str, connection: str, params: Mapping[str, object]) -> str:
    """What a person has to find out, in one sentence."""
    known = NAMES.get(operation)
    if known is None:
        template = BOARD if ".board." in operation else UNKNOWN
    else:
        template = QUESTIONS[known[1].probe]
    names = ("number", "title", "head", "base", "tag", "name", "sha")
    told = {name: _short(params.get(name, "?")) for name in names}
    return template.format(operation=operation, connection=connection or "the forge", **told)


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 80 else f"{text[:79]}…"


def fields(operation: str) -> tuple[str, ...]:
    """The names that a result of the operation must have."""
    known = NAMES.get(operation)
    if known is None:
        return ()
    return tuple(name for name, field in known[1].result.model_fields.items() if field.is_required())


def misfit(operation: str, response: Mapping[str, object]) -> str:
    """Why this cannot be the operation's result, with the field's name; empty when it can, or nobody knows."""
    known = NAMES.get(operation)
    if known is None:
        return ""
    try:
        known[1].result.model_validate(dict(response))
    except ValidationError as problem:
        first = problem.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the result"
        return f"{where}: {first['msg']}"
    return ""
