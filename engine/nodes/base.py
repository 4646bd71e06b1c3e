"""What a node gets and what executing it gives back: the context, and the table of kinds.

``runtime/step.py`` makes a context and calls the kind's function; the function returns an outcome and never writes the
store. A kind whose row is None is part of the language but not of this build: launching a workflow that reaches one is
refused (language.md 1.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.dsl.catalogue import Operation
from engine.dsl.graph import Graph, Node
from engine.dsl.scope import Scope
from engine.failures import FailureCode
from engine.outcome import Failed, Outcome, Question
from engine.ports import Clock, OperationCall, as_it_is
from engine.process import StopSignal, Watcher


@dataclass(frozen=True, slots=True)
class RunFolders:
    """Where a run works and keeps its files; ``run`` is ``runs/<id>`` in the store folder. Absolute paths."""

    workspace: Path
    run: Path
    store: Path

    @property
    def scratch(self) -> Path:
        """Scratch folder of the run, outside the workspace (language.md 2.6)."""
        return self.run / "scratch"

    @property
    def artifact_files(self) -> Path:
        """Where a tool hands over files (language.md 2.6)."""
        return self.run / "artifact-files"

    @property
    def output(self) -> Path:
        """Where the rest of a long output is kept (engine.md 12.4)."""
        return self.run / "output"


@dataclass(frozen=True, slots=True)
class Limit:
    """The tightest time limit of a node: seconds from its start, and what passing it means; 0 seconds is no limit."""

    seconds: float = 0.0
    code: FailureCode = FailureCode.TIMEOUT
    text: str = ""


def no_operations(call: OperationCall) -> Outcome:
    """The answer where nobody runs connector operations."""
    return Failed(FailureCode.CAPABILITY_UNSUPPORTED, f"nobody here runs {call.operation}")


def no_questions(question: Question) -> str:
    """Where nobody keeps questions."""
    raise RuntimeError(f"nobody here asks a question of kind {question.kind}")


@dataclass(frozen=True, slots=True)
class NodeContext:
    """One node's view of the run. ``answered`` are answers recorded earlier for a human node's present iteration.

    ``label`` names this execution in file names. ``warn`` takes a sentence for people, ``log`` a prefix and a text
    whose lines belong into the run's log. ``operations`` is the connectors' catalogue, ``perform`` makes one call of it
    under the rules of engine.md 5. ``held`` are descriptors of locks that processes of the node inherit besides the
    run's: those of resources. ``ask`` stores a question that does not stop the run, and gives its id. ``clean`` takes
    secrets out of a JSON value.
    """

    run_id: str
    graph: Graph
    node: Node
    input: Mapping[str, object]
    scope: Scope
    folders: RunFolders
    limit: Limit
    stop: StopSignal
    watcher: Watcher
    clock: Clock
    lock_fd: int
    environment: Mapping[str, str]
    label: str
    warn: Callable[[str], None]
    log: Callable[[str, str], None]
    output_cap: int = 0
    answered: Mapping[str, object] | None = None
    operations: Mapping[str, Operation] = field(default_factory=dict)
    perform: Callable[[OperationCall], Outcome] = no_operations
    held: tuple[int, ...] = ()
    ask: Callable[[Question], str] = no_questions
    clean: Callable[[object], object] = as_it_is


Execute = Callable[[NodeContext], Outcome]
