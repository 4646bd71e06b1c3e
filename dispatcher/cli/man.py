"""``pointsman man [VERB]``: a manual page on stdout, or all of them into a folder where ``man`` looks."""

from __future__ import annotations

from pathlib import Path

import click

from config.problems import nearest
from dispatcher.cli.session import Session
from dispatcher.refusals import Refused


@click.command(help="Print a manual page, or write all of them into a folder of man, like /usr/local/share/man/man1.")
@click.argument("verb", required=False)
@click.option("--install", "folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@click.pass_obj
def command(session: Session, verb: str | None, folder: Path | None) -> int:
    """Print one page as ``man`` reads it, or install all."""
    from dispatcher.cli.manual import SECTION, pages
    from dispatcher.cli.shell import PROGRAM

    made = pages()
    if folder is not None:
        return _install(session, made, session.folder / folder)
    name = f"{PROGRAM}-{verb}.{SECTION}" if verb else f"{PROGRAM}.{SECTION}"
    if name not in made:
        close = nearest(name, made)
        hint = f"Did you mean {close.removesuffix(f'.{SECTION}')}? " if close else ""
        raise Refused("usage", f'There is no verb "{verb}"', f"{hint}`{PROGRAM} --help` lists all verbs.")
    if session.json:
        session.emit({"name": name, "text": made[name]})
    else:
        session.output.line(made[name].rstrip())
    return 0


def _install(session: Session, made: dict[str, str], folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in made.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refused(
            "bad_input", f"{folder} cannot be written: {error.strerror}", "Name a folder of yours."
        ) from error
    if session.json:
        session.emit({"folder": str(folder), "pages": sorted(made)})
    else:
        session.say(f"{len(made)} pages are in {folder}; `man pointsman` finds them when man looks there.")
    return 0
