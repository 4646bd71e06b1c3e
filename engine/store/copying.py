"""A backup of the database while everything runs: one consistent moment, in a private file of its own.

Called by ``pointsman db backup``. It copies rows, not the files of runs beside the database. To restore one, stop every
process of the store and put the copy in the database's place; that of PostgreSQL, made by its own ``pg_dump``, is read
by ``pg_restore``.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from sqlalchemy import make_url

from engine.detached import start
from engine.errors import BadInput, Refusal, StoreFull, StoreUnreachable
from engine.store import sqlite
from engine.store.drivers import POSTGRES

_TAKEN = "name another file; a backup never replaces one"


def backup(url: str, target: Path, environment: Mapping[str, str] = MappingProxyType({})) -> int:
    """Copy the store of ``url`` to ``target`` (0600), whole or not at all; its size in bytes.

    ``environment`` is that of this process, where ``pg_dump`` is looked for. Raises Refusal when ``target`` exists,
    BadInput when it cannot be made, StoreFull, StoreUnreachable, StoreBusy.
    """
    if os.path.lexists(target):
        raise Refusal(f"{target} exists", _TAKEN)
    partial = target.with_name(target.name + ".part")
    try:
        os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError as error:
        raise Refusal(f"{partial} exists", "another backup is being made, or one was interrupted: remove it") from error
    except OSError as error:
        raise BadInput(f"{target} cannot be made: {error.strerror}", "choose a folder that can be written") from error
    try:
        if url.startswith(POSTGRES):
            _dump(url, partial, environment)
        else:
            _fill(sqlite.path_of(url), partial)
        os.link(partial, target)
    except FileExistsError as error:
        raise Refusal(f"{target} exists", _TAKEN) from error
    except OSError as error:
        raise StoreFull(f"{target} cannot be written: {error.strerror}", "free some space, then try again") from error
    except sqlite3.Error as error:
        ours = sqlite.translated(error)
        if ours is None:
            raise
        raise ours from error
    finally:
        partial.unlink(missing_ok=True)
    flush(target.parent)
    return target.stat().st_size


def _dump(url: str, partial: Path, environment: Mapping[str, str]) -> None:
    """PostgreSQL's own copy, in its custom format. The password travels in the environment, never in an argument."""
    program = shutil.which("pg_dump", path=environment.get("PATH"))
    if program is None:
        hint = "install the client of PostgreSQL (postgresql-client), its version not older than the server's"
        raise BadInput("a PostgreSQL store is copied by pg_dump, which is not here", hint)
    address = make_url(url).set(drivername="postgresql")
    given = {**environment, **({"PGPASSWORD": str(address.password)} if address.password else {})}
    shown = address._replace(password=None).difference_update_query(["password"]).render_as_string()
    log = partial.with_name(partial.name + ".log")
    argv = [program, "--format=custom", "--no-owner", f"--file={partial}", f"--dbname={shown}", "--no-password"]
    try:
        if start(argv, given, (), log).wait() != 0:
            said = log.read_text("utf-8", "replace").strip().splitlines() or ["it gave no reason"]
            raise StoreUnreachable(
                f"pg_dump failed: {said[-1]}", "check address and rights, and the version of pg_dump"
            )
    finally:
        log.unlink(missing_ok=True)
    flush(partial)


def _fill(path: Path, partial: Path) -> None:
    sqlite.copy_to(path, partial)
    flush(partial)


def flush(path: Path) -> None:
    """Have the file or folder on the disk when this returns."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
