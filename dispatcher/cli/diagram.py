"""``pointsman diagram FILE [--detailed]``: a workflow as Mermaid text."""

from __future__ import annotations

from pathlib import Path

import click

from dispatcher.cli.session import Session


@click.command(help="Draw the workflow of FILE as a Mermaid flowchart.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--detailed", is_flag=True, help="with what nodes run, their fields and what edges map")
@click.pass_obj
def command(session: Session, file: Path, detailed: bool) -> int:
    """Print the diagram; a workflow with errors is refused with the first of them."""
    from engine.dsl.diagnostics import render
    from engine.dsl.diagram import mermaid
    from engine.dsl.load import load
    from engine.errors import SourceInvalid

    loaded = load(session.folder / file)
    if loaded.graph is None:
        raise SourceInvalid(render(loaded.errors[0], ""), f"`pointsman validate {file}` lists every finding.")
    text = mermaid(loaded.graph, detailed=detailed)
    if session.json:
        session.emit({"workflow": loaded.graph.workflow, "mermaid": text})
    else:
        session.say(text.rstrip())
    return 0
