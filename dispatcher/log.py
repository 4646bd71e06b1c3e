"""Structured logs on stderr: structlog for ours, the same pipe for libraries (dispatcher.md 34).

``configure`` is called once by the session; ``bound`` binds run, card and node ids for a block. Events are dotted and
in the past tense (``run.settled``). Logging never raises: a full disk or a closed stream costs the line. A line that
repeats is written once per minute with the number of those left out.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

import structlog
from structlog.types import Processor

from dispatcher.journald import JournalHandler, is_journal, line_of
from dispatcher.log_later import begin_if_arranged
from engine.ports import Clock, SystemClock

CONSOLE, JSON, JOURNALD = "console", "json", "journald"
FORMS = (CONSOLE, JSON, JOURNALD)
REPEAT_SECONDS = 60.0
REMEMBERED = 1000
_IGNORED_KEYS = frozenset({"time", "level", "seconds", "repeated"})
_SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    structlog.processors.format_exc_info,
)
"""What lines of ours and of libraries go through alike."""
_NOISY = {"apscheduler": logging.WARNING, "uvicorn.access": logging.WARNING}


def configure(
    *,
    level: str = "info",
    form: str = "",
    stream: TextIO | None = None,
    journal: str = "",
    clock: Clock | None = None,
) -> None:
    """Send everything of ``level`` and above to ``stream`` (stderr), as ``console``, ``json`` or ``journald``.

    An empty ``form`` means console on a terminal, the journal where ``journal`` ($JOURNAL_STREAM) says that the stream
    is it, and JSON elsewhere. May be called again; the last call holds.
    """
    target = stream or sys.stderr
    threshold = logging.getLevelNamesMapping()[level.upper()]
    form = form or _form_of(target, journal)
    handler = JournalHandler() if form == JOURNALD else QuietHandler(target)
    handler.addFilter(RepeatFilter(clock or SystemClock()))
    meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*_SHARED, structlog.stdlib.ExtraAdder()],
            processors=[meta, _without_secrets, _renderer(form, target)],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(threshold)
    for name, quiet in _NOISY.items():
        logging.getLogger(name).setLevel(max(quiet, threshold))
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    _configured[0] += 1


class Cleaner(Protocol):
    """Takes secrets out of values; ``connectors.secrets.Redactor`` is one."""

    def clean(self, text: str) -> str:
        """A text without them."""
        ...

    def scrub(self, value: object) -> object:
        """A JSON value without them."""
        ...


_cleaner: Cleaner | None = None


def hide(cleaner: Cleaner) -> None:
    """From now on no line shows what ``cleaner`` knows; called where secrets become credentials."""
    global _cleaner
    _cleaner = cleaner


def _without_secrets(_logger: Any, _method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The line with every value cleaned, whatever it is: text, a nested value, an exception's trace, an object."""
    if _cleaner is None:
        return line
    for key, value in line.items():
        if isinstance(value, str | list | tuple | Mapping):
            line[key] = _cleaner.scrub(value)
        elif not isinstance(value, int | float | None):
            shown = repr(value)
            cleaned = _cleaner.clean(shown)
            line[key] = value if cleaned == shown else cleaned
    return line


class _Logger:
    """The logger of a name, bound once for each ``configure``: a line below the level costs next to nothing."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._bound: tuple[int, Any] = (-1, None)

    def __getattr__(self, method: str) -> Any:
        since, bound = self._bound
        if since != _configured[0]:
            since, bound = self._bound = (_configured[0], structlog.stdlib.get_logger(self._name).bind())
        return getattr(bound, method)


_configured = [0]
"""How often ``configure`` was called."""


def get(name: str) -> Any:
    """A logger whose methods take an event name and keys: ``log.info("run.settled", run_id=…)``."""
    return _Logger(name)


@contextmanager
def bound(**ids: str) -> Iterator[None]:
    """Every line written inside, by whomever, carries ``ids``; empty ones are left out."""
    with structlog.contextvars.bound_contextvars(**{key: value for key, value in ids.items() if value}):
        yield


class QuietHandler(logging.StreamHandler[TextIO]):
    """A stream handler that loses a line rather than raise or complain."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # the name is the library's
        """Say nothing: the stream is closed, the disk is full, or a value had no text."""


class RepeatFilter(logging.Filter):
    """Lets a line through once per minute; the next one that passes tells how many were left out."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether ``record`` is written; an exception of its own is none of the caller's business."""
        if record.levelno < logging.WARNING:
            return True
        key, now = _identity(record), self._clock.monotonic()
        with self._lock:
            first, left_out = self._seen.get(key, (now - REPEAT_SECONDS, 0))
            if now - first < REPEAT_SECONDS:
                self._seen[key] = (first, left_out + 1)
                return False
            if len(self._seen) >= REMEMBERED:
                self._seen.clear()
            self._seen[key] = (now, 0)
        if left_out and isinstance(record.msg, MutableMapping):
            record.msg["repeated"] = left_out
        return True


def _identity(record: logging.LogRecord) -> str:
    if isinstance(record.msg, MutableMapping):
        return repr(sorted((key, str(value)) for key, value in record.msg.items() if key not in _IGNORED_KEYS))
    return f"{record.name} {record.msg} {record.args!r}"


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


def _form_of(target: TextIO, journal: str) -> str:
    if _is_terminal(target):
        return CONSOLE
    return JOURNALD if is_journal(target, journal) else JSON


def _renderer(form: str, target: TextIO) -> Processor:
    if form == JOURNALD:
        return line_of
    if form == CONSOLE:
        return structlog.dev.ConsoleRenderer(colors=_is_terminal(target), timestamp_key="time")
    return structlog.processors.JSONRenderer(default=str, ensure_ascii=False)


begin_if_arranged()
