"""Column types of the store: UTC instants and JSON values, as text that stays readable in any tool.

Called by ``tables.py`` and ``prepared.py``. Reading never raises here: a value that cannot be decoded becomes an
``Undecodable``, so that one bad row harms nobody but its own reader (``rows.py`` raises, with table, id and column).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from sqlalchemy import Integer, String, Text
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.types import TypeDecorator

_encoder = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"))
_latest: tuple[datetime | None, str] = (None, "")


@dataclass(frozen=True, slots=True)
class Undecodable:
    """What stands in for a stored value that is no instant, or no JSON."""

    reason: str


def instant_text(value: datetime) -> str:
    """The stored form: UTC, microseconds, one width, so that texts sort as instants do. Refuses a naive value."""
    global _latest
    known, text = _latest
    if known is value:  # one commit stores one instant in many columns
        return text
    if value.tzinfo is None:
        raise ValueError("a naive datetime cannot be stored")
    text = value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    _latest = (value, text)
    return text


def _parts_maker() -> Callable[[object, int], Iterable[str]]:
    """The encoder's inner function, made once: ``JSONEncoder.encode`` makes it anew for each value."""
    made = getattr(json.encoder, "c_make_encoder", None)
    if made is None:
        return lambda value, _: _encoder.iterencode(value)
    text, colon, comma = json.encoder.encode_basestring, _encoder.key_separator, _encoder.item_separator
    parts: Callable[[object, int], Iterable[str]] = made(
        None, _encoder.default, text, None, colon, comma, False, False, False
    )
    return parts


_parts = _parts_maker()


def json_text(value: object) -> str:
    """The stored form: compact, integers and floats apart. Raises ValueError for NaN and infinities."""
    return "".join(_parts(value, 0))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_decode = json.JSONDecoder(parse_constant=_refuse).decode


def read_json(text: object) -> Any:
    """The value of a stored text, or an ``Undecodable``."""
    try:
        return _decode(text)  # type: ignore[arg-type]
    except (ValueError, TypeError, RecursionError) as error:
        return Undecodable(str(error))


def read_instant(text: object) -> datetime | Undecodable:
    """The instant of a stored text, aware and UTC, or an ``Undecodable``."""
    try:
        found = datetime.fromisoformat(text)  # type: ignore[arg-type]
    except (ValueError, TypeError) as error:
        return Undecodable(str(error))
    return found.astimezone(UTC) if found.tzinfo else Undecodable("an instant without its offset")


class UtcTime(TypeDecorator[datetime]):
    """An instant."""

    impl = String(27)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        """As ``instant_text``."""
        return None if value is None else instant_text(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any:
        """As ``read_instant``."""
        return None if value is None else read_instant(value)


class Json(TypeDecorator[Any]):
    """A JSON value; SQL's null is Python's None."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> str | None:
        """As ``json_text``."""
        return None if value is None else json_text(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any:
        """As ``read_json``."""
        return None if value is None else read_json(value)


class Flag(TypeDecorator[bool]):
    """A truth value, stored as 0 or 1; anything else is left to its reader."""

    impl = Integer
    cache_ok = True

    def process_bind_param(self, value: bool | None, dialect: Dialect) -> int | None:
        """0 or 1."""
        return None if value is None else int(value)
