"""A success is one only when a model accepted its payload (connectors.md 2.5). Used by the forges' clients."""

from __future__ import annotations

from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from connectors.answer import AnswerKind, StopReason
from connectors.errand import Errand
from connectors.errors import AmbiguousEffect, Evidence, Unreachable
from connectors.transport.request import Answer, BodyUnreadable

M = TypeVar("M")


def accept(answer: Answer, model: TypeAdapter[M], errand: Errand) -> M:
    """The payload as the model sees it.

    Raises ``AmbiguousEffect`` for a change whose payload does not fit (it was performed, its result is unreadable) and
    ``Unreachable`` for a read.
    """
    try:
        return fitting(answer.json(), model)
    except (BodyUnreadable, Misfit) as error:
        raise misfit(answer, error, errand) from error


def misfit(answer: Answer, why: Exception, errand: Errand) -> AmbiguousEffect | Unreachable:
    """What to raise for a success that cannot be used."""
    evidence = Evidence(kind=AnswerKind.LOST.value, status=answer.status, message=str(why), wire=answer.wire.as_json())
    text = f"The forge answered {answer.status}, and what it sent cannot be used: {why}."
    if errand.effect_id:
        hint = "It was probably done. It is looked up; what is not found, a person settles."
        return AmbiguousEffect(text, hint, effect_id=errand.effect_id, evidence=evidence)
    hint = "If it stays so, the forge's version is one that this connector does not know."
    return Unreachable(text, hint, evidence=evidence, stopped=StopReason.DECODE)


class Misfit(Exception):
    """A payload lacks a field or has it in another shape; the text is the field's place."""


def fitting(payload: object, model: TypeAdapter[M]) -> M:
    """The payload as the model sees it. Raises ``Misfit`` with the place of the first field that does not fit."""
    try:
        return model.validate_python(payload)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Misfit(f"{place or 'payload'}: {first['msg'].lower()}") from error
