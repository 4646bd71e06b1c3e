"""Published artifacts of a run, version by version, and the program that it runs.

Called through ``Store.artifacts`` and ``Store.sources``. Versions are written with the boundary commit of the node that
publishes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import bindparam, select

from engine.checkpoint import ArtifactVersion, in_force
from engine.run import SourceFile
from engine.store.database import Database
from engine.store.names import table
from engine.store.prepared import PreparedRead
from engine.store.rows import Row

_ARTIFACT = table("artifact")
_SOURCE = table("run_source")
_TEXT = table("source_text")
_VERSIONS = PreparedRead(
    _ARTIFACT.c,
    _ARTIFACT.c.run_id == bindparam("the_run"),
    order=[_ARTIFACT.c.time, _ARTIFACT.c.name, _ARTIFACT.c.node_id, _ARTIFACT.c.version],
    locking=False,
)


class Artifacts:
    """The verbs of ``Store.artifacts``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def versions(self, run_id: str, name: str = "") -> tuple[ArtifactVersion, ...]:
        """All versions, of one name or of all, in the order in which they were published."""
        with self._database.read_raw() as cursor:
            rows = _VERSIONS.many(cursor, {"the_run": run_id})
        return tuple(_read(row) for row in rows if not name or row["name"] == name)

    def latest(self, run_id: str) -> dict[str, ArtifactVersion]:
        """The version published last under each name."""
        return {version.name: version for version in self.versions(run_id)}

    def in_force(self, run_id: str) -> dict[str, ArtifactVersion]:
        """What is published under each name: the version published last that no rewind took back."""
        return in_force(self.versions(run_id))


class Sources:
    """The verbs of ``Store.sources``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, run_id: str) -> tuple[SourceFile, ...]:
        """The files of the executed program, main first; ``main_only`` when its parts were too large to keep."""
        texts = _SOURCE.outerjoin(_TEXT, _TEXT.c.digest == _SOURCE.c.digest)
        query = select(_SOURCE, _TEXT.c.source).select_from(texts).where(_SOURCE.c.run_id == run_id)
        query = query.order_by(_SOURCE.c.position)
        with self._database.read() as connection:
            found = connection.execute(query).mappings().all()
        rows = [Row("run_source", f"{run_id}/{place}", values) for place, values in enumerate(found)]
        return tuple(SourceFile(row.text("path"), row.text("source"), row.truth("main_only")) for row in rows)


def _read(values: Mapping[Any, Any]) -> ArtifactVersion:
    row = Row("artifact", f"{values['run_id']}/{values['name']}/{values['version']}", values)
    return ArtifactVersion(
        name=row.text("name"),
        node_id=row.text("node_id"),
        version=row.integer("version"),
        data=row.json("data"),
        labels=row.items("labels"),
        digest=row.text("digest"),
    )
