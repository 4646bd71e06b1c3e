"""``pointsman resume --run-id ID``: go on with a run where it stopped, with answers if it asked (interface.md 3)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dispatcher.cli.run_options import answer_texts, ask_of, execution_options, json_object
from dispatcher.cli.session import Session

if TYPE_CHECKING:
    from dispatcher.cli.progress import Progress
    from engine.run import RunRecord


@click.command(help="Go on with a run where it stopped; give answers when it asked.")
@click.option("--run-id", required=True, metavar="ID", help="which run")
@click.option("--file", type=click.Path(path_type=Path), metavar="F", help="the source, when it moved")
@click.option("--answer", "answers", multiple=True, metavar="K=V", help="an answer; @PATH stages a file")
@click.option("--answers-file", type=click.Path(path_type=Path), metavar="F", help="answers in a JSON file")
@click.option("--force", is_flag=True, help="accept a changed source")
@click.option("--force-stale", is_flag=True, help="take over a running run whose process is dead")
@execution_options
@click.pass_obj
def command(session: Session, /, **given: Any) -> int:
    """Resume, execute, print the run, exit by its status."""
    from dispatcher.cli.asking import can_ask
    from dispatcher.cli.execution import Wishes, execute
    from engine.api import ResumeRequest

    path = given["answers_file"]
    typed = json_object(session.folder / path, "answers file", "invalid_answers") if path else None
    texts = answer_texts(given["answers"])
    ask = ask_of(given)
    interactive = not given["no_interactive"]

    request = ResumeRequest(
        run_id=given["run_id"],
        file=session.folder / given["file"] if given["file"] else None,
        texts=texts,
        answers=typed,
        force=given["force"],
        force_stale=given["force_stale"],
        ask=ask,
        timeout=given["timeout"],
        by=session.who,
    )

    def begin(progress: Progress) -> RunRecord:
        engine = session.wiring().engine
        record = engine.store.runs.get(given["run_id"])
        if not request.answering and interactive and _waits(record) and can_ask():
            return record
        return engine.resume(replace(request, progress=progress.node))

    most = given["auto_resume"]
    wishes = Wishes(
        auto_resume=session.settings().origin.variables.auto_resume if most is None else most,
        raised=not ask.empty,
        interactive=interactive,
        timeout=given["timeout"],
        request=request,
    )
    return execute(session, wishes, begin)


def _waits(record: RunRecord) -> bool:
    from engine.states import requires_answers

    return requires_answers(record.status)
