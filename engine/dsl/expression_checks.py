"""What can be said about an expression before it runs: C107, C108, C120, C121, C138, C146 (language.md 14).

Pure: a tree and what is declared go in, findings come out; the compiler turns them into diagnostics. A type that is
not known is never guessed, so silence promises nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from engine.dsl.expression_functions import FUNCTIONS
from engine.dsl.expression_tree import (
    Call,
    Chain,
    Literal,
    NamePath,
    Part,
    Subscript,
    Unary,
    postorder,
)

NUMBERS: Final = frozenset({"int", "float", "number"})
SCALARS: Final = NUMBERS | {"string", "bool"}
EQUALITY: Final = frozenset({"==", "!="})
ORDER: Final = frozenset({"<", "<=", ">", ">="})
LOGIC: Final = frozenset({"&&", "||"})
RETURNS: Final = {
    "length": "int", "floor": "int", "round": "int", "sum": "number", "contains": "bool", "join": "string",
    "concat": "list", "unique": "list", "tail": "list", "slice": "list", "sort": "list", "flatten": "list",
    "keys": "list", "values": "list", "map": "list", "filter": "list",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StaticType:
    """A declared type: ``int float number string bool list map``, and the members when it is an enum."""

    kind: str
    enum: tuple[str, ...] = ()


TypeOf = Callable[[str, tuple[str, ...]], StaticType | None]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: its diagnostic code, the character offset in the expression, what was found, what to write."""

    code: str
    offset: int
    message: str
    expected: str


def check_tree(tree: Part, type_of: TypeOf, *, condition: bool = False, target: str = "") -> tuple[Finding, ...]:
    """All findings of one expression, in the order of the text.

    ``type_of`` gives the declared type of ``namespace, path``, or None. ``condition`` says that the truth of the value
    decides an edge, ``target`` the declared type of the field that takes the value (language.md 5.3).
    """
    types: dict[int, StaticType | None] = {}
    found: list[Finding] = []
    for part in postorder(tree):
        types[id(part)] = _infer(part, types, type_of)
        found.extend(_of_part(part, types))
    if condition:
        found.extend(_bare_numbers(tree, types))
    if target == "int":
        found.extend(_divisions(tree, types))
    return tuple(sorted(found, key=lambda finding: (finding.offset, finding.code)))


_Types = dict[int, StaticType | None]


def _infer(part: Part, types: _Types, type_of: TypeOf) -> StaticType | None:
    if isinstance(part, Literal):
        return StaticType(_LITERALS[type(part.value)])
    if isinstance(part, NamePath):
        return type_of(part.namespace, part.names)
    if isinstance(part, Unary):
        return StaticType("bool") if part.sign == "!" else _arithmetic(("-",), [types[id(part.operand)]])
    if isinstance(part, Chain):
        if part.signs[0] in LOGIC | EQUALITY | ORDER:
            return StaticType("bool")
        return _arithmetic(part.signs, [types[id(operand)] for operand in part.operands])
    if isinstance(part, Call):
        if part.name in RETURNS:
            return StaticType(RETURNS[part.name])
        if part.name == "if" and len(part.arguments) == 3:
            first, second = types[id(part.arguments[1])], types[id(part.arguments[2])]
            return first if first == second else None
    return None


_LITERALS: Final = {int: "int", float: "float", str: "string", bool: "bool"}


def _arithmetic(signs: tuple[str, ...], operands: list[StaticType | None]) -> StaticType | None:
    kinds = {operand.kind if operand else "" for operand in operands}
    if "%" in signs and len(set(signs)) == 1:
        return StaticType("int")
    if kinds == {"int"}:
        return StaticType("int")
    if kinds <= NUMBERS:
        return StaticType("number")
    if set(signs) == {"+"} and "string" in kinds and kinds <= NUMBERS | {"string"}:
        return StaticType("string")
    return None if "+" in signs else StaticType("number")


def _of_part(part: Part, types: _Types) -> Iterator[Finding]:
    if isinstance(part, Call):
        yield from _argument_count(part)
    elif isinstance(part, Chain) and part.signs[0] in EQUALITY | ORDER:
        yield from _comparison(part, types)
    elif isinstance(part, Subscript):
        known = types[id(part.receiver)]
        if known and known.kind in SCALARS:
            message = f"an index on a value of type {known.kind}"
            yield Finding("C120", part.receiver.offset, message, "index lists and maps only")


def _argument_count(part: Call) -> Iterator[Finding]:
    function, count = FUNCTIONS[part.name], len(part.arguments)
    if count < function.fewest or (function.most is not None and count > function.most):
        wanted = f"{function.fewest}" if function.most is not None else f"{function.fewest} or more"
        plural = "argument" if wanted == "1" else "arguments"
        yield Finding("C138", part.offset, f"{part.name} is given {count}", f"{part.name} takes {wanted} {plural}")


def _comparison(part: Chain, types: _Types) -> Iterator[Finding]:
    left, right = (types[id(operand)] for operand in part.operands)
    sign = part.signs[0]
    if left and right:
        groups = (_group(left), _group(right))
        alike = groups[0] == groups[1] and groups[0] in _COMPARABLE[sign in ORDER]
        if not alike:
            message = f"`{sign}` between {left.kind} and {right.kind} never holds"
            message = message if sign in EQUALITY else f"`{sign}` cannot compare {left.kind} and {right.kind}"
            message = message if sign != "!=" else f"`!=` between {left.kind} and {right.kind} always holds"
            yield Finding("C107", part.offset, message, "compare values of one type")
    for known, operand in ((left, part.operands[1]), (right, part.operands[0])):
        found = operand.value if isinstance(operand, Literal) else None
        if known and known.enum and sign in EQUALITY and isinstance(found, str) and found not in known.enum:
            members = ", ".join(f"'{member}'" for member in known.enum)
            yield Finding("C121", operand.offset, f"'{found}' is no member of the enum", f"the members are {members}")


_COMPARABLE: Final = {True: ("number", "string"), False: ("number", "string", "bool")}


def _group(known: StaticType) -> str:
    return "number" if known.kind in NUMBERS else known.kind


def _bare_numbers(tree: Part, types: _Types) -> Iterator[Finding]:
    todo = [tree]
    while todo:
        part = todo.pop()
        if (isinstance(part, Chain) and part.signs[0] in LOGIC) or (isinstance(part, Unary) and part.sign == "!"):
            todo.extend(part.children)
            continue
        known = types[id(part)]
        if known and known.kind in NUMBERS:
            yield Finding("C108", part.offset, "its truth is that it is not 0", "write a comparison, such as `x > 0`")


def _divisions(tree: Part, types: _Types) -> Iterator[Finding]:
    todo = [tree]
    while todo:
        part = todo.pop()
        if isinstance(part, Call) and part.name == "if":
            todo.extend(part.arguments[1:])
        elif isinstance(part, Unary) and part.sign == "-":
            todo.append(part.operand)
        elif isinstance(part, Chain) and part.signs[0] not in LOGIC | EQUALITY | ORDER:
            kinds = [types[id(operand)] for operand in part.operands]
            if "/" in part.signs and any(kind is None or kind.kind != "int" for kind in kinds):
                message = "a division goes into an int and may leave a fraction"
                yield Finding("C146", part.offset, message, "write floor(…) or round(…)")
            else:
                todo.extend(part.operands)
