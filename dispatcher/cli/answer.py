"""``pointsman answer --run-id ID``: answers to a question that does not stop its run (engine.md 7.4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dispatcher.cli.inspect import store_for_reading
from dispatcher.cli.run_options import answer_texts, json_object
from dispatcher.cli.session import Session


@click.command(help="Answer a question that does not stop its run, while it works or waits. A paused run: resume.")
@click.option("--run-id", required=True, metavar="ID", help="which run")
@click.option("--interaction", default="", metavar="ID", help="which question, when several are open")
@click.option("--answer", "answers", multiple=True, metavar="K=V", help="an answer; @PATH stages a file")
@click.option("--answers-file", type=click.Path(path_type=Path), metavar="F", help="answers in a JSON file")
@click.pass_obj
def command(session: Session, /, **given: Any) -> int:
    """Record the answers; the run is left as it is."""
    from engine.api import AnswerRequest

    store_for_reading(session, given["run_id"])
    path = given["answers_file"]
    typed = json_object(session.folder / path, "answers file", "invalid_answers") if path else {}
    request = AnswerRequest(given["run_id"], given["interaction"], answer_texts(given["answers"]), typed)
    question = session.wiring().engine.answer(request)
    if session.json:
        answers = {"run_id": question.run_id, "interaction_id": question.id, "answers": dict(question.answers or {})}
        session.emit({**answers, "node_id": question.node_id})
    else:
        session.say(f"Question {question.id} of node {question.node_id} is answered.")
    return 0
