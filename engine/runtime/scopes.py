"""What expressions and templates of a run may read: the namespaces of language.md 9.1 over a living state.

Made once per line of control; each place gets its scope by ``at``, which only puts the right ``input`` in. The maps of
``loop``, ``each`` and ``run`` are computed when they are read, so that a step costs nothing for names that it does not
mention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engine.dsl.expressions import EvaluationError, evaluate
from engine.dsl.graph import Graph, Loop, LoopKind
from engine.dsl.rendering import strict
from engine.dsl.scope import Scope
from engine.dsl.textform import NotJson, read_json, type_name
from engine.runtime.budget import NANO, Caps
from engine.runtime.state import RunState

NO_INPUT: Mapping[str, object] = {}


class LazyMap(Mapping[str, Any]):
    """A read-only map whose values are computed when they are asked for."""

    __slots__ = ("_make", "_names")

    def __init__(self, names: tuple[str, ...], make: Callable[[str], Any]) -> None:
        self._names = names
        self._make = make

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Scopes:
    """Scopes of one line of control. ``load_history`` reads a node's outputs from the store, oldest first.

    ``attachments`` are those of the run, by name.
    """

    def __init__(
        self, run_id: str, graph: Graph, state: RunState, caps: Caps, load_history: Callable[[str], list[Any]]
    ) -> None:
        self._run_id = run_id
        self._graph = graph
        self._state = state
        self._caps = caps
        each = tuple(name for name, loop in graph.loops.items() if loop.kind is LoopKind.FOREACH)
        self._loop = LazyMap(tuple(graph.loops), self._loop_view)
        self._each = LazyMap(each, self._each_view)
        self._run = LazyMap(_RUN_FIELDS, self._run_field)
        self._load_history = load_history
        self.attachments: Mapping[str, Mapping[str, Any]] = {}
        self._history = lambda node: state.history(node, load_history)

    def over(self, state: RunState) -> Scopes:
        """The scopes of another line of the same attempt."""
        made = Scopes(self._run_id, self._graph, state, self._caps, self._load_history)
        made.attachments = self.attachments
        return made

    def at(self, input_: Mapping[str, Any] = NO_INPUT) -> Scope:
        """The scope of a place whose ``input`` is the node's input, on an edge the source's output."""
        state = self._state
        return Scope(
            state.vars,
            input_,
            state.outputs,
            state.published,
            self._loop,
            self._run,
            self._each,
            self._history,
            self.attachments,
        )

    def bound(self, loop: Loop, input_: Mapping[str, Any] = NO_INPUT) -> int:
        """The cap in force of a loop, of a foreach the number of its elements. Raises EvaluationError."""
        if loop.kind is LoopKind.FOREACH:
            return len(self.items(loop, input_))
        if loop.cap_expression is not None:
            return _whole(loop, evaluate(loop.cap_expression, self.at(input_)))
        if loop.cap_template is not None:
            return _whole(loop, strict(loop.cap_template, self.at(input_)))
        return loop.cap or self._caps.iterations

    def items(self, loop: Loop, input_: Mapping[str, Any] = NO_INPUT) -> list[Any]:
        """The elements that a foreach walks. Raises EvaluationError when there is no list."""
        if loop.items is None:
            return []
        return listed(strict(loop.items, self.at(input_)), f"the list of foreach {loop.name}")

    def _loop_view(self, name: str) -> LazyMap:
        return LazyMap(_LOOP_FIELDS, lambda field: self._loop_field(name, field))

    def _loop_field(self, name: str, field: str) -> Any:
        state = self._state.loop(name)
        if field == "iteration":
            return state.crossings
        if field == "previous_output":
            return state.previous
        return self.bound(self._graph.loops[name])

    def _each_view(self, name: str) -> dict[str, Any]:
        try:
            items = self.items(self._graph.loops[name])
        except EvaluationError:
            items = []  # nothing to walk yet: the names read as null, as any path that leads nowhere
        index = self._state.loop(name).crossings
        return {
            "item": items[index] if index < len(items) else None,
            "index": index,
            "count": len(items),
            "first": index == 0,
            "last": index + 1 >= len(items),
            "empty": not items,
        }

    def _run_field(self, name: str) -> Any:
        spent, caps = self._state.base, self._caps
        if name == "elapsed_seconds":
            return self._state.spent().elapsed_ns / NANO
        return {
            "id": self._run_id,
            "cost_usd": float(spent.cost_usd),
            "tokens": spent.tokens,
            "iterations": spent.iterations,
            "max_duration_seconds": float(caps.duration),
            "max_cost_usd": float(caps.cost_usd),
            "max_tokens": caps.tokens,
            "max_iterations": caps.iterations,
        }[name]


_LOOP_FIELDS = ("iteration", "max", "previous_output")
_RUN_FIELDS = (
    *("id", "elapsed_seconds", "cost_usd", "tokens", "iterations"),
    *("max_duration_seconds", "max_cost_usd", "max_tokens", "max_iterations"),
)


def listed(value: Any, what: str) -> list[Any]:
    """``value`` as a list: a list itself, or a text that is a JSON list. Raises EvaluationError."""
    if isinstance(value, str):
        try:
            value = read_json(value)
        except NotJson as problem:
            raise EvaluationError(f"{what} is a text that is no JSON list") from problem
    if not isinstance(value, list):
        raise EvaluationError(f"{what} is no list but {type_name(value)}")
    return value


def _whole(loop: Loop, value: Any) -> int:
    """The bound as an integer of 0 or more, a text of digits included (language.md 7.4)."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value.strip())
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise EvaluationError(f"the bound of loop {loop.name} is no integer of 0 or more but {value!r:.80}")
    return value
