"""``pointsman run FILE``: launch a workflow and execute it until it stops (interface.md 3)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dispatcher.cli.run_options import ask_of, execution_options, json_object, pairs
from dispatcher.cli.session import Session
from dispatcher.refusals import Refused

if TYPE_CHECKING:
    from dispatcher.cli.progress import Progress
    from engine.run import RunRecord


@click.command(help="Launch the workflow FILE (.bot, .iter, a bundle folder, a .botz) and execute it until it stops.")
@click.argument("file", metavar="FILE")
@click.option("--var", "variables", multiple=True, metavar="K=V", help="a launch value, taken as it is")
@click.option("--vars-file", type=click.Path(path_type=Path), metavar="F", help="launch values in a JSON file")
@click.option("--preset", default="", metavar="NAME", help="a named set of values")
@click.option("--recipe", type=click.Path(path_type=Path), metavar="F", help="a launch configuration")
@click.option("--attachment", "attachments", multiple=True, metavar="NAME=FILE", help="a file that the workflow wants")
@click.option("--run-id", metavar="ID", help="the id of the run; made up when not given")
@click.option("--name", default="", metavar="TEXT", help="a friendly name")
@click.option("--workspace", type=click.Path(path_type=Path), metavar="DIR", help="where nodes work; default: here")
@execution_options
@click.pass_obj
def command(session: Session, /, **given: Any) -> int:
    """Launch, execute, print the run, exit by its status."""
    from dispatcher.cli.execution import Wishes, execute
    from engine.api import LaunchRequest

    path = given["vars_file"]
    typed = json_object(session.folder / path, "vars file", "invalid_vars") if path else {}
    ask, attachments = ask_of(given), pairs(given["attachments"], "--attachment")

    def begin(progress: Progress) -> RunRecord:
        request = LaunchRequest(
            file=session.folder / given["file"],
            workspace=_workspace(session, given["workspace"]),
            vars=pairs(given["variables"], "--var"),
            typed_vars=typed,
            preset=given["preset"],
            recipe=session.folder / given["recipe"] if given["recipe"] else None,
            attachments={name: session.folder / file for name, file in attachments.items()},
            run_id=given["run_id"],
            name=given["name"],
            ask=ask,
            timeout=given["timeout"],
            progress=progress.node,
        )
        return session.wiring().engine.launch(request)

    most = given["auto_resume"]
    wishes = Wishes(
        auto_resume=session.settings().origin.variables.auto_resume if most is None else most,
        raised=not ask.empty,
        interactive=not given["no_interactive"],
        timeout=given["timeout"],
    )
    return execute(session, wishes, begin)


def _workspace(session: Session, given: Path | None) -> Path:
    folder = (session.folder / given if given else session.folder).absolute()
    if not folder.is_dir():
        raise Refused("bad_input", f"The workspace {folder} is no folder", "Make it, or name another one.")
    return folder
