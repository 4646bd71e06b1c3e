"""``pointsman report --run-id ID``: a run as Markdown, on stdout or in a file (engine.md 11.2)."""

from __future__ import annotations

from pathlib import Path

import click

from dispatcher.cli.inspect import store_for_reading
from dispatcher.cli.session import Session
from dispatcher.refusals import Refused


@click.command(help="Write a run down as Markdown.")
@click.option("--run-id", required=True, metavar="ID", help="which run")
@click.option("--output", type=click.Path(path_type=Path), metavar="F", help="a file instead of stdout")
@click.pass_obj
def command(session: Session, run_id: str, output: Path | None) -> int:
    """Write the report."""
    from engine.documents import read_view, report_text

    store = store_for_reading(session, run_id)
    text = report_text(read_view(store, run_id), store.timeline.events(run_id))
    path = str(session.folder / output) if output else ""
    if output is not None:
        try:
            (session.folder / output).write_text(text, encoding="utf-8")
        except OSError as problem:
            raise Refused(
                "bad_input", f"{output} cannot be written: {problem.strerror}", "Name another file."
            ) from problem
    if session.json:
        session.emit({"run_id": run_id, "output": path, "report": "" if path else text})
    elif output is None:
        session.say(text.rstrip("\n"))
    return 0
