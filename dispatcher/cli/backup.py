"""``pointsman backup FILE``: the whole store in one private file, while everything runs."""

from __future__ import annotations

from pathlib import Path

import click

from dispatcher.cli.session import Session
from dispatcher.refusals import Refused


@click.command(help="Put the database and the files of runs into FILE while everything runs; nothing is ever replaced.")
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def command(session: Session, file: Path) -> int:
    """Write the backup and say what is in it."""
    from engine.ports import SystemClock
    from engine.store.archiving import archive

    if not session.store_exists():
        raise Refused("not_found", f"There is no store at {session.store_dir}", "Name another: --store-dir DIR")
    target = (session.folder / file).absolute()
    made = archive(session.store_url, session.store_dir, target, SystemClock().now())
    if session.json:
        session.emit({"file": target, "bytes": made.size, "revision": made.revision, "files": made.files})
    else:
        session.say(f"{target} holds the store as it is now: its database and {made.files} files, {made.size} bytes.")
    return 0
