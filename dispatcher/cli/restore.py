"""``pointsman restore FILE``: a backup in the store's place; what was there is kept beside it."""

from __future__ import annotations

from pathlib import Path

import click

from dispatcher.cli.session import Session
from dispatcher.refusals import Refused


@click.command(
    help="Check a backup whole, then put it in the store's place. The daemon must be stopped; the old is kept."
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="only check the backup; the store is not touched, the daemon may run")
@click.pass_obj
def command(session: Session, file: Path, check: bool) -> int:
    """Check, then restore under the dispatcher's lock."""
    from engine.store.unarchiving import verify

    source = (session.folder / file).absolute()
    if not check:
        return _restore(session, source)
    found = verify(source, session.store_dir)
    if session.json:
        session.emit({"ok": True, "made_at": found.made_at, "revision": found.revision, "files": found.files})
    else:
        session.say(f"{source} is whole: made {found.made_at:%Y-%m-%d %H:%M} UTC, with {found.files} files of runs.")
    return 0


def _restore(session: Session, source: Path) -> int:
    from engine.ports import SystemClock
    from engine.store.locks import FileLock
    from engine.store.unarchiving import restore

    lock = FileLock(session.store_dir / "dispatcher.lock", {"restoring": str(source)})
    if not lock.acquire():
        text = f"A dispatcher works with this store: {lock.holder_text()}"
        raise Refused("instance_held", text, "Stop it, restore, then start it again.")
    try:
        done = restore(source, session.store_url, session.store_dir, SystemClock().now())
    finally:
        lock.release()
    contents, kept = done.contents, done.kept
    if session.json:
        told = {"made_at": contents.made_at, "revision": contents.revision, "files": contents.files}
        session.emit({**told, "replaced": done.replaced, "kept": kept})
        return 0
    session.say(f"The store is again as it was on {contents.made_at:%Y-%m-%d %H:%M} UTC.")
    if kept is not None:
        session.say(f"What was there before is in {kept}; delete it when it is not needed any more.")
    return 0
