"""The operators of expressions on plain values (language.md 8.2).

Pure functions of two values. Python is not the language: a bool is no number, ``/`` of two ints cuts toward zero,
``%`` takes the sign of the dividend, a float without fraction acts as an int, and 64 bits overflow.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import isfinite
from typing import Any

from engine.dsl.expression_errors import EvaluationError
from engine.dsl.expression_tokens import INT_MAX, INT_MIN
from engine.dsl.textform import MAX_VALUE_SIZE, text_form, type_name

Operator = Callable[[Any, Any], Any]
Number = int | float


def number(value: Any) -> Number | None:
    """The value as a number, a float without fraction as an int; None when it is no number."""
    if isinstance(value, int):
        return None if isinstance(value, bool) else value
    if isinstance(value, float):
        return int(value) if value.is_integer() and INT_MIN <= value <= INT_MAX else value
    return None


def in_range(value: int) -> int:
    """``value``, or ``EvaluationError`` when it does not fit in 64 bits."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvaluationError("the integer does not fit in 64 bits")


def finite(value: float) -> float:
    """``value``, or ``EvaluationError`` when it is infinite or no number."""
    if isfinite(value):
        return value
    raise EvaluationError("the number is too large")


def add(left: Any, right: Any) -> Any:
    """Two numbers, two strings, or a string and a number in its text form."""
    kinds = (type(left), type(right))
    if kinds == (int, int):
        return in_range(left + right)
    if str in kinds and kinds[0] in _ADDABLE and kinds[1] in _ADDABLE:
        text: str = text_form(left) + text_form(right)
        if len(text) > MAX_VALUE_SIZE:
            raise EvaluationError("the text is larger than 16 MiB")
        return text
    return _numeric("+", left, right)


_ADDABLE = frozenset({str, int, float})


def subtract(left: Any, right: Any) -> Number:
    """Two numbers."""
    return _numeric("-", left, right)


def multiply(left: Any, right: Any) -> Number:
    """Two numbers."""
    return _numeric("*", left, right)


def divide(left: Any, right: Any) -> Number:
    """Two numbers; two ints toward zero; a zero divisor is an error."""
    return _numeric("/", left, right)


def remainder(left: Any, right: Any) -> int:
    """Two ints; the sign of the dividend; zero is an error."""
    first, second = number(left), number(right)
    if not isinstance(first, int) or not isinstance(second, int):
        raise _mismatch("%", "two integers", left, right)
    if second == 0:
        raise EvaluationError("`%` by zero")
    rest = abs(first) % abs(second)
    return in_range(-rest if first < 0 else rest)


def _cut(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_ON_INTS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _cut,
}  # fmt: skip
_ON_FLOATS: dict[str, Callable[[Number, Number], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip


def _numeric(sign: str, left: Any, right: Any) -> Number:
    first, second = number(left), number(right)
    if first is None or second is None:
        wanted = "two numbers, two strings, or a string and a number" if sign == "+" else "two numbers"
        raise _mismatch(sign, wanted, left, right)
    if sign == "/" and second == 0:
        raise EvaluationError("division by zero")
    if isinstance(first, int) and isinstance(second, int):
        return in_range(_ON_INTS[sign](first, second))
    try:
        return finite(_ON_FLOATS[sign](first, second))
    except OverflowError:
        raise EvaluationError("the number is too large") from None


def negate(value: Any) -> Number:
    """The number with the other sign."""
    found = number(value)
    if found is None:
        raise EvaluationError(f"unary `-` wants a number, found {type_name(value)}")
    return in_range(-found) if isinstance(found, int) else -found


def equal(left: Any, right: Any) -> bool:
    """Numbers by value, strings, bools, null with null; all else is unequal, lists and maps too."""
    first, second = type(left), type(right)
    if first is second:
        return bool(left == right) if first in _EQUATABLE else left is None
    if (first is int and second is float) or (first is float and second is int):
        return bool(left == right)
    return False


_EQUATABLE = frozenset({str, int, float, bool})


def unequal(left: Any, right: Any) -> bool:
    """The opposite of ``equal``."""
    return not equal(left, right)


def _ordered(sign: str, compare: Callable[[Any, Any], bool]) -> Operator:
    def test(left: Any, right: Any) -> bool:
        first, second = type(left), type(right)
        if first is second and (first is int or first is str or first is float):
            return compare(left, right)
        if (first is int and second is float) or (first is float and second is int):
            return compare(left, right)
        raise _mismatch(sign, "two numbers or two strings", left, right)

    return test


def subscript(receiver: Any, key: Any) -> Any:
    """An element of a list, null when out of range; a value of a map, null when missing; null of null."""
    if receiver is None:
        return None
    if type(receiver) is list:
        place = number(key)
        if not isinstance(place, int):
            raise EvaluationError(f"a list takes an integer index, found {type_name(key)}")
        return receiver[place] if 0 <= place < len(receiver) else None
    if type(receiver) is dict:
        if type(key) is not str:
            raise EvaluationError(f"a map takes a string key, found {type_name(key)}")
        return receiver.get(key)
    raise EvaluationError(f"{type_name(receiver)} has no elements; only lists and maps take an index")


def _mismatch(sign: str, wanted: str, left: Any, right: Any) -> EvaluationError:
    return EvaluationError(f"`{sign}` wants {wanted}, found {type_name(left)} and {type_name(right)}")


OPERATORS: dict[str, Operator] = {
    "==": equal,
    "!=": unequal,
    "<": _ordered("<", operator.lt),
    "<=": _ordered("<=", operator.le),
    ">": _ordered(">", operator.gt),
    ">=": _ordered(">=", operator.ge),
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
}
