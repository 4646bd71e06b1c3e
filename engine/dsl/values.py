"""Values against declared types: fit, coercion of typed text, outputs, answers, launch values (language.md 4, 5.4).

Pure deciders: each returns what the value becomes, or in one phrase why it does not fit; nobody is told and nothing
is stored. The compiler asks about defaults and presets, the runtime about outputs and answers. File descriptors are
made elsewhere; here they are only recognised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from engine.dsl.expression_tokens import INT_DIGITS, INT_MAX, INT_MIN
from engine.dsl.graph import Field, ValueType, Var
from engine.dsl.patterns import matches
from engine.dsl.textform import NotJson, is_unicode, json_text, read_json, text_form, truthy, type_name

__all__ = [
    "ATTACHMENTS",
    "Checked",
    "FieldProblem",
    "Fit",
    "NotJson",
    "check_answers",
    "check_output",
    "coerce",
    "coerce_answers",
    "fit",
    "json_text",
    "launch_value",
    "literal_value",
    "read_json",
    "schema_view",
    "staged_path",
    "text_form",
    "truthy",
]

ATTACHMENTS: Final = "_attachments"
BOOL_WORDS: Final = {
    "true": True, "yes": True, "on": True, "1": True,
    "false": False, "no": False, "off": False, "0": False,
}  # fmt: skip
DECIMAL: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]+))?")
EXPONENT: Final = re.compile(r"[eE][+-]?[0-9]{1,4}\Z")
SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Fit:
    """What a value becomes under a type; ``problem`` says why it does not fit, and is empty when it does."""

    value: Any = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One field that does not fit. ``text`` is the whole sentence, with the field's name."""

    field: str
    problem: str

    @property
    def text(self) -> str:
        """The field and what is wrong with it."""
        return f"{self.field}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked map of values; ``value`` is normalised, and of no use while there are ``problems``."""

    value: dict[str, Any]
    problems: tuple[FieldProblem, ...] = ()

    @property
    def problem(self) -> str:
        """All problems in one line, empty when the values fit."""
        return "; ".join(problem.text for problem in self.problems)


# One value against one type.


def fit(kind: ValueType, value: Any, enum: tuple[str, ...] = ()) -> Fit:
    """``value`` as a value of ``kind`` (the table of language.md 4.5); a float without fraction becomes an ``int``."""
    if kind is ValueType.STRING and enum:
        return _fit_enum(value, enum)
    return _FITS[kind](value)


def _fit_string(value: Any) -> Fit:
    return Fit(value) if isinstance(value, str) else _misfit("a text", value)


def _fit_enum(value: Any, enum: tuple[str, ...]) -> Fit:
    return Fit(value) if isinstance(value, str) and value in enum else _misfit(f"one of {', '.join(enum)}", value)


def _fit_bool(value: Any) -> Fit:
    return Fit(value) if isinstance(value, bool) else _misfit("true or false", value)


def _fit_int(value: Any) -> Fit:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(whole, bool) or not isinstance(whole, int):
        return _misfit("an integer", value)
    return Fit(whole) if INT_MIN <= whole <= INT_MAX else Fit(problem="the integer does not fit in 64 bits")


def _fit_float(value: Any) -> Fit:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _misfit("a number", value)
    try:
        return Fit(value) if isfinite(value) else Fit(problem="the number is not finite")
    except OverflowError:
        return Fit(problem="the number is too large")


def _fit_json(value: Any) -> Fit:
    return Fit(value)


def _fit_strings(value: Any) -> Fit:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return Fit(value)
    return _misfit("a list of texts", value)


def _fit_file(value: Any) -> Fit:
    if isinstance(value, str) or (isinstance(value, dict) and isinstance(value.get("path"), str)):
        return Fit(value)
    return _misfit("a file", value)


_FITS: Final[dict[ValueType, Callable[[Any], Fit]]] = {
    ValueType.STRING: _fit_string,
    ValueType.BOOL: _fit_bool,
    ValueType.INT: _fit_int,
    ValueType.FLOAT: _fit_float,
    ValueType.JSON: _fit_json,
    ValueType.STRINGS: _fit_strings,
    ValueType.FILE: _fit_file,
}


def _misfit(wanted: str, value: Any) -> Fit:
    if value is None:
        return Fit(problem=f"wants {wanted}, found null")
    text = json_text(value)
    shown = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return Fit(problem=f"wants {wanted}, found {type_name(value)} {shown}")


# Text that a person typed.


def coerce(kind: ValueType, text: str, enum: tuple[str, ...] = ()) -> Fit:
    """Typed text as a value of ``kind`` (language.md 5.4, engine.md 7.4).

    A ``string`` takes the text as it is. For a ``file``, ``@@x`` is the text ``@x``; whoever stages files asks
    ``staged_path`` first and never brings ``@path`` here.
    """
    if not is_unicode(text):
        return Fit(problem="the text is not valid UTF-8")
    return _COERCIONS[kind](text, enum)


def _coerce_string(text: str, enum: tuple[str, ...]) -> Fit:
    return fit(ValueType.STRING, text, enum)


def _coerce_bool(text: str, _enum: tuple[str, ...]) -> Fit:
    word = text.strip().lower()
    if word in BOOL_WORDS:
        return Fit(BOOL_WORDS[word])
    return Fit(problem=f"wants one of {', '.join(BOOL_WORDS)}, found {_quoted(text)}")


def _coerce_int(text: str, _enum: tuple[str, ...]) -> Fit:
    found = _decimal(text)
    if found is None or (found.group(3) or "").strip("0"):
        return Fit(problem=f"wants an integer, found {_quoted(text)}")
    digits = found.group(2).lstrip("0") or "0"
    if len(digits) > INT_DIGITS:
        return Fit(problem="the integer does not fit in 64 bits")
    return _fit_int(int(found.group(1) + digits))


def _coerce_float(text: str, _enum: tuple[str, ...]) -> Fit:
    if _decimal(EXPONENT.sub("", text.strip())) is None:
        return Fit(problem=f"wants a number, found {_quoted(text)}")
    return _fit_float(float(text))


def _decimal(text: str) -> re.Match[str] | None:
    found = DECIMAL.fullmatch(text.strip())
    return found if found and (found.group(2) or found.group(3)) else None


def _coerce_json(text: str, _enum: tuple[str, ...]) -> Fit:
    try:
        return Fit(read_json(text))
    except NotJson as problem:
        return Fit(problem=f"wants JSON, found {_quoted(text)} ({problem})")


def _coerce_strings(text: str, enum: tuple[str, ...]) -> Fit:
    read = _coerce_json(text, enum)
    return read if read.problem else _fit_strings(read.value)


def _coerce_file(text: str, _enum: tuple[str, ...]) -> Fit:
    return Fit(text[1:] if text.startswith("@@") else text)


_COERCIONS: Final[dict[ValueType, Callable[[str, tuple[str, ...]], Fit]]] = {
    ValueType.STRING: _coerce_string,
    ValueType.BOOL: _coerce_bool,
    ValueType.INT: _coerce_int,
    ValueType.FLOAT: _coerce_float,
    ValueType.JSON: _coerce_json,
    ValueType.STRINGS: _coerce_strings,
    ValueType.FILE: _coerce_file,
}


def staged_path(text: str) -> str:
    """The path in ``@path``, the answer to a ``file`` field that uploads a file; empty for any other text."""
    return text[1:] if text.startswith("@") and not text.startswith("@@") else ""


def _quoted(text: str) -> str:
    return f"'{text if len(text) <= SHOWN else text[: SHOWN - 1] + '…'}'"


# Literals of the workflow text, and launch values.


def literal_value(kind: ValueType, literal: Any, enum: tuple[str, ...] = ()) -> Fit:
    """A default or preset value as it stands in the source: ``literal`` is a str, int, float or bool.

    ``json`` and ``string[]`` are quoted JSON text; an int may stand for a float (language.md 4.1).
    """
    if kind in (ValueType.JSON, ValueType.STRINGS):
        return coerce(kind, literal) if isinstance(literal, str) else _misfit("quoted JSON text", literal)
    if kind is ValueType.INT and isinstance(literal, float):
        return _misfit("an integer", literal)
    return fit(kind, literal, enum)


def launch_value(var: Var, value: Any, *, typed: bool = False) -> Fit:
    """A value given for ``var`` at launch (language.md 4.1): enum and pattern are checked here.

    Text is coerced as answers are. ``typed`` says that it comes from JSON, where text for a ``json`` var is already
    its value.
    """
    if isinstance(value, str) and not (typed and var.type is ValueType.JSON):
        found = coerce(var.type, value, var.enum)
    else:
        found = fit(var.type, value, var.enum)
    if found.problem or not var.pattern or matches(var.pattern, found.value):
        return found
    return Fit(problem=f"wants text that matches {var.pattern}, found {_quoted(found.value)}")


# Outputs and answers.


def check_output(fields: Iterable[Field], value: Mapping[str, Any], *, computed: bool = False) -> Checked:
    """A node's output against its ``output`` schema: every declared field but files is present and fits.

    Further fields are kept. ``computed`` is for compute nodes, where an int becomes a ``float`` (language.md 5.3).
    """
    result, problems = dict(value), []
    for field in fields:
        if field.name not in value:
            if field.type is not ValueType.FILE:
                problems.append(FieldProblem(field.name, "the field is missing"))
            continue
        found = fit(field.type, value[field.name], field.enum)
        if found.problem:
            problems.append(FieldProblem(field.name, found.problem))
        else:
            whole = computed and field.type is ValueType.FLOAT
            result[field.name] = float(found.value) if whole else found.value
    return Checked(result, tuple(problems))


def coerce_answers(fields: Iterable[Field] | None, texts: Mapping[str, str], *, min_answers: int = 0) -> Checked:
    """Typed answers by field, coerced; unknown names stay as they are for ``check_answers`` to refuse.

    Where only some answers are asked for, an empty text is none and becomes null.
    """
    known = {field.name: field for field in fields or ()}
    result: dict[str, Any] = {}
    problems: list[FieldProblem] = []
    for name, text in texts.items():
        field = known.get(name)
        if field is None:
            result[name] = text
        elif not text and min_answers > 0:
            result[name] = None
        else:
            found = coerce(field.type, text, field.enum)
            result[name] = found.value
            if found.problem:
                problems.append(FieldProblem(name, found.problem))
    return Checked(result, tuple(problems))


def check_answers(fields: Iterable[Field] | None, min_answers: int, answers: Mapping[str, Any]) -> Checked:
    """Answers against the question's form (engine.md 7.4); ``value`` becomes the node's output.

    ``fields`` is None without an ``output`` schema: then any map that is not empty is taken. With ``min_answers`` 0
    every field but file fields is required; above 0 at least so many have an answer and the others become null.
    """
    if fields is None:
        problems = () if answers else (FieldProblem("answers", "at least one answer is needed"),)
        return Checked(dict(answers), problems)
    declared = {field.name: field for field in fields}
    unknown = [name for name in answers if name not in declared and name != ATTACHMENTS]
    found = [FieldProblem(name, f"unknown field; the fields are {', '.join(declared)}") for name in unknown]
    checked = _some(declared, min_answers, answers) if min_answers > 0 else _every(declared, answers)
    if ATTACHMENTS in answers:
        checked.value[ATTACHMENTS] = answers[ATTACHMENTS]
    return Checked(checked.value, (*found, *checked.problems))


def _every(declared: Mapping[str, Field], answers: Mapping[str, Any]) -> Checked:
    present = {
        name: value
        for name, value in answers.items()
        if name in declared and not (value is None and declared[name].type is ValueType.FILE)
    }
    return check_output(declared.values(), present)


def _some(declared: Mapping[str, Field], wanted: int, answers: Mapping[str, Any]) -> Checked:
    given = {name: answers[name] for name in declared if not _is_empty(answers.get(name))}
    checked = check_output([declared[name] for name in given], given)
    problems = list(checked.problems)
    if len(given) < min(wanted, len(declared)):
        empty = [name for name in declared if name not in given]
        problems.append(FieldProblem(", ".join(empty), f"{wanted} answers are needed, found {len(given)}"))
    return Checked({name: checked.value.get(name) for name in declared}, tuple(problems))


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip()) or value in ([], {})


def schema_view(fields: Iterable[Field]) -> dict[str, Any]:
    """The JSON Schema of an ``output`` schema, as backends are given it (language.md 4.5)."""
    declared = list(fields)
    properties = {
        field.name: {**_VIEWS[field.type], "enum": list(field.enum)} if field.enum else dict(_VIEWS[field.type])
        for field in declared
    }
    required = [field.name for field in declared if field.type is not ValueType.FILE]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": True}


_VIEWS: Final[dict[ValueType, dict[str, Any]]] = {
    ValueType.STRING: {"type": "string"},
    ValueType.BOOL: {"type": "boolean"},
    ValueType.INT: {"type": "integer"},
    ValueType.FLOAT: {"type": "number"},
    ValueType.JSON: {"type": ["object", "array", "string", "number", "boolean", "null"]},
    ValueType.STRINGS: {"type": "array", "items": {"type": "string"}},
    ValueType.FILE: {"type": "object"},
}
