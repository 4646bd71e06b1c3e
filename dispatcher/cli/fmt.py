"""``pointsman fmt FILE... [--check]``: workflow files in the usual form, comments kept, meaning unchanged."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dispatcher.cli.session import Session

if TYPE_CHECKING:
    from engine.dsl.formatting import Formatted

UNUSUAL, INVALID = 1, 2


@click.command(help="Write each FILE in the usual form; what it means does not change.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="write nothing; exit 1 when a file would change")
@click.pass_obj
def command(session: Session, files: tuple[Path, ...], check: bool) -> int:
    """Format every file that can be read; exit 2 when one cannot."""
    told = [_format(session, path, check=check) for path in files]
    invalid = any(one["error"] for one in told)
    changed = any(one["changed"] for one in told)
    if session.json:
        session.emit({"ok": not invalid and not (check and changed), "files": told})
    if invalid:
        return INVALID
    return UNUSUAL if check and changed else 0


def _format(session: Session, name: Path, *, check: bool) -> dict[str, object]:
    """Format one file and tell what became of it."""
    from engine.dsl.formatting import format_source

    path = session.folder / name
    try:
        data = path.read_bytes()
        done = format_source(data, str(name))
        changed = not _refusal(done) and done.text.encode() != data
        if changed and not check:
            _write(path.resolve(), done.text)
        error = _refusal(done)
    except OSError as problem:
        changed, error = False, f"{name} cannot be read or written: {problem.strerror}. Check the path and its rights."
    if error:
        session.warn(error)
    elif not session.json:
        session.say(f"{'would change' if check and changed else 'changed' if changed else 'unchanged'}  {name}")
    return {"file": name, "changed": changed, "error": error}


def _refusal(done: Formatted) -> str:
    """Why nothing was formatted, or nothing."""
    from engine.dsl.diagnostics import render

    if done.errors:
        return render(done.errors[0], "")
    return f"The file stays as it is: {done.problem}. Simplify it." if done.problem else ""


def _write(path: Path, text: str) -> None:
    """Put ``text`` in the place of the file at once, with the file's rights."""
    fresh = path.with_name(f".{path.name}.fmt")
    try:
        fresh.write_text(text, encoding="utf-8", newline="\n")
        shutil.copymode(path, fresh)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
