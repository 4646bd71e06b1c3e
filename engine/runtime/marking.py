"""Boundaries of the workspace around the nodes of the main line: which node gets which mark, owed to the next commit.

Called by ``launch``, ``resume``, ``step`` and ``writing``. What a mark costs is decided in ``engine/workspace``;
nothing is written here. Branches of a fan-out have no marks of their own: their router has them. Implements
engine.md 8.5.
"""

from __future__ import annotations

from engine.dsl.graph import AgentNode, Graph, Node, RouterNode, SubbotNode, ToolNode
from engine.nodes.base import RunFolders
from engine.outcome import Completed, Outcome
from engine.runtime.attempt import Line
from engine.runtime.ending import Ending
from engine.runtime.host import Host
from engine.runtime.loops import iterations
from engine.runtime.preparing import Step, iteration_path
from engine.runtime.runlog import LOGGER
from engine.runtime.state import FAN_OUT
from engine.states import RunStatus, is_paused
from engine.workspace.chain import Boundary
from engine.workspace.scan import Limits
from engine.workspace.tracker import Tracker


def tracker_of(host: Host, graph: Graph, folders: RunFolders, run_id: str) -> Tracker | None:
    """The tracker of an attempt; None when the setting is off, no node writes files, or the store is the workspace."""
    alone = folders.workspace.absolute() != folders.store.absolute()
    if not host.settings.workspace_boundaries or not alone or not any(writes(node) for node in graph.nodes.values()):
        return None

    def refuse(reason: str) -> None:
        LOGGER.warning("run %s: %s", run_id, reason)

    limits = Limits(max_file=host.settings.workspace_max_file)
    return Tracker(folders.workspace, folders.store, limits, lambda: host.store.marks.labels(run_id), refuse)


def writes(node: Node) -> bool:
    """Whether the workspace may differ after the node: it writes files itself, or starts what does."""
    if isinstance(node, ToolNode):
        return not node.action and not node.readonly
    if isinstance(node, AgentNode):
        return not node.readonly
    return isinstance(node, SubbotNode) or (isinstance(node, RouterNode) and node.mode in FAN_OUT)


def mark_start(line: Line, step: Step) -> None:
    """``pre`` of a node: an alias of the previous boundary, or a capture."""
    tracker = line.attempt.tracker
    if tracker is not None and not line.branch:
        line.state.owed.marks += tracker.before(step.node.name, step.path, writes=writes(step.node))


def mark_outcome(line: Line, step: Step, outcome: Outcome) -> None:
    """``post`` of a finished tool or agent. After any other node, and any other end, the boundary is unknown."""
    tracker = line.attempt.tracker
    if tracker is None or line.branch:
        return
    if isinstance(outcome, Completed) and isinstance(step.node, ToolNode | AgentNode):
        changed = writes(step.node)
        line.state.owed.marks += tracker.after(Boundary.POST, step.node.name, step.path, changed=changed)
    else:
        tracker.lose_sight()


def mark_end(line: Line, ending: Ending) -> None:
    """``pause`` or ``fail`` where an attempt stops short of the end: what changes from here on is not the run's."""
    tracker = line.attempt.tracker
    if tracker is None or ending.status is RunStatus.FINISHED:
        return
    kind = Boundary.PAUSE if ending.status is not None and is_paused(ending.status) else Boundary.FAIL
    line.state.owed.marks += tracker.after(kind, ending.anchor, _iteration(line, ending.anchor), changed=False)


def mark_resume(line: Line, node: str) -> None:
    """``resume``: what changed since the last boundary of the attempt before is not the run's."""
    tracker = line.attempt.tracker
    if tracker is not None:
        line.state.owed.marks += tracker.continued(node, _iteration(line, node))


def _iteration(line: Line, node: str) -> str:
    return iteration_path(iterations(line.attempt.loops.loops_of(node), line.state.loops))
