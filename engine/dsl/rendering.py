"""Fills templates in: one function per row of the table of language.md 9.2, and the quoting of 9.3.

Called by nodes and by edges with the ``Scope`` of the moment. Pure. What is missing is decided here and nowhere else:
every row of the table is one ``Gap``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from engine.dsl.expression_errors import EvaluationError
from engine.dsl.scope import UNRESOLVED, Scope
from engine.dsl.templates import Reference, Template
from engine.dsl.textform import json_text, text_form

SHELL_LANGUAGES: Final = frozenset({"sh", "bash"})
SCRIPT_LANGUAGES: Final = ("sh", "bash", "js", "node", "py", "python", "python3")
EMPTY_WORD: Final = "''"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A text and the references in it that had no value, for the caller to warn about."""

    text: str
    unresolved: tuple[Reference, ...] = ()


def value(template: Template, scope: Scope) -> Any:
    """A ``with`` value or a parameter: a sole reference keeps its type, anything else is text.

    An unresolved sole reference is None.
    """
    sole = template.sole
    if sole is None:
        return text(template, scope)
    found = scope.resolve(sole.namespace, sole.path)
    return None if found is UNRESOLVED else found


def text(template: Template, scope: Scope) -> str:
    """A ``with`` value within text, a ``message``, a ``review_url``: what is missing or null is empty text."""
    return _fill(template, scope, lambda _reference, found: "" if found is None else text_form(found), lambda _: "")


def prompt(template: Template, scope: Scope) -> str:
    """A prompt: null is empty text, an unresolved reference stays as it is written (language.md 9.4)."""
    return _fill(
        template, scope, lambda _reference, found: "" if found is None else text_form(found), lambda gap: gap.text
    )


def strict(template: Template, scope: Scope) -> Any:
    """An ``over`` or a string cap: the value of a sole reference, or text.

    Raises ``EvaluationError`` when a reference is unresolved or null.
    """
    sole = template.sole
    if sole is None:
        return complete(template, scope)
    return _present(sole, scope.resolve(sole.namespace, sole.path))


def complete(template: Template, scope: Scope) -> str:
    """An ``idempotency_key``: text of which no part may be missing. Raises ``EvaluationError`` for unresolved, null
    and empty parts (language.md 5.6)."""

    def part(reference: Reference, found: Any) -> str:
        words = text_form(_present(reference, found))
        if not words:
            raise EvaluationError(f"{reference.dotted} is empty")
        return words

    return _fill(template, scope, part, lambda gap: part(gap, UNRESOLVED))


def _present(reference: Reference, found: Any) -> Any:
    if found is UNRESOLVED:
        raise EvaluationError(f"{reference.dotted} has no value")
    if found is None:
        raise EvaluationError(f"{reference.dotted} is null")
    return found


def command(template: Template, scope: Scope, json_fields: frozenset[str] = frozenset()) -> Rendered:
    """A ``command`` or ``postcondition``: references become shell words; an unresolved one stays and is reported.

    ``json_fields`` are the fields that the node's ``input`` schema declares ``json``: each is always one word.
    """
    unresolved: list[Reference] = []

    def gap(reference: Reference) -> str:
        unresolved.append(reference)
        return reference.text

    return Rendered(_fill(template, scope, _shell(json_fields), gap), tuple(unresolved))


def script(template: Template, scope: Scope, language: str, json_fields: frozenset[str] = frozenset()) -> str:
    """A ``script`` for one of ``SCRIPT_LANGUAGES``: shell words for shells, JSON literals for the others.

    A Python script must run with ``true``, ``false`` and ``null`` bound; whoever starts it does that.
    """
    if language in SHELL_LANGUAGES:
        return _fill(template, scope, _shell(json_fields), lambda gap: "" if gap.raw else EMPTY_WORD)
    return _fill(
        template,
        scope,
        lambda reference, found: text_form(found) if reference.raw else json_text(found),
        lambda _: "null",
    )


def _shell(json_fields: frozenset[str]) -> Callable[[Reference, Any], str]:
    def words(reference: Reference, found: Any) -> str:
        if reference.raw:
            return "" if found is None else text_form(found)
        one = reference.namespace == "input" and len(reference.path) == 1 and reference.path[0] in json_fields
        return shell_words(found, one_word=one)

    return words


def shell_words(found: Any, *, one_word: bool = False) -> str:
    """A value as words of a shell command (language.md 9.3).

    A list of scalars is one word per element, unless ``one_word``; an empty list is nothing; null is the empty word.
    """
    if type(found) is list and not one_word and not any(type(item) is list or type(item) is dict for item in found):
        return " ".join(map(_word, found))
    return _word(found)


def _word(found: Any) -> str:
    if found is None:
        return EMPTY_WORD
    # A NUL can stand in no argument of a process, and bash drops it when it reads one.
    return "'" + text_form(found).replace("\0", "").replace("'", "'\\''") + "'"


def _fill(
    template: Template, scope: Scope, put: Callable[[Reference, Any], str], missing: Callable[[Reference], str]
) -> str:
    parts: list[str] = []
    for part in template.parts:
        if isinstance(part, str):
            parts.append(part)
            continue
        found = scope.resolve(part.namespace, part.path)
        parts.append(missing(part) if found is UNRESOLVED else put(part, found))
    return "".join(parts)
