"""Declared fields of a board, and what values fit them (dispatcher.md 29).

Pure. A board that declares fields is a closed set; one that declares none, the default, takes any field as text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType

from connectors.errors import InvalidField
from connectors.text import check_name, check_text


class FieldType(StrEnum):
    """Types of declared fields."""

    TEXT = "text"
    NUMBER = "number"
    BOOL = "bool"
    DATE = "date"
    ENUM = "enum"


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One declared field. ``values`` is the closed list of an enum; ``default`` is None for none."""

    name: str
    type: FieldType = FieldType.TEXT
    required: bool = False
    default: object = None
    values: tuple[str, ...] = ()


def fit_fields(specs: Sequence[FieldSpec], given: Mapping[str, object]) -> dict[str, object]:
    """The values to store: checked, in their type, defaults filled in. Raises ``InvalidField`` naming the field."""
    if not specs:
        return {name: _free(name, value) for name, value in given.items() if value is not None}
    known = {spec.name: spec for spec in specs}
    fitted: dict[str, object] = {}
    for name, value in given.items():
        spec = known.get(name)
        if spec is None:
            raise _unknown(name, list(known))
        if value is not None:
            fitted[name] = fit_value(spec, value)
    for spec in specs:
        if spec.name not in fitted and spec.default is not None:
            fitted[spec.name] = spec.default
        if spec.required and spec.name not in fitted:
            raise _required(spec)
    return fitted


def fit_changes(
    specs: Sequence[FieldSpec], present: Mapping[str, object], change: Mapping[str, object | None]
) -> dict[str, object]:
    """``present`` with the named fields set, and taken away where the change says None. Raises ``InvalidField``.

    Only what is changed is checked: a value from before its field was declared or removed stays in nobody's way.
    """
    known = {spec.name: spec for spec in specs}
    fitted = dict(present)
    for name, value in change.items():
        spec = known.get(name)
        if value is None:
            if spec is not None and spec.required and name in fitted:
                raise _required(spec)
            fitted.pop(name, None)
        elif spec is not None:
            fitted[name] = fit_value(spec, value)
        elif specs:
            raise _unknown(name, list(known))
        else:
            fitted[name] = _free(name, value)
    return fitted


def fit_import(
    specs: Sequence[FieldSpec], given: Mapping[str, object], present: Mapping[str, object] | None
) -> dict[str, object]:
    """The values of a card that comes from elsewhere; ``present`` are those that it has here, None for a new one.

    What it has here already fits, whatever is declared by now. Without declared fields numbers and truth values become
    text. Raises ``InvalidField``.
    """
    same = present or {}
    fresh = {name: value for name, value in given.items() if name not in same or same[name] != value}
    if not specs:
        fresh = {name: _as_text(value) for name, value in fresh.items()}
    if present is None:
        return fit_fields(specs, fresh)
    return fit_changes(specs, same, {**{name: None for name in same if name not in given}, **fresh})


def _as_text(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def fit_value(spec: FieldSpec, value: object) -> object:
    """``value`` in the type of the field; text is read as a person types it. Raises ``InvalidField``."""
    fitted = _READERS[spec.type](spec, value)
    if fitted is None:
        wanted = f"one of {', '.join(spec.values)}" if spec.type is FieldType.ENUM else f"a {spec.type}"
        raise InvalidField(f'The field "{spec.name}" takes {wanted}, not {value!r}.', "Give a value that fits.")
    return fitted


def _required(spec: FieldSpec) -> InvalidField:
    return InvalidField(f'The field "{spec.name}" is required.', f"Give it with --field {spec.name}=VALUE.")


def _unknown(name: str, known: list[str]) -> InvalidField:
    near = get_close_matches(name, known, n=1)
    meant = f' Did you mean "{near[0]}"?' if near else ""
    return InvalidField(f'This board has no field "{name}".{meant}', f"Its fields are: {', '.join(known)}.")


def _free(name: str, value: object) -> str:
    check_name("field name", name)
    if not isinstance(value, str):
        raise InvalidField(f'The field "{name}" takes text, not {value!r}.', "Send it as text, or declare the field.")
    return check_text(f'field "{name}"', value)


def _text(spec: FieldSpec, value: object) -> object:
    return check_text(f'field "{spec.name}"', value) if isinstance(value, str) else None


def _number(_: FieldSpec, value: object) -> object:
    if isinstance(value, bool):
        return None
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _bool(_: FieldSpec, value: object) -> object:
    if isinstance(value, bool):
        return value
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    return words.get(value.strip().lower()) if isinstance(value, str) else None


def _date(_: FieldSpec, value: object) -> object:
    try:
        return date.fromisoformat(value).isoformat() if isinstance(value, str) else None
    except ValueError:
        return None


def _enum(spec: FieldSpec, value: object) -> object:
    return value if value in spec.values else None


_READERS: Mapping[FieldType, Callable[[FieldSpec, object], object]] = MappingProxyType(
    {
        FieldType.TEXT: _text,
        FieldType.NUMBER: _number,
        FieldType.BOOL: _bool,
        FieldType.DATE: _date,
        FieldType.ENUM: _enum,
    }
)
