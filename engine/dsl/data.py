"""Declarations that hold data: ``vars``, ``presets``, ``schema`` (language.md 4.1, 4.2, 4.5).

Called by ``draft``. Defaults and preset values are read into their type here, so that the graph carries values. What
people give at launch is coerced elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.dsl.ast import (
    Block,
    Constraint,
    Declaration,
    ListValue,
    Property,
    Scalar,
    ScalarKind,
    Style,
    TypeValue,
    Value,
)
from engine.dsl.diagnostics import Diagnostics, suggestion
from engine.dsl.graph import Field, Span, ValueType, Var
from engine.dsl.patterns import matches, problem_of
from engine.dsl.reader import shown_value
from engine.dsl.textform import NotJson, read_json

VAR_TYPES = ("string", "bool", "int", "float", "json", "string[]")
FIELD_TYPES = (*VAR_TYPES, "file")


class Misfit(ValueError):
    """A literal does not fit a type; the text says why, ``expected`` what to write."""

    def __init__(self, message: str, expected: str) -> None:
        super().__init__(message)
        self.expected = expected


@dataclass(frozen=True, slots=True)
class VarDraft:
    """A var with its place."""

    var: Var
    span: Span


@dataclass(frozen=True, slots=True)
class FieldDraft:
    """A schema field with its place."""

    field: Field
    span: Span


@dataclass(frozen=True, slots=True)
class SchemaDraft:
    """A schema with its place; ``by_name`` finds a field. ``unclear``: a line of it could not be read."""

    name: str
    fields: tuple[FieldDraft, ...]
    by_name: Mapping[str, Field]
    span: Span
    unclear: bool = False


@dataclass(frozen=True, slots=True)
class PresetDraft:
    """A preset as written: literals by var, with their lines; ``from_file`` are the values of a bundle's Markdown file,
    which win per var."""

    name: str
    values: Mapping[str, Property]
    span: Span
    from_file: Mapping[str, object] = field(default_factory=dict)


def read_vars(block: Block | None, found: Diagnostics) -> list[VarDraft]:
    """The lines ``NAME: TYPE [constraint]… [= literal]``."""
    drafts: list[VarDraft] = []
    for line, typed in _typed_lines(block, "vars", found):
        if typed.name not in VAR_TYPES:
            found.add("E021", typed, name=typed.name, hint=suggestion(typed.name, VAR_TYPES))
            drafts.append(VarDraft(Var(line.key, ValueType.JSON, required=False), line.span))
            continue
        kind = ValueType(typed.name)
        members, pattern = _constraints(line, typed, kind, found)
        default: object = None
        if typed.default is not None:
            default = _default(Var(line.key, kind, False, None, members, pattern), typed.default, found)
        required = typed.default is None
        drafts.append(VarDraft(Var(line.key, kind, required, default, members, pattern), line.span))
    return drafts


def read_schema(declaration: Declaration, found: Diagnostics) -> SchemaDraft:
    """The lines ``NAME: TYPE [ [enum: …] ]`` of a schema."""
    fields: dict[str, FieldDraft] = {}
    for line, typed in _typed_lines(declaration.block, f"schema `{declaration.name}`", found):
        if typed.name not in FIELD_TYPES:
            found.add("E021", typed, name=typed.name, hint=suggestion(typed.name, FIELD_TYPES))
            fields[line.key] = FieldDraft(Field(line.key, ValueType.JSON), line.span)
            continue
        kind = ValueType(typed.name)
        members, pattern = _constraints(line, typed, kind, found)
        if pattern or typed.default is not None:
            what = "`matching`" if pattern else "a default"
            found.add("E001", typed, found=what, expected="a field has neither `matching` nor a default")
        fields[line.key] = FieldDraft(Field(line.key, kind, members), line.span)
    by_name = {name: draft.field for name, draft in fields.items()}
    unclear = declaration.block is not None and declaration.block.unclear
    return SchemaDraft(declaration.name, tuple(fields.values()), by_name, declaration.name_span, unclear)


def _typed_lines(block: Block | None, owner: str, found: Diagnostics) -> list[tuple[Property, TypeValue]]:
    lines: dict[str, tuple[Property, TypeValue]] = {}
    for entry in block.entries if block else ():
        if not isinstance(entry, Property):
            found.add("E001", entry, found="an edge or declaration", expected="a line `NAME: TYPE`")
            continue
        typed = _as_type(entry.value)
        if typed is None:
            given = shown_value(entry.value) if entry.value else "empty"
            found.add("E020", entry, name=entry.key, found=given, expected="a type, such as `string`")
            typed = TypeValue("json", entry.span)
        if entry.block is not None:
            found.add("E001", entry.block, found="indentation", expected=f"`{entry.key}` takes no block")
        first = lines.get(entry.key)
        if first is not None:
            found.add("E010", entry, what=f"in {owner}", name=entry.key, first=f"line {first[0].span.line}")
            continue
        lines[entry.key] = (entry, typed)
    return list(lines.values())


def _as_type(value: Value | None) -> TypeValue | None:
    if isinstance(value, TypeValue):
        return None if value.optional else value
    if isinstance(value, Scalar) and value.kind is ScalarKind.TEXT and value.style is Style.BARE:
        return TypeValue(str(value.value), value.span)
    return None


def _constraints(line: Property, typed: TypeValue, kind: ValueType, found: Diagnostics) -> tuple[tuple[str, ...], str]:
    seen: dict[str, Constraint] = {}
    for constraint in typed.constraints:
        if constraint.name not in ("enum", "matching"):
            hint = suggestion(constraint.name, ("enum", "matching"))
            found.add("E001", constraint, found=f"`{constraint.name}`", expected="`enum` or `matching`", hint=hint)
        elif constraint.name in seen:
            first = f"line {seen[constraint.name].span.line}"
            found.add("E010", constraint, what="the constraint", name=constraint.name, first=first)
        elif kind is not ValueType.STRING:
            found.add("C125", constraint, constraint=constraint.name, name=line.key, type=kind.value)
        else:
            seen[constraint.name] = constraint
    members = seen["enum"].values if "enum" in seen else ()
    for place, member in enumerate(members):
        if member in members[:place]:
            found.add("C127", seen["enum"], name=line.key, member=member)
    pattern = seen["matching"].values[0] if "matching" in seen else ""
    if problem := problem_of(pattern):
        found.add("C161", seen["matching"], problem=f"the pattern of `{line.key}` cannot be used: {problem}")
        pattern = ""
    return tuple(dict.fromkeys(members)), pattern


def _default(var: Var, literal: Scalar | ListValue, found: Diagnostics) -> object:
    try:
        value = read_literal(var.type, literal)
    except Misfit as misfit:
        fields = {"type": var.type.value, "problem": str(misfit), "expected": misfit.expected}
        found.add("C109", literal, name=var.name, **fields)
        return None
    problem = outside(var, value)
    if problem is not None:
        code, fields = problem
        found.add(code, literal, **fields)
    return value


def outside(var: Var, value: object) -> tuple[str, dict[str, str]] | None:
    """Which constraint ``value`` breaks: C126 for an enum, C161 for a pattern, with the fields of the message.

    Text with environment forms is judged at launch, when they have a value.
    """
    if not isinstance(value, str) or "$" in value:
        return None
    if var.enum and value not in var.enum:
        return "C126", {"name": var.name, "members": ", ".join(f'"{member}"' for member in var.enum)}
    if var.pattern and not matches(var.pattern, value):
        return "C161", {"problem": f'the default of `{var.name}` does not match its pattern "{var.pattern}"'}
    return None


def read_literal(kind: ValueType, literal: Scalar | ListValue) -> object:
    """The value that a literal stands for. Raises ``Misfit``."""
    if isinstance(literal, ListValue):
        raise Misfit("it is a list", "it as quoted JSON, such as '[\"a\"]'")
    value = literal.value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
        raise Misfit("numbers have no sign", "a number, 0 or more")
    if kind is ValueType.STRING and literal.kind is ScalarKind.TEXT:
        return value
    if kind is ValueType.BOOL and literal.kind is ScalarKind.BOOL:
        return value
    if kind is ValueType.INT and literal.kind is ScalarKind.INT:
        return value
    if kind is ValueType.FLOAT and literal.kind in (ScalarKind.INT, ScalarKind.FLOAT) and math.isfinite(float(value)):
        return float(value)
    if kind in (ValueType.JSON, ValueType.STRINGS) and literal.kind is ScalarKind.TEXT:
        return _json(kind, str(value))
    raise Misfit(f"it is {shown_value(literal)}", _EXPECTED[kind])


_EXPECTED = {
    ValueType.STRING: "a text in quotes",
    ValueType.BOOL: "true or false",
    ValueType.INT: "a whole number",
    ValueType.FLOAT: "a number",
    ValueType.JSON: "quoted JSON text",
    ValueType.STRINGS: "a quoted JSON list of texts",
    ValueType.FILE: "nothing",
}


def _json(kind: ValueType, text: str) -> object:
    try:
        value: object = read_json(text)
    except NotJson as problem:
        raise Misfit(f"it is no JSON ({problem})", _EXPECTED[kind]) from None
    if kind is ValueType.STRINGS and not (isinstance(value, list) and all(isinstance(part, str) for part in value)):
        raise Misfit("it is no list of texts", _EXPECTED[kind])
    return value


def read_presets(block: Block | None, found: Diagnostics) -> list[PresetDraft]:
    """The blocks ``NAME:`` of ``VAR: literal`` lines; a name or var twice is C072."""
    presets: dict[str, PresetDraft] = {}
    for entry in block.entries if block else ():
        if not isinstance(entry, Property) or entry.value is not None:
            found.add("E001", entry, found="this line", expected="`NAME:` with lines `VAR: value` below it")
            continue
        if entry.key in presets:
            found.add("C072", entry, name=entry.key, first=f"line {presets[entry.key].span.line}")
            continue
        values: dict[str, Property] = {}
        for line in entry.block.entries if entry.block else ():
            if not isinstance(line, Property) or not isinstance(line.value, Scalar):
                found.add("E001", line, found="this line", expected="a line `VAR: value`")
            elif line.key in values:
                place = f"line {values[line.key].span.line}"
                found.add("C072", line, name=f"{entry.key}.{line.key}", first=place)
            else:
                values[line.key] = line
        presets[entry.key] = PresetDraft(entry.key, values, entry.span)
    return list(presets.values())
