"""What the daemon counts, under the names of dispatcher.md 33: one table, one registry of its own.

Written by the tick and its hands, read by ``/metrics``. Labels never carry card, run, title or user names. Counting
never fails and decides nothing. ``prometheus_client`` is loaded when a ``Metrics`` is made.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from engine.errors import LeaseLost, RecordUnreadable, StoreBusy, StoreError, StoreFull, StoreUnreachable


class Kind(StrEnum):
    """How a metric behaves."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its kind, its labels, its line of help."""

    kind: Kind
    labels: tuple[str, ...]
    help: str


def _counter(labels: str, help_: str) -> Metric:
    return Metric(Kind.COUNTER, tuple(labels.split()), help_)


def _gauge(labels: str, help_: str) -> Metric:
    return Metric(Kind.GAUGE, tuple(labels.split()), help_)


def _histogram(labels: str, help_: str) -> Metric:
    return Metric(Kind.HISTOGRAM, tuple(labels.split()), help_)


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "pointsman_ticks_total": _counter("result", "ticks, by how they ended"),
        "pointsman_tick_seconds": _histogram("", "duration of a tick"),
        "pointsman_tick_phase_seconds": _histogram("phase", "duration of a phase of the tick"),
        "pointsman_tick_last_complete_timestamp_seconds": _gauge("", "end of the last complete tick, Unix time"),
        "pointsman_decisions_total": _counter("board action code", "decisions of ticks"),
        "pointsman_cards": _gauge("board column", "cards as last read"),
        "pointsman_cards_held": _gauge("board code", "eligible cards that do not run, by reason"),
        "pointsman_slots": _gauge("state", "run slots: used, max, over"),
        "pointsman_runs": _gauge("status", "runs under way or waiting"),
        "pointsman_run_starts_total": _counter("board kind", "runs started: fresh or resume"),
        "pointsman_run_outcomes_total": _counter("board status failure_code", "outcomes carried onto cards"),
        "pointsman_retries_waiting": _gauge("board", "cards that wait for their next attempt"),
        "pointsman_retries_total": _counter("failure_code result", "unattended attempts"),
        "pointsman_parks": _gauge("board cause", "cards that wait for a person"),
        "pointsman_gave_up_total": _counter("board failure_code", "cards whose attempts are used up"),
        "pointsman_orphans_promoted_total": _counter("to", "runs without owner that were promoted"),
        "pointsman_claims": _gauge("board state", "claims, by state"),
        "pointsman_claims_lost_total": _counter("cause", "claims taken over or lost"),
        "pointsman_lease_renewals_total": _counter("result", "renewals of leases"),
        "pointsman_interrupts_total": _counter("cause", "runs stopped by the machine"),
        "pointsman_stops_overdue": _gauge("", "runs that were told to stop and go on"),
        "pointsman_breaker_open": _gauge("scope name", "1 while a circuit breaker is open"),
        "pointsman_board_reads_total": _counter("board result", "reads of a board: complete, partial, failed, late"),
        "pointsman_board_read_seconds": _histogram("board", "duration of reading a board"),
        "pointsman_board_last_complete_timestamp_seconds": _gauge("board", "last complete read, Unix time"),
        "pointsman_pending_moves": _gauge("board", "moves that no read has shown yet"),
        "pointsman_wakes_total": _counter("source result", "what brought a tick forward"),
        "pointsman_webhooks_total": _counter("forge result", "deliveries of forges"),
        "pointsman_hook_seconds": _histogram("hook result", "duration of hooks"),
        "pointsman_workspaces": _gauge("state", "workspace folders"),
        "pointsman_cost_usd_total": _counter("board", "money spent by runs"),
        "pointsman_cost_day_usd": _gauge("", "money spent today (UTC)"),
        "pointsman_cost_unpriced_total": _counter("", "calls without a known price"),
        "pointsman_store_write_seconds": _histogram("", "duration of write transactions of the tick"),
        "pointsman_store_errors_total": _counter("kind", "faults of the store"),
        "pointsman_clock_steps_total": _counter("", "jumps of the wall clock"),
        "pointsman_config_generation": _gauge("", "how often the configuration was taken over"),
        "pointsman_config_reloads_total": _counter("result", "reloads of the configuration"),
        "pointsman_forge_requests_total": _counter("credential purpose method status", "calls to forges"),
        "pointsman_forge_request_seconds": _histogram("credential purpose", "duration of calls to forges"),
        "pointsman_forge_limit_remaining": _gauge("credential resource", "calls that a forge still allows"),
        "pointsman_forge_mode": _gauge("credential mode", "1 for the mode in which a credential is"),
        "pointsman_forge_throttles_total": _counter("credential kind", "answers that ask to wait"),
        "pointsman_address_refused_total": _counter("", "connections that the address guard refused"),
        "pointsman_effects": _gauge("state", "remote calls by state, of this store"),
        "pointsman_effects_total": _counter("operation state", "remote calls that came to a state in this process"),
        "pointsman_effects_ambiguous_oldest_timestamp_seconds": _gauge(
            "", "since when the oldest call in doubt is, Unix time; 0 without one"
        ),
        "pointsman_probes_total": _counter("operation result", "look-ups of calls whose answer was lost"),
        "pointsman_redactions_total": _counter("where", "secrets that were taken out of texts"),
        "pointsman_conditional_reads_total": _counter("result", "reads by what a validator spared"),
        "pointsman_build_info": _gauge("version", "1, with the version of this build"),
    }
)
"""name -> what it is."""

STORE_FAULTS = (StoreError, StoreBusy, StoreFull, StoreUnreachable, LeaseLost, RecordUnreadable)
FROM_ZERO: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "pointsman_ticks_total": ("ok", "degraded", "failed"),
        "pointsman_config_reloads_total": ("ok", "refused"),
        "pointsman_store_errors_total": tuple(fault.code for fault in STORE_FAULTS),
    }
)
"""Counters whose one label has known values: they are told from the start, since a series that begins with its first
fault shows no increase to an alert rule."""
TALLY_LENGTH = 10_000
"""So many entries wait for their reader at the most; the oldest ones go."""
_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was counted or measured."""

    name: str
    value: float
    labels: Mapping[str, str]


class Tally:
    """What the hands of a tick note for the metrics. Thread-safe; bounded where nobody reads it.

    A name or label outside the table is a programming error.
    """

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=TALLY_LENGTH)

    def count(self, name: str, amount: float = 1, /, **labels: str) -> None:
        """Add to a counter."""
        self._note(Kind.COUNTER, name, amount, labels)

    def observe(self, name: str, seconds: float, /, **labels: str) -> None:
        """Add a measurement to a histogram."""
        self._note(Kind.HISTOGRAM, name, seconds, labels)

    def set(self, name: str, value: float, /, **labels: str) -> None:
        """Set a gauge."""
        self._note(Kind.GAUGE, name, value, labels)

    def taken(self) -> Iterator[Entry]:
        """Everything noted since this was asked last, oldest first; it is gone from here."""
        while self._entries:
            yield self._entries.popleft()

    def _note(self, kind: Kind, name: str, value: float, labels: Mapping[str, str]) -> None:
        metric = METRICS[name]
        if metric.kind is not kind or set(labels) != set(metric.labels):
            raise ValueError(f"{name} is a {metric.kind} with the labels {metric.labels}, not {sorted(labels)}")
        self._entries.append(Entry(name, value, labels))


class Metrics:
    """All metrics of one daemon. Thread-safe. A name or label outside the table is a programming error."""

    def __init__(self, version: str) -> None:
        import prometheus_client

        # A counter claims its name without the end as well, which a gauge may have: one registry for each kind.
        only_ours: Any = prometheus_client.disable_created_metrics  # else each series had one that no table names
        only_ours()
        self._registries = {kind: prometheus_client.CollectorRegistry() for kind in Kind}
        makers = {
            Kind.COUNTER: prometheus_client.Counter,
            Kind.GAUGE: prometheus_client.Gauge,
            Kind.HISTOGRAM: prometheus_client.Histogram,
        }
        self._made: dict[str, Any] = {}
        for name, metric in METRICS.items():
            options: dict[str, Any] = {"buckets": _BUCKETS} if metric.kind is Kind.HISTOGRAM else {}
            maker: Any = makers[metric.kind]
            self._made[name] = maker(
                name, metric.help, metric.labels, registry=self._registries[metric.kind], **options
            )
        for name, values in FROM_ZERO.items():
            for value in values:
                self.count(name, 0, **{METRICS[name].labels[0]: value})
        self.set("pointsman_build_info", 1, version=version)

    def count(self, name: str, amount: float = 1, /, **labels: str) -> None:
        """Add to a counter."""
        self._one(name, labels).inc(amount)

    def set(self, name: str, value: float, /, **labels: str) -> None:
        """Set a gauge."""
        self._one(name, labels).set(value)

    def observe(self, name: str, seconds: float, /, **labels: str) -> None:
        """Add a measurement to a histogram."""
        self._one(name, labels).observe(seconds)

    def take(self, tally: Tally) -> None:
        """Take over what the hands noted."""
        hands = {Kind.COUNTER: self.count, Kind.GAUGE: self.set, Kind.HISTOGRAM: self.observe}
        for entry in tally.taken():
            hands[METRICS[entry.name].kind](entry.name, entry.value, **entry.labels)

    def replace(self, name: str, values: Mapping[tuple[str, ...], float]) -> None:
        """Set a gauge as a whole, by label values in the table's order: what is not named any more is gone."""
        gauge = self._made[name]
        if not METRICS[name].labels:
            gauge.set(values[()])
            return
        gauge.clear()
        for labels, value in values.items():
            gauge.labels(*labels).set(value)

    def text(self) -> bytes:
        """The Prometheus text of everything."""
        from prometheus_client import generate_latest

        return b"".join(generate_latest(registry) for registry in self._registries.values())

    def _one(self, name: str, labels: Mapping[str, str]) -> Any:
        made = self._made[name]
        return made.labels(**labels) if METRICS[name].labels else made
