"""What runs cost per UTC day, for the daily cap. Rows are written with the boundary commit that knows the spend.

Called through ``Store.spend`` (engine.md 10.6). A row holds the cumulative cost of a run or branch, the largest seen,
so a resume never counts twice. Deleting a run does not refund its day.
"""

from __future__ import annotations

from datetime import date

from sqlalchemy import bindparam, func, select

from engine.store.database import Database
from engine.store.names import table
from engine.store.prepared import Prepared

_SPEND = table("spend_day")
_EARLIER = _SPEND.alias("earlier")
_BEFORE = (
    select(func.coalesce(func.max(_EARLIER.c.cost_usd), 0.0))
    .where(_EARLIER.c.key == _SPEND.c.key, _EARLIER.c.day < _SPEND.c.day)
    .scalar_subquery()
)
_ON = Prepared(
    select(func.coalesce(func.sum(_SPEND.c.cost_usd - _BEFORE), 0.0)).where(_SPEND.c.day == bindparam("the_day"))
)


class Spend:
    """The verbs of ``Store.spend``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def on(self, day: date) -> float:
        """USD spent by all runs on that UTC day: by how much each entry exceeds that of its latest earlier day."""
        with self._database.read_raw() as cursor:
            return float(_ON.run(cursor, {"the_day": day.isoformat()}).fetchone()[0])
