"""The metrics are those of dispatcher.md 33, and none can carry a card, a run or a person."""

from __future__ import annotations

import pytest

from dispatcher.metrics import METRICS, Kind, Metrics

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
