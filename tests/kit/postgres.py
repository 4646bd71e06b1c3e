"""A PostgreSQL server of the test session: started from the system's package in a folder of its own, reached by socket.

One server per process that tests; each test gets a fresh database, copied from one that was migrated once.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psycopg

from engine.store.database import Database

PLACES = Path("/usr/lib/postgresql")
HOW = "install postgresql-15 (apt-get install postgresql-15), the tests start it by themselves"
_numbers = itertools.count(1)


class Missing(Exception):
    """Why no server can be started here."""


class Server:
    """A running server in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._template = ""

    def url(self, name: str) -> str:
        """The address of a database as ``--store-url`` takes it."""
        return f"postgresql+psycopg://postgres@/{name}?host={self.folder}"

    def empty(self) -> str:
        """The address of a new database without tables."""
        return self.url(self._made(""))

    def fresh(self) -> str:
        """The address of a new database with the newest schema."""
        if not self._template:
            self._template = self._made("")
            Database.open(self.url(self._template)).close()
        return self.url(self._made(self._template))

    def _made(self, template: str) -> str:
        name = f"test_{next(_numbers)}"
        self.tell(f"CREATE DATABASE {name}" + (f" TEMPLATE {template}" if template else ""))
        return name

    def tell(self, statement: str) -> None:
        """Execute a statement outside a transaction."""
        with psycopg.connect(f"host={self.folder} user=postgres dbname=postgres", autocommit=True) as connection:
            connection.execute(statement.encode())


@cache
def programs() -> Path:
    """Where the server's programs are. Raises Missing."""
    found = sorted(PLACES.glob("*/bin/initdb"))
    if not found:
        raise Missing(f"there is no PostgreSQL server below {PLACES}: {HOW}")
    return found[-1].parent


@contextmanager
def running(*, durable: bool = False) -> Iterator[Server]:
    """A server that ends with the block; ``durable`` flushes each commit to the disk. Raises Missing."""
    where = programs()
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        user = _owner(folder)
        data, log = folder / "data", folder / "log"
        _do([where / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"], folder, user)
        options = f"-c listen_addresses='' -k {folder} -c fsync={'on' if durable else 'off'} -c max_connections=200"
        control = [where / "pg_ctl", "-D", data, "-w"]
        _do([*control, "-l", log, "-o", options, "start"], folder, user)
        try:
            yield Server(folder)
        finally:
            _do([*control, "-m", "immediate", "stop"], folder, user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _owner(folder: Path) -> str | None:
    """The server refuses to run as root: the package's user is taken then."""
    if os.geteuid() != 0:
        return None
    try:
        account = pwd.getpwnam("postgres")
    except KeyError as error:
        raise Missing(f"there is no user postgres: {HOW}") from error
    os.chown(folder, account.pw_uid, account.pw_gid)
    return account.pw_name


def _do(argv: list[str | Path], folder: Path, user: str | None) -> None:
    """Run a program of the server; its words go to a file, since a server that was started keeps them open."""
    said = folder / "said"
    with said.open("w") as out:
        done = subprocess.run(argv, cwd=folder, user=user, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    if done.returncode != 0:
        raise Missing(f"{argv[0]} failed: {said.read_text()[-400:]} {HOW}")
