"""``pointsman init [DIR]``: a configuration, a first bot and a ``.gitignore`` entry; what is there stays as it is."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from dispatcher.cli.session import STORE_FOLDER, Session
from dispatcher.refusals import Refused

SCAFFOLD = {"pointsman.yaml": "pointsman.yaml", "bots/hello.bot": "hello.bot"}
IGNORED = f"{STORE_FOLDER}/"


@click.command(help="Make a project in DIR (the current folder): pointsman.yaml, bots/hello.bot, a .gitignore entry.")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.pass_obj
def command(session: Session, folder: Path) -> None:
    """Make what is missing and say so; never overwrite."""
    try:
        made = [name for name, source in SCAFFOLD.items() if _create(folder / name, source)]
        if _ignore(folder / ".gitignore"):
            made.append(".gitignore")
    except OSError as error:
        hint = "Name a folder in which files can be made."
        raise Refused("bad_input", f"{error.filename or folder} cannot be written ({error.strerror})", hint) from error
    kept = [name for name in (*SCAFFOLD, ".gitignore") if name not in made]
    if session.json:
        session.emit({"folder": folder, "made": made, "kept": kept})
        return
    for name in made:
        session.say(f"made  {folder / name}")
    for name in kept:
        session.say(f"kept  {folder / name}")
    if made:
        session.say('Next: pointsman card create --title "Ada" --column ready && pointsman dispatch --until-idle')


def _create(path: Path, source: str) -> bool:
    """Write a scaffold file unless something is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (files("dispatcher.cli") / "scaffold" / source).read_text(encoding="utf-8")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def _ignore(path: Path) -> bool:
    """Add the store folder to ``.gitignore`` unless a line names it already."""
    present = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    if any(line.strip().strip("/") == STORE_FOLDER for line in present.splitlines()):
        return False
    with path.open("a", encoding="utf-8") as file:
        file.write(("" if not present or present.endswith("\n") else "\n") + f"{IGNORED}\n")
    return True
