"""Several writes in one commit, reads on the driver's cursor, and the number that tells whether anything changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.store.database import Database


def opened(folder: Path) -> Database:
    return Database.open(f"sqlite:///{folder / 'store' / 'pointsman.db'}")


def sequence(database: Database) -> int:
    with database.read_raw() as cursor:
        return int(cursor.execute("SELECT value FROM store_counter WHERE name = 'sequence'").fetchone()[0])


def test_writes_within_one_block_are_one_commit_that_its_own_reads_see_before_anybody_else(tmp_path: Path) -> None:
    with opened(tmp_path) as database, opened(tmp_path) as other:
        before = other.version()
        with database.together():
            with database.write() as connection:
                database.next_sequence(connection)
            with database.together(), database.write_raw() as cursor:
                cursor.execute("UPDATE store_counter SET value = value + 10")
            assert (sequence(database), sequence(other)) == (11, 0)
            assert (database.version(), other.version()) == (None, before)
        assert (sequence(database), sequence(other)) == (11, 11)
        assert other.version() != before


def write_and_raise(database: Database) -> None:
    with database.write_alone() as cursor:
        cursor.execute("UPDATE store_counter SET value = 99")
        raise ZeroDivisionError


def write_together_and_raise(database: Database) -> None:
    with database.together():
        with database.write() as connection:
            database.next_sequence(connection)
        raise ZeroDivisionError


def test_a_write_that_raises_inside_is_undone_alone_and_the_block_as_a_whole(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        with database.together():
            with database.write() as connection:
                database.next_sequence(connection)
            with pytest.raises(ZeroDivisionError):
                write_and_raise(database)
        assert sequence(database) == 1
        with pytest.raises(ZeroDivisionError):
            write_together_and_raise(database)
        assert sequence(database) == 1
        with database.write() as connection:
            assert database.next_sequence(connection) == 2


def test_the_version_stands_still_while_nobody_writes_and_moves_with_every_commit(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        still = database.version()
        assert sequence(database) == 0
        assert database.version() == still
        with database.write():
            pass
        assert database.version() == still, "a transaction without a change is none"
        with database.write() as connection:
            database.next_sequence(connection)
        assert database.version() != still
