"""The tree of an expression -> one Python closure (language.md 8).

Compiled once, called for every step: an expression costs a few calls, not a walk over its tree. A ``Frame`` lives for
one evaluation and bounds its work. Called by ``expressions`` only; it never raises anything but ``EvaluationError``.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from engine.dsl.expression_errors import EvaluationError
from engine.dsl.expression_functions import FUNCTIONS, list_of
from engine.dsl.expression_operators import OPERATORS, negate, subscript
from engine.dsl.expression_tree import (
    Call,
    Chain,
    Lambda,
    Literal,
    LocalPath,
    NamePath,
    Part,
    Subscript,
    Unary,
    postorder,
)
from engine.dsl.scope import NAMED, UNRESOLVED, Scope, follow
from engine.dsl.textform import TooLarge, measure, text_form, truthy

MAX_VISITS = 100_000
MAX_WORK = 20_000_000


class Frame:
    """One evaluation: the scope, the values of lambda parameters, and what is left of its allowance.

    ``visits`` counts elements given to lambdas, up to 100 000 (language.md 17); ``work`` elements that functions touch,
    so that a lambda around a list function ends in time too.
    """

    __slots__ = ("left", "scope", "slots", "touches")

    def __init__(self, scope: Scope, slots: int) -> None:
        self.scope = scope
        self.slots: list[Any] = [None] * slots
        self.left = MAX_VISITS
        self.touches = MAX_WORK

    def visit(self, elements: int) -> None:
        """So many elements are about to be given to a lambda."""
        self.left -= elements
        if self.left < 0:
            raise EvaluationError(f"more than {MAX_VISITS} elements visited")

    def work(self, elements: int) -> None:
        """So many elements are about to be touched."""
        self.touches -= elements
        if self.touches < 0:
            raise EvaluationError("too much work for one expression")

    def text(self, value: Any) -> str:
        """The text form of a value, ``null`` for null."""
        if type(value) is list or type(value) is dict:
            checked(value)
        text = text_form(value)
        self.work(len(text) >> 4)
        return text


Program = Callable[[Frame], Any]


def checked(value: Any) -> Any:
    """``value``, or ``EvaluationError`` when it is too large to be written down."""
    try:
        measure(value)
    except TooLarge as problem:
        raise EvaluationError(str(problem)) from None
    return value


def compile_tree(tree: Part) -> Program:
    """The closure that computes ``tree``."""
    programs: dict[int, Program] = {}
    for part in postorder(tree):
        below = [programs[id(child)] for child in part.children]
        programs[id(part)] = _COMPILERS[type(part)](part, below)
    return programs[id(tree)]


def _literal(part: Literal, _below: list[Program]) -> Program:
    value = part.value
    return lambda _frame: value


def _name_path(part: NamePath, _below: list[Program]) -> Program:
    namespace, names = part.namespace, part.names
    if not names or namespace in NAMED:

        def resolve(frame: Frame) -> Any:
            value = frame.scope.resolve(namespace, names)
            return None if value is UNRESOLVED else value

        return resolve
    known = attrgetter(namespace)
    if len(names) == 1:
        name = names[0]
        return lambda frame: known(frame.scope).get(name)

    def walk(frame: Frame) -> Any:
        value = follow(known(frame.scope), names)
        return None if value is UNRESOLVED else value

    return walk


def _local_path(part: LocalPath, _below: list[Program]) -> Program:
    slot, names = part.slot, part.names
    if not names:
        return lambda frame: frame.slots[slot]

    def walk(frame: Frame) -> Any:
        value = follow(frame.slots[slot], names)
        return None if value is UNRESOLVED else value

    return walk


def _unary(part: Unary, below: list[Program]) -> Program:
    (operand,) = below
    if part.sign == "!":
        return lambda frame: not truthy(operand(frame))
    return lambda frame: negate(operand(frame))


def _chain(part: Chain, below: list[Program]) -> Program:
    if part.signs[0] in ("&&", "||"):
        return _logic(below, stop_at=part.signs[0] == "||")
    first, *rest = below
    if len(rest) == 1:
        (second,), apply = rest, OPERATORS[part.signs[0]]
        return lambda frame: apply(first(frame), second(frame))
    steps = [(OPERATORS[sign], operand) for sign, operand in zip(part.signs, rest, strict=True)]

    def run(frame: Frame) -> Any:
        value = first(frame)
        for step, operand in steps:
            value = step(value, operand(frame))
            if type(value) is str:
                frame.work(len(value) >> 4)
        return value

    return run


def _logic(below: list[Program], *, stop_at: bool) -> Program:
    def run(frame: Frame) -> bool:
        for operand in below:
            if truthy(operand(frame)) is stop_at:
                return stop_at
        return not stop_at

    return run


def _subscript(_part: Subscript, below: list[Program]) -> Program:
    receiver, key = below
    return lambda frame: subscript(receiver(frame), key(frame))


def _lambda(_part: Lambda, below: list[Program]) -> Program:
    return below[0]


def _call(part: Call, below: list[Program]) -> Program:
    function = FUNCTIONS[part.name]
    if len(below) < function.fewest or (function.most is not None and len(below) > function.most):
        return _misused(part.name, len(below))
    if function.call is None:
        return _SPECIAL[part.name](part, below)
    call = function.call
    if len(below) == 1:
        (only,) = below
        return lambda frame: call(frame, only(frame))
    return lambda frame: call(frame, *[argument(frame) for argument in below])


def _misused(name: str, count: int) -> Program:
    def fail(_frame: Frame) -> Any:
        raise EvaluationError(f"{name} does not take {count} arguments")

    return fail


def _if(_part: Call, below: list[Program]) -> Program:
    condition, first, second = below
    return lambda frame: first(frame) if truthy(condition(frame)) else second(frame)


def _map(part: Call, below: list[Program]) -> Program:
    source, body = below
    slot = _slots(part)[0]

    def run(frame: Frame) -> list[Any]:
        items = list_of(source(frame), "map")
        frame.visit(len(items))
        slots, result = frame.slots, []
        for item in items:
            slots[slot] = item
            result.append(body(frame))
        return result

    return run


def _filter(part: Call, below: list[Program]) -> Program:
    source, body = below
    slot = _slots(part)[0]

    def run(frame: Frame) -> list[Any]:
        items = list_of(source(frame), "filter")
        frame.visit(len(items))
        slots, result = frame.slots, []
        for item in items:
            slots[slot] = item
            if truthy(body(frame)):
                result.append(item)
        return result

    return run


def _reduce(part: Call, below: list[Program]) -> Program:
    source, initial, body = below
    into, slot = _slots(part)

    def run(frame: Frame) -> Any:
        items = list_of(source(frame), "reduce")
        frame.visit(len(items))
        slots, value = frame.slots, initial(frame)
        for item in items:
            slots[into] = value
            slots[slot] = item
            value = body(frame)
            if type(value) is str:
                frame.work(len(value) >> 4)
        return value

    return run


def _slots(part: Call) -> tuple[int, ...]:
    last = part.arguments[-1]
    assert isinstance(last, Lambda)
    return last.slots


_SPECIAL: dict[str, Callable[[Call, list[Program]], Program]] = {
    "if": _if, "map": _map, "filter": _filter, "reduce": _reduce,
}  # fmt: skip
_COMPILERS: dict[type[Part], Callable[[Any, list[Program]], Program]] = {
    Literal: _literal,
    NamePath: _name_path,
    LocalPath: _local_path,
    Unary: _unary,
    Chain: _chain,
    Subscript: _subscript,
    Lambda: _lambda,
    Call: _call,
}
