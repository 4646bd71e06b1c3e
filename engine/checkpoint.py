"""The head of a run: where a resume starts and what it knows then (engine.md 3.1).

Written by ``store`` inside the boundary commit; read by ``runtime/resume.py``. It is small and of constant size:
outputs are rows of their own. It is the only authority on execution state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Spent:
    """Consumed budget; ``elapsed_ns`` is active time by the monotonic clock."""

    iterations: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    elapsed_ns: int = 0


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """Enough to ask again when the interaction row is lost (engine.md 3.1).

    ``instructions`` is the rendered text that is shown with it; ``min_answers`` 0 wants every field.
    """

    interaction_id: str
    node_id: str
    kind: str
    questions: Mapping[str, object]
    fields: tuple[Mapping[str, object], ...] = ()
    instructions: str = ""
    min_answers: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """The checkpoint row. ``completed`` says that the anchor's output is stored and its edge not yet taken.

    ``selected_incoming`` maps a node to the indexes of the edges taken into its present visit. The loop maps hold the
    crossings and the two rotating copies of each loop. All mappings are JSON values and never shared with a running
    engine (engine.md 3.6).
    """

    node_id: str
    completed: bool = False
    pending: PendingQuestion | None = None
    loop_counters: Mapping[str, int] = field(default_factory=dict)
    round_robin_counters: Mapping[str, int] = field(default_factory=dict)
    loop_previous_output: Mapping[str, object] = field(default_factory=dict)
    loop_current_output: Mapping[str, object] = field(default_factory=dict)
    loop_still: Mapping[str, int] = field(default_factory=dict)
    loop_budget_marks: Mapping[str, object] = field(default_factory=dict)
    artifact_versions: Mapping[str, int] = field(default_factory=dict)
    artifact_revisions: Mapping[str, object] = field(default_factory=dict)
    selected_incoming: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    recovery_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    recovery_pause: bool = False
    recovery_code: str = ""
    warned_axes: tuple[str, ...] = ()
    spent: Spent = Spent()
    parallel: Mapping[str, object] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutputRow:
    """One recorded execution of a node. ``iteration_path`` names the enclosing loops, ``iteration`` the innermost."""

    node_id: str
    output: Mapping[str, object]
    branch_path: str = ""
    iteration_path: str = ""
    iteration: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class StoredOutput:
    """An output as it was read: its place among the run's outputs, its instant, and the rewind that dropped it."""

    seq: int
    row: OutputRow
    time: datetime
    dropped_by: int = 0


@dataclass(frozen=True, slots=True)
class ArtifactVersion:
    """One published version of an artifact; ``labels`` of the engine's own are ``rewound``."""

    name: str
    node_id: str
    version: int
    data: object
    labels: tuple[str, ...] = ()
    digest: str = ""


REWOUND = "rewound"
"""The label of a version that says: a rewind dropped what this node had published under the name."""


def in_force(versions: Iterable[ArtifactVersion]) -> dict[str, ArtifactVersion]:
    """What is published under each name, by its versions, oldest first (engine.md 8.4).

    A mark takes back every older version of its own node; a version of another node counts again then.
    """
    standing: dict[str, list[ArtifactVersion]] = {}
    for each in versions:
        of_name = standing.setdefault(each.name, [])
        if REWOUND in each.labels:
            of_name[:] = [older for older in of_name if older.node_id != each.node_id]
        else:
            of_name.append(each)
    return {name: of_name[-1] for name, of_name in standing.items() if of_name}


@dataclass(frozen=True, slots=True)
class BranchRow:
    """Where one branch of a fan-out stands; ``state`` holds the JSON values of engine.md 3.3."""

    invocation_key: str
    branch_id: str
    node_id: str
    completed: bool = False
    done: bool = False
    state: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MarkFile:
    """A file of the workspace as a boundary saw it; ``path`` is relative, with ``/``, ``mode`` its permission bits.

    An empty ``hash`` without ``skipped`` says that the file is gone; ``skipped`` says why its content was not kept.
    """

    path: str
    mode: int = 0
    hash: str = ""
    skipped: str = ""

    @property
    def gone(self) -> bool:
        """Whether the file is no longer there."""
        return not self.hash and not self.skipped


@dataclass(frozen=True, slots=True)
class Mark:
    """A boundary of the workspace (engine.md 8.5): what changed since the mark ``parent`` (0: since nothing).

    With ``ref`` it names an object of the pool that lists every file, and ``files`` is empty. A mark that changes
    nothing is an alias of its parent.
    """

    seq: int
    label: str
    node_id: str
    parent: int = 0
    ref: str = ""
    files: tuple[MarkFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Interaction:
    """A stored question; ``answers`` is None until it is answered."""

    id: str
    run_id: str
    node_id: str
    kind: str
    questions: Mapping[str, object]
    fields: tuple[Mapping[str, object], ...]
    answers: Mapping[str, object] | None
    asked_at: datetime
    answered_at: datetime | None
    retired_at: datetime | None
    turns: tuple[object, ...] = ()


def interaction_id(run_id: str, node_id: str, iterations: tuple[tuple[str, int], ...] = ()) -> str:
    """The id of a question (engine.md 7.4): ``iterations`` are the enclosing loops with their counts, outermost first.

    Outside loops and at iteration 0 it is ``<run>_<node>``, in one loop ``<run>_<node>_<n>``, in several an encoded
    path. It tells questions of one node apart; the store keeps them by run and node as well.
    """
    base = f"{run_id}_{node_id}"
    if not any(count for _, count in iterations):
        return base
    if len(iterations) == 1:
        return f"{base}_{iterations[0][1]}"
    return base + "_" + "-".join(f"{loop}.{count}" for loop, count in iterations)


HIDDEN = "hidden_outputs"
"""Key of ``Head.extra``: nodes whose recorded output a round-robin router has dropped."""
PLACES = "output_places"
"""Key of ``Head.extra``: node -> branch path of its output's row, for outputs that were merged from branches."""

HEARD = "heard_events"
"""Key of ``Head.extra``: ``wait`` node -> how many events of its name it has heard."""


def heard_of(head: Head) -> dict[str, int]:
    """How many events each ``wait`` node has heard."""
    found = head.extra.get(HEARD)
    return {str(node): int(count) for node, count in found.items()} if isinstance(found, Mapping) else {}


def hidden_of(head: Head) -> frozenset[str]:
    """Nodes whose stored output counts as dropped."""
    found = head.extra.get(HIDDEN)
    return frozenset(str(node) for node in found) if isinstance(found, list | tuple) else frozenset()


def places_of(head: Head) -> dict[str, str]:
    """The branch path of each output that does not lie on the main line."""
    found = head.extra.get(PLACES)
    return {str(node): str(path) for node, path in found.items()} if isinstance(found, Mapping) else {}


def visible(rows: Iterable[StoredOutput], head: Head | None) -> dict[str, Mapping[str, object]]:
    """The outputs of the main line among the newest rows: its own, and those merged from branches (engine.md 3.2)."""
    hidden = hidden_of(head) if head else frozenset()
    places = places_of(head) if head else {}
    return {
        each.row.node_id: each.row.output
        for each in rows
        if each.row.branch_path == places.get(each.row.node_id, "") and each.row.node_id not in hidden
    }
