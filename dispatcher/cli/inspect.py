"""``pointsman inspect``: the list of runs, or one run with what is asked for. Reading never writes (engine.md 11.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dispatcher.cli.numbers import FROM_ONE, FROM_ZERO
from dispatcher.cli.session import Session
from dispatcher.refusals import Refused

if TYPE_CHECKING:
    from engine.documents import RunView
    from engine.store.store import Store

SECTIONS = ("summary", "events", "trace", "tools", "artifacts", "interactions", "log", "all")

OF_ONE_RUN = ("events", "full", "list_nodes", "node", "iteration", "section")
"""Options that say nothing without ``--run-id``."""


@click.command(help="List the runs, or show one.")
@click.option("--run-id", metavar="ID", help="which run; without it all are listed")
@click.option("--events", is_flag=True, help="with its timeline")
@click.option("--full", is_flag=True, help="nothing is cut short")
@click.option("--list-nodes", is_flag=True, help="the executions of each node")
@click.option("--node", metavar="N", help="the executions of one node")
@click.option("--iteration", type=FROM_ZERO, metavar="I", help="one execution of --node, from 0")
@click.option("--section", type=click.Choice(SECTIONS), help="one part")
@click.option("--status", multiple=True, metavar="S", help="only runs in this status")
@click.option("--workflow", default="", metavar="W", help="only runs of this workflow")
@click.option("--limit", type=FROM_ONE, metavar="N", help="at most so many runs")
@click.pass_obj
def command(session: Session, /, **given: Any) -> int:
    """Read and print."""
    if given["run_id"] is None:
        if unplaced := [name for name in OF_ONE_RUN if given[name] not in (None, False)]:
            raise Refused("usage", f"--{unplaced[0].replace('_', '-')} shows a part of one run", "Add --run-id ID.")
        return _list(session, given)
    if given["iteration"] is not None and not given["node"]:
        raise Refused("usage", "--iteration counts the executions of one node", "Add --node N.")
    from engine.documents import read_view

    store = store_for_reading(session, given["run_id"])
    view = read_view(store, given["run_id"])
    if session.json:
        session.emit(_document(store, view, given))
    else:
        from dispatcher.cli.run_sections import section_text

        session.say(section_text(store, view, given))
    return 0


def store_for_reading(session: Session, run_id: str) -> Store:
    """The store, when there is one; a reader makes none. Raises InvalidId, and Refused where no store is."""
    from engine.run import check_run_id

    check_run_id(run_id)
    if not session.store_exists():
        raise Refused("not_found", f"Run {run_id} is unknown", f"There is no store at {session.store_dir} yet.")
    return session.wiring().store


def _list(session: Session, given: dict[str, Any]) -> int:
    from dispatcher.cli.run_text import list_text
    from engine.documents import summary_document
    from engine.states import RunStatus
    from engine.store.changes import Listing, RunFilter

    wanted = RunFilter(tuple(given["status"]), given["workflow"], limit=given["limit"] or 0)
    listing = session.wiring().store.runs.list(wanted) if session.store_exists() else Listing(())
    strange = next((status for status in given["status"] if status not in set(RunStatus)), None)
    if strange is not None and not listing.records:  # a run of another version may have one that we do not know
        raise Refused("bad_input", f'No run has a status "{strange}"', f"The statuses are: {', '.join(RunStatus)}.")
    for lost in listing.unreadable:
        session.warn(f"Run {lost.id} cannot be read: {lost.message}")
    if session.json:
        session.emit({"runs": [summary_document(record) for record in listing.records]})
    else:
        session.say(list_text(listing.records, filtered=bool(given["status"] or given["workflow"])))
    return 0


def _document(store: Store, view: RunView, given: dict[str, Any]) -> dict[str, object]:
    from dispatcher.cli.run_sections import event_documents, executions, section_documents
    from engine.documents import run_document

    document = run_document(view)
    run_id = view.record.id
    if given["events"] and given["section"] not in ("events", "all"):
        document["events"] = event_documents(store, run_id)
    document |= section_documents(store, run_id, given["section"])
    if given["node"] or given["list_nodes"]:
        document["executions"] = executions(store, run_id, given["node"] or "", given["iteration"])
    return document
