"""The metrics are those of dispatcher.md 33, and none can carry a card, a run or a person."""

from __future__ import annotations

from pathlib import Path

import pytest

import connectors
import dispatcher
from connectors.fake_forge.running import Setup, running
from dispatcher.metrics import METRICS, Kind, Metrics, Tally
from tests.kit.clock import FakeClock
from tests.kit.forge_yard import ForgeYard
from tests.kit.yard import ASKS, CONFIG, Yard, tool

FORBIDDEN = {"card", "run", "run_id", "title", "user", "number"}


def test_no_label_can_name_a_card_a_run_or_a_person() -> None:
    assert not FORBIDDEN & {label for metric in METRICS.values() for label in metric.labels}


def test_counters_end_in_total_and_nothing_else_does() -> None:
    for name, metric in METRICS.items():
        assert (metric.kind is Kind.COUNTER) == name.endswith("_total"), name


def test_every_metric_can_be_written_and_is_told() -> None:
    metrics = Metrics("1.2")
    for name, metric in METRICS.items():
        labels = dict.fromkeys(metric.labels, "x")
        if metric.kind is Kind.COUNTER:
            metrics.count(name, 2, **labels)
        elif metric.kind is Kind.GAUGE:
            metrics.set(name, 2, **labels)
        else:
            metrics.observe(name, 0.1, **labels)
    text = metrics.text().decode()
    assert all(f"# HELP {name.removesuffix('_total')}" in text for name in METRICS)
    assert 'pointsman_build_info{version="1.2"} 1.0' in text


def test_a_gauge_replaced_as_a_whole_forgets_what_is_gone() -> None:
    metrics = Metrics("0")
    metrics.replace("pointsman_cards", {("native", "ready"): 3, ("native", "done"): 1})
    metrics.replace("pointsman_cards", {("native", "done"): 2})
    text = metrics.text().decode()
    assert 'column="done"} 2.0' in text
    assert 'column="ready"' not in text


def test_a_label_outside_the_table_is_a_programming_error() -> None:
    with pytest.raises(ValueError):
        Metrics("0").count("pointsman_ticks_total", card="c1")


def test_a_tally_takes_what_the_table_knows_and_gives_it_once() -> None:
    tally, metrics = Tally(), Metrics("0")
    tally.count("pointsman_clock_steps_total")
    tally.observe("pointsman_hook_seconds", 0.2, hook="before_run", result="ok")
    metrics.take(tally)
    metrics.take(tally)
    text = metrics.text().decode()
    assert "pointsman_clock_steps_total 1.0" in text
    assert 'pointsman_hook_seconds_count{hook="before_run",result="ok"} 1.0' in text
    for name, labels in (("pointsman_hook_seconds", {}), ("pointsman_clock_steps_total", {"card": "c1"})):
        with pytest.raises(ValueError):
            tally.count(name, **labels)


LATER = {"pointsman_lease_renewals_total", "pointsman_webhooks_total", "pointsman_cost_unpriced_total"}
"""Told as zero as long as nothing leases a store, delivers webhooks or calls a model without a price."""


def test_every_metric_of_the_table_is_fed_somewhere() -> None:
    """D223: none that is promised stays silent."""
    rooms = (dispatcher, connectors)
    sources = "".join(path.read_text() for room in rooms for path in Path(str(room.__file__)).parent.rglob("*.py"))
    assert {name for name in METRICS if sources.count(f'"{name}"') < 2} <= LATER


def test_only_what_the_table_names_is_told_and_faults_are_told_from_zero() -> None:
    """D223: the series of a first fault would show no increase to an alert rule."""
    lines = Metrics("0").text().decode().splitlines()
    told = {line.split(" ")[2] for line in lines if line.startswith("# TYPE")}
    assert told == set(METRICS)
    for each in ('config_reloads_total{result="refused"} 0.0', 'store_errors_total{kind="store_full"} 0.0'):
        assert f"pointsman_{each}" in lines


def test_a_board_that_was_never_read_is_told_as_long_ago(tmp_path: Path, clock: FakeClock) -> None:
    """So that the rule about unread boards hears of it, and of no board that the configuration lost."""
    yard = Yard(tmp_path, clock)
    yard.daemon.station.memory.last_complete["gone"] = clock.now()
    yard.tick()
    name = "pointsman_board_last_complete_timestamp_seconds"
    assert yard.daemon.metrics.text().decode().count(f"\n{name}{{") == 1
    report = yard.daemon.report
    assert report is not None
    assert set(report.gauges[name]) == {("native",)}
    yard.close()


def test_the_metrics_tell_what_the_ticks_did(tmp_path: Path, clock: FakeClock) -> None:
    """dispatcher.md 33: outcomes, retries, parks, claims, boards, hooks, workspaces, a clock step."""
    yard = Yard(tmp_path, clock, f"{CONFIG}hooks: {{before_run: {{script: 'true'}}}}\n", ASKS)
    yard.make("asks")
    yard.bot(tool("exit 1"), "fails")
    failing = yard.make("fails", bot="fails")
    yard.bot(tool("true"), "quick")
    yard.make("quick", bot="quick")
    yard.make("late", not_before="2999-01-01 00:00 UTC")
    yard.settled()
    clock.advance(10)
    yard.settled()
    clock.advance(20)
    yard.settled()
    clock.step(3600)
    yard.tick()
    told = yard.daemon.metrics.text().decode().splitlines()
    assert yard.column(failing) == "blocked"
    for line in (
        'pointsman_run_outcomes_total{board="native",failure_code="",status="finished"} 1.0',
        'pointsman_run_outcomes_total{board="native",failure_code="",status="paused_waiting_human"} 1.0',
        'pointsman_run_outcomes_total{board="native",failure_code="EXECUTION_FAILED",status="failed_resumable"} 3.0',
        'pointsman_retries_total{failure_code="EXECUTION_FAILED",result="scheduled"} 2.0',
        'pointsman_gave_up_total{board="native",failure_code="EXECUTION_FAILED"} 1.0',
        'pointsman_parks{board="native",cause="answers"} 1.0',
        'pointsman_claims{board="native",state="parked"} 1.0',
        'pointsman_cards_held{board="native",code="not_before"} 1.0',
        'pointsman_runs{status="paused_waiting_human"} 1.0',
        'pointsman_hook_seconds_count{hook="before_run",result="ok"} 5.0',
        'pointsman_workspaces{state="quarantined"} 0.0',
        'pointsman_board_reads_total{board="native",result="complete"} 7.0',
        "pointsman_clock_steps_total 1.0",
        "pointsman_config_generation 1.0",
        "pointsman_stops_overdue 0.0",
    ):
        assert line in told, line
    assert any(line.startswith("pointsman_store_write_seconds_count ") and not line.endswith(" 0.0") for line in told)
    assert any(line.startswith("pointsman_board_last_complete_timestamp_seconds{") for line in told)
    yard.close()


def test_remote_calls_are_counted_by_state_and_their_look_ups_by_result(tmp_path: Path, clock: FakeClock) -> None:
    """connectors.md 25: a comment whose answer is lost, and that no list shows."""
    with running("github", Setup(clock=clock)) as forge:
        yard = ForgeYard(tmp_path, clock, forge, ASKS)
        yard.issue()
        forge.script({"match": {"operation": "issue.comment"}, "fault": "status", "with": {"code": 503}})
        yard.settled()
        (row,) = yard.wiring.store.effects.list(states=("ambiguous",))
        clock.advance(61)
        yard.settled()
        told = yard.daemon.metrics.text().decode().splitlines()
        yard.close()
    assert row.settled_at is not None
    for line in (
        'pointsman_effects_total{operation="github.board.move",state="done"} 4.0',
        'pointsman_effects_total{operation="github.board.status",state="ambiguous"} 1.0',
        'pointsman_effects{state="ambiguous"} 1.0',
        'pointsman_effects{state="done"} 4.0',
        'pointsman_probes_total{operation="github.board.status",result="not_found"} 1.0',
    ):
        assert line in told, line
    (oldest,) = (line for line in told if line.startswith("pointsman_effects_ambiguous_oldest_timestamp_seconds "))
    assert float(oldest.split()[1]) == row.settled_at.timestamp()
