"""Opening an attempt: everything that a line of control works with, from a claim and a compiled program.

Called by ``launch`` and ``resume`` once the lock is held. Implements engine.md 7.8 for what this build rebuilds: work
folder, environment, vars, budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.checkpoint import ArtifactVersion, in_force
from engine.dsl.durations import DurationError, parse_duration
from engine.dsl.environment import expand
from engine.dsl.graph import Budget, Graph
from engine.nodes.base import RunFolders
from engine.process import clean_environment
from engine.run import BudgetAsk
from engine.runtime.attempt import Attempt, Line
from engine.runtime.budget import Caps, GracePolicy, still_warned
from engine.runtime.children import Children
from engine.runtime.host import Host
from engine.runtime.loops import loop_map
from engine.runtime.marking import tracker_of
from engine.runtime.requests import Seen, unseen
from engine.runtime.runlog import RunLog
from engine.runtime.scopes import Scopes
from engine.runtime.signals import Signals
from engine.runtime.signs import Signs
from engine.runtime.state import RunState
from engine.runtime.stop import StopCell
from engine.store.groups import Groups
from engine.store.resources import Lent


@dataclass(frozen=True, slots=True)
class Opening:
    """The particulars of one attempt. ``timeout`` in seconds, 0 for none; ``lock_fd`` is inherited by processes;
    ``again``, ``told``, ``by``, ``signals`` and ``lent`` as in ``Attempt``."""

    run_id: str
    epoch: int
    workspace: Path
    ask: BudgetAsk
    stop: StopCell
    lock_fd: int = -1
    timeout: float = 0.0
    progress: Seen = unseen
    children: Mapping[str, str] = field(default_factory=dict)
    again: frozenset[str] = frozenset()
    told: bool = False
    by: str = ""
    signals: Signals = field(default_factory=Signals)
    lent: Mapping[str, Lent] = field(default_factory=dict)


def stop_cell(host: Host, run_id: str, within: StopCell | None) -> StopCell:
    """The stop cell of a new attempt; the groups that an earlier attempt recorded are forgotten.

    ``within`` is the cell of the parent run, whose stop is this run's too.
    """
    groups = Groups(host.store.root, run_id)
    groups.begin()
    made = StopCell(Signs(host.clock, groups))
    if within is not None:
        within.adopt(made)
    return made


def open_line(host: Host, graph: Graph, state: RunState, opening: Opening) -> Line:
    """The main line of an attempt."""
    folders = RunFolders(opening.workspace, host.store.root / "runs" / opening.run_id, host.store.root)
    caps = caps_of(host, graph, opening.ask)
    state.warned = still_warned(state.base, caps, state.warned)
    attempt = Attempt(
        run_id=opening.run_id,
        epoch=opening.epoch,
        graph=graph,
        caps=caps,
        store=host.store,
        clock=host.clock,
        ids=host.ids,
        settings=host.settings,
        stop=opening.stop,
        folders=folders,
        runlog=RunLog(folders.run / "run.log", host.clock, host.settings.clean),
        loops=loop_map(graph),
        grace=GracePolicy(host.settings.exit_grace if graph.loop_budget_guard else 0.0),
        nodes=host.nodes,
        host=host,
        children=Children(host.store, opening.run_id, opening.children),
        lock_fd=opening.lock_fd,
        progress=opening.progress,
        deadline=host.clock.monotonic() + opening.timeout if opening.timeout else None,
        environment=environment_of(host, graph, folders, opening.run_id),
        tracker=tracker_of(host, graph, folders, opening.run_id),
        again=opening.again,
        told=opening.told,
        by=opening.by,
        signals=opening.signals,
        lent=opening.lent,
    )
    scopes = Scopes(opening.run_id, graph, state, caps, lambda node: history(host, opening.run_id, node))
    return Line(attempt, state, scopes, host.store.boundary(opening.run_id, opening.epoch))


def caps_of(host: Host, graph: Graph, ask: BudgetAsk) -> Caps:
    """The caps in force; an environment form of ``max_duration`` is read now, and is no cap when it makes no sense."""
    return Caps.of(graph.budget, ask, _duration_of(graph.budget, visible_environment(host)))


def _duration_of(budget: Budget, environment: Mapping[str, str]) -> float:
    if budget.max_duration or "$" not in budget.max_duration_text:
        return budget.max_duration
    try:
        return parse_duration(expand(budget.max_duration_text, environment))
    except DurationError:
        return 0.0


def visible_environment(host: Host) -> dict[str, str]:
    """The environment for values of the workflow: names that the configuration declares secret read as unset."""
    secret = host.settings.secret_names
    return {name: value for name, value in host.settings.environment.items() if name not in secret}


def environment_of(host: Host, graph: Graph, folders: RunFolders, run_id: str) -> dict[str, str]:
    """What a tool process sees (engine.md 12.4, language.md 2.6)."""
    made = clean_environment(host.settings.environment, host.settings.secret_names)
    made["PROJECT_DIR"] = str(folders.workspace)
    made["PROJECT_SCRATCH_DIR"] = str(folders.scratch)
    made["POINTSMAN_ARTIFACT_FILES_DIR"] = made["ITERION_ARTIFACT_FILES_DIR"] = str(folders.artifact_files)
    made["POINTSMAN_RUN_ID"] = run_id
    made["POINTSMAN_STORE_DIR"] = str(folders.store)
    made.pop("BUNDLE_SKILLS_DIR", None)
    if graph.skills_dir:
        made["BUNDLE_SKILLS_DIR"] = graph.skills_dir
    return made


def history(host: Host, run_id: str, node: str) -> list[Mapping[str, object]]:
    """Every recorded output of a node that no rewind dropped, oldest first."""
    return [each.row.output for each in host.store.checkpoints.history(run_id, node) if not each.dropped_by]


def recall(state: RunState, versions: Sequence[ArtifactVersion]) -> None:
    """Put the published artifacts into a restored state: the newest numbers, and what is in force."""
    state.artifacts = {version.name: version for version in versions}
    for name, version in in_force(versions).items():
        if isinstance(version.data, dict):
            state.published[name] = version.data


def close(attempt: Attempt) -> None:
    """Let go of what an attempt holds open."""
    if attempt.tracker is not None:
        attempt.tracker.close()
    attempt.runlog.close()
