"""The functions of expressions (language.md 8.3): one table, read by parser, checks and evaluator.

``if``, ``map``, ``filter`` and ``reduce`` are in the table for their shape only: they decide what is evaluated, so the
evaluator has them. Every other function gets its values and a ``Meter``, which bounds the work of one evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import floor
from typing import Any, Protocol

from engine.dsl.expression_errors import EvaluationError
from engine.dsl.expression_operators import Number, add, in_range, number
from engine.dsl.textform import MAX_VALUE_SIZE, type_name


class Meter(Protocol):
    """Counts the work of one evaluation; every method raises ``EvaluationError`` when it is too much."""

    def work(self, elements: int) -> None:
        """So many elements are about to be touched."""
        ...

    def text(self, value: Any) -> str:
        """The text form of a value, ``null`` for null."""
        ...


@dataclass(frozen=True, slots=True)
class Function:
    """How a function is called: fewest and most arguments (None: any number), and where a lambda stands.

    ``parameters`` is the number of the lambda's parameters, 0 for a function without one. ``call`` is None where the
    evaluator itself decides which arguments are evaluated.
    """

    fewest: int
    most: int | None
    call: Callable[..., Any] | None
    lambda_at: int = -1
    parameters: int = 0


def list_of(value: Any, caller: str) -> list[Any]:
    """A list where one is wanted: null is the empty one, any other type an error."""
    if type(value) is list:
        return value
    if value is None:
        return []
    raise EvaluationError(f"{caller} wants a list, found {type_name(value)}")


def _map_of(value: Any, caller: str) -> dict[str, Any]:
    if type(value) is dict:
        return value
    if value is None:
        return {}
    raise EvaluationError(f"{caller} wants a map, found {type_name(value)}")


def _whole(value: Any, caller: str) -> int:
    found = number(value)
    if isinstance(found, int):
        return found
    raise EvaluationError(f"{caller} wants an integer, found {type_name(value)}")


def _number(value: Any, caller: str) -> Number:
    found = number(value)
    if found is None:
        raise EvaluationError(f"{caller} wants numbers, found {type_name(value)}")
    return found


def _length(_meter: Meter, value: Any) -> int:
    if type(value) is str:
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if type(value) is list or type(value) is dict:
        return len(value)
    if value is None:
        return 0
    raise EvaluationError(f"length wants a list, a map or a string, found {type_name(value)}")


def _concat(meter: Meter, *lists: Any) -> list[Any]:
    result: list[Any] = []
    for value in lists:
        items = list_of(value, "concat")
        meter.work(len(items))
        result.extend(items)
    return result


def _unique(meter: Meter, value: Any) -> list[Any]:
    items = list_of(value, "unique")
    meter.work(len(items))
    first: dict[str, Any] = {}
    for item in items:
        first.setdefault(meter.text(item), item)
    return list(first.values())


def _contains(meter: Meter, value: Any, wanted: Any) -> bool:
    items = list_of(value, "contains")
    meter.work(len(items))
    text = meter.text(wanted)
    return any(meter.text(item) == text for item in items)


def _join(meter: Meter, value: Any, separator: Any) -> str:
    items = list_of(value, "join")
    if type(separator) is not str:
        raise EvaluationError(f"join wants a string between the elements, found {type_name(separator)}")
    meter.work(len(items))
    texts = [meter.text(item) for item in items]
    if sum(map(len, texts)) + len(separator) * len(texts) > MAX_VALUE_SIZE:
        raise EvaluationError("the text is larger than 16 MiB")
    return separator.join(texts)


def _tail(meter: Meter, value: Any, count: Any) -> list[Any]:
    items, size = list_of(value, "tail"), _whole(count, "tail")
    meter.work(len(items))
    return items[max(0, len(items) - size) :] if size > 0 else []


def _slice(meter: Meter, value: Any, start: Any, end: Any) -> list[Any]:
    items = list_of(value, "slice")
    meter.work(len(items))
    return items[_whole(start, "slice") : _whole(end, "slice")]


def _sort(meter: Meter, value: Any) -> list[Any]:
    items = list_of(value, "sort")
    meter.work(len(items))
    kinds = {type(item) for item in items}
    if kinds <= {int, float} or kinds == {str}:
        return sorted(items)
    return sorted(items, key=meter.text)


def _flatten(meter: Meter, value: Any) -> list[Any]:
    result: list[Any] = []
    for item in list_of(value, "flatten"):
        parts = item if type(item) is list else [item]
        meter.work(len(parts) + 1)
        result.extend(parts)
    return result


def _keys(meter: Meter, value: Any) -> list[str]:
    names = sorted(_map_of(value, "keys"))
    meter.work(len(names))
    return names


def _values(meter: Meter, value: Any) -> list[Any]:
    known = _map_of(value, "values")
    meter.work(len(known))
    return [known[name] for name in sorted(known)]


def _sum(meter: Meter, value: Any) -> Number:
    items = list_of(value, "sum")
    meter.work(len(items))
    total: Number = 0
    for item in items:
        total = add(total, _number(item, "sum"))
    return total


def _least(meter: Meter, *values: Any) -> Any:
    return _extreme(meter, "min", values)


def _most(meter: Meter, *values: Any) -> Any:
    return _extreme(meter, "max", values)


def _extreme(meter: Meter, caller: str, values: tuple[Any, ...]) -> Any:
    if len(values) == 1:
        items = list_of(values[0], caller)
    else:
        items = [part for value in values for part in _spread(value)]
    meter.work(len(items))
    for item in items:
        _number(item, caller)
    if not items:
        return None
    return min(items) if caller == "min" else max(items)


def _spread(value: Any) -> list[Any]:
    return value if type(value) is list else [] if value is None else [value]


def _floor(_meter: Meter, value: Any) -> int:
    return in_range(floor(_number(value, "floor")))


def _round(_meter: Meter, value: Any) -> int:
    found = _number(value, "round")
    size = abs(found)
    whole = floor(size)
    nearest = whole + 1 if size - whole >= 0.5 else whole
    return in_range(-nearest if found < 0 else nearest)


FUNCTIONS: dict[str, Function] = {
    "length": Function(1, 1, _length),
    "concat": Function(1, None, _concat),
    "unique": Function(1, 1, _unique),
    "contains": Function(2, 2, _contains),
    "join": Function(2, 2, _join),
    "tail": Function(2, 2, _tail),
    "slice": Function(3, 3, _slice),
    "sort": Function(1, 1, _sort),
    "flatten": Function(1, 1, _flatten),
    "keys": Function(1, 1, _keys),
    "values": Function(1, 1, _values),
    "sum": Function(1, 1, _sum),
    "min": Function(1, None, _least),
    "max": Function(1, None, _most),
    "floor": Function(1, 1, _floor),
    "round": Function(1, 1, _round),
    "if": Function(3, 3, None),
    "map": Function(2, 2, None, lambda_at=1, parameters=1),
    "filter": Function(2, 2, None, lambda_at=1, parameters=1),
    "reduce": Function(3, 3, None, lambda_at=2, parameters=2),
}
