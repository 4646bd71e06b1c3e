"""What a running attempt knows: outputs, loops, counters, consumption, and the rows that it still owes the store.

Made by ``launch`` or by ``resume`` from the stored head and rows, changed by ``step`` and ``loop`` only, one per line
of control. It hands out frozen heads; the store never sees the maps that the run works on (engine.md 3.1, 3.6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from engine.checkpoint import (
    HEARD,
    HIDDEN,
    PLACES,
    ArtifactVersion,
    Head,
    Mark,
    OutputRow,
    Spent,
    heard_of,
    hidden_of,
    places_of,
)
from engine.dsl.graph import RouterMode
from engine.events import EventType, NewEvent
from engine.runtime.loops import FRESH, LoopState
from engine.runtime.meter import Meter

FAN_OUT = frozenset({RouterMode.FAN_OUT_ALL, RouterMode.FAN_OUT_EACH})
"""Router modes that start branches; their anchor stays uncompleted while the branches run (engine.md 3.5)."""
FAILED = "failed_branches"
"""Key of ``Head.extra``: join -> failed branches that its input and output will carry."""


@dataclass(slots=True)
class Owed:
    """What the next commit carries: the boundary of the node before, not written yet."""

    head: Head | None = None
    outputs: list[OutputRow] = field(default_factory=list)
    artifacts: list[ArtifactVersion] = field(default_factory=list)
    events: list[NewEvent] = field(default_factory=list)
    spend: tuple[tuple[str, float], ...] = ()
    marks: list[Mark] = field(default_factory=list)
    fired: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)


@dataclass(slots=True)
class RunState:
    """The working state of one line of control; ``path`` is its branch path, empty for the main line.

    ``places`` says on which branch path the row of a node's output lies: of a branch for every node that it executed,
    of the main line for outputs that were merged. ``parallel`` is the fan-out in flight (engine.md 3.3), ``failed`` the
    failed branches that a join is to be told of, ``heard`` how many events each ``wait`` node has heard.
    """

    vars: Mapping[str, object]
    meter: Meter
    path: str = ""
    branch_id: str = ""
    outputs: dict[str, Mapping[str, object]] = field(default_factory=dict)
    artifacts: dict[str, ArtifactVersion] = field(default_factory=dict)
    published: dict[str, object] = field(default_factory=dict)
    loops: dict[str, LoopState] = field(default_factory=dict)
    round_robin: dict[str, int] = field(default_factory=dict)
    incoming: dict[str, tuple[int, ...]] = field(default_factory=dict)
    recovery_counts: dict[str, dict[str, int]] = field(default_factory=dict)
    warned: tuple[str, ...] = ()
    graced: set[tuple[str, str]] = field(default_factory=set)
    hidden: frozenset[str] = frozenset()
    places: dict[str, str] = field(default_factory=dict)
    parallel: Mapping[str, object] = field(default_factory=dict)
    failed: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    heard: dict[str, int] = field(default_factory=dict)
    histories: dict[str, list[Mapping[str, object]]] = field(default_factory=dict)
    owed: Owed = field(default_factory=Owed)

    def spent(self) -> Spent:
        """Consumption up to now; active time grows with the monotonic clock and never backwards."""
        return self.meter.spent()

    @property
    def base(self) -> Spent:
        """Consumption without the active time of this attempt."""
        return self.meter.base

    def loop(self, name: str) -> LoopState:
        """The state of a loop, fresh when it was never entered."""
        return self.loops.get(name, FRESH)

    def note(self, kind: EventType, node: str = "", /, **data: object) -> None:
        """Owe the timeline an event."""
        self.owed.events.append(NewEvent(kind, node, self.branch_id, data, self.meter.active_ms()))

    def record(self, node: str, output: Mapping[str, object]) -> None:
        """Keep a node's newest output."""
        self.outputs[node] = output
        self.hidden -= {node}
        if self.path:
            self.places[node] = self.path
        else:
            self.places.pop(node, None)
        if node in self.histories:
            self.histories[node].append(output)

    def hide(self, nodes: frozenset[str]) -> None:
        """Drop the outputs of the targets that a round-robin router did not choose."""
        for node in nodes:
            self.outputs.pop(node, None)
        self.hidden |= nodes

    def history(self, node: str, load: Callable[[str], list[Mapping[str, object]]]) -> list[Mapping[str, object]]:
        """Every output of a node, oldest first; read from the store once, then kept up by ``record``."""
        if node not in self.histories:
            owed = [row.output for row in self.owed.outputs if row.node_id == node]
            self.histories[node] = [*load(node), *owed]
        return self.histories[node]

    def head(self, node: str, *, completed: bool = False, **more: object) -> Head:
        """The head anchored at ``node``; ``more`` are further fields of ``Head``."""
        loops = self.loops
        extra: dict[str, object] = {HIDDEN: sorted(self.hidden)} if self.hidden else {}
        if self.places:
            extra[PLACES] = dict(self.places)
        if self.failed:
            extra[FAILED] = dict(self.failed)
        if self.heard:
            extra[HEARD] = dict(self.heard)
        made = Head(
            node_id=node,
            completed=completed,
            loop_counters={name: each.crossings for name, each in loops.items()},
            round_robin_counters=dict(self.round_robin),
            loop_previous_output={name: each.previous for name, each in loops.items() if each.previous is not None},
            loop_current_output={name: each.current for name, each in loops.items() if each.current is not None},
            loop_still={name: each.still for name, each in loops.items() if each.still > 1},
            loop_budget_marks={name: _marks(each) for name, each in loops.items()},
            selected_incoming=dict(self.incoming),
            recovery_counts={name: dict(each) for name, each in self.recovery_counts.items()},
            warned_axes=self.warned,
            parallel=self.parallel,
            spent=self.spent(),
            extra=extra,
        )
        return replace(made, **more) if more else made  # type: ignore[arg-type]


def _marks(state: LoopState) -> list[list[float]]:
    marks = [state.entered] if state.crossed is None else [state.entered, state.crossed]
    return [[each.iterations, each.tokens, each.cost_usd, each.elapsed_ns] for each in marks]


def restored(head: Head, vars_: Mapping[str, object], meter: Meter) -> RunState:
    """The state that a head describes, outputs and artifacts apart: those are rows of their own."""
    names = set(head.loop_counters) | set(head.loop_budget_marks)
    failed = head.extra.get(FAILED)
    return RunState(
        vars=vars_,
        meter=meter,
        loops={name: _loop_of(name, head) for name in names},
        round_robin=dict(head.round_robin_counters),
        incoming={node: tuple(taken) for node, taken in head.selected_incoming.items()},
        recovery_counts={node: dict(counts) for node, counts in head.recovery_counts.items()},
        warned=tuple(head.warned_axes),
        hidden=hidden_of(head),
        places=places_of(head),
        parallel=dict(head.parallel),
        failed=dict(failed) if isinstance(failed, dict) else {},
        heard=heard_of(head),
    )


def _loop_of(name: str, head: Head) -> LoopState:
    marks = [_spent_of(each) for each in _as_list(head.loop_budget_marks.get(name))]
    crossings = int(head.loop_counters.get(name, 0))
    return LoopState(
        crossings=crossings,
        previous=head.loop_previous_output.get(name),
        current=head.loop_current_output.get(name),
        still=int(head.loop_still.get(name, 1 if crossings else 0)),
        entered=marks[0] if marks else Spent(),
        crossed=marks[1] if len(marks) > 1 else None,
    )


def _as_list(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _spent_of(value: object) -> Spent:
    numbers = _as_list(value)
    if len(numbers) != 4 or not all(isinstance(each, (int, float)) for each in numbers):
        return Spent()
    iterations, tokens, cost, elapsed = (float(str(each)) for each in numbers)
    return Spent(int(iterations), int(tokens), cost, int(elapsed))
