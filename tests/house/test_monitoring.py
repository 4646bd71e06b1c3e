"""Dashboard and alert rules name metrics and labels that exist, and every metric is shown somewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dispatcher.metrics import FROM_ZERO, METRICS, Kind
from dispatcher.reasons import DAILY_CAP, PARK_CAUSES

FOLDER = Path(__file__).parents[2] / "monitoring"
DASHBOARD: Any = json.loads((FOLDER / "grafana-dashboard.json").read_text())
RULES: list[Any] = YAML(typ="safe", pure=True).load((FOLDER / "alerts.yaml").read_text())["groups"][0]["rules"]
EXPRESSIONS = [
    *(target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())),
    *(each["expr"] for each in DASHBOARD["annotations"]["list"]),
    *(rule["expr"] for rule in RULES),
]
SCRAPED = {"instance", "job"}
"""Labels that every scrape adds."""
OF_FORGES = ("pointsman_forge_", "pointsman_address_", "pointsman_conditional_", "pointsman_effect")
"""What connectors count is read per credential, in Prometheus itself."""
_SELECTOR = re.compile(r"(pointsman_\w+)(?:\{([^}]*)\})?")


def metric_of(name: str) -> str:
    """The metric of the table behind a series: a histogram has three."""
    bare = re.sub(r"_(bucket|sum|count)$", "", name)
    return bare if bare in METRICS and METRICS[bare].kind is Kind.HISTOGRAM else name


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_names_metrics_and_labels_of_the_table(expression: str) -> None:
    found = _SELECTOR.findall(expression) or ([("up", "")] if "up{" in expression else [])
    assert found
    known = set(SCRAPED)
    for name, labels in found:
        if name == "up":
            continue
        metric = METRICS[metric_of(name)]
        known |= {*metric.labels, *({"le"} if metric.kind is Kind.HISTOGRAM else ())}
        assert set(re.findall(r"(\w+)(?==|!=)", labels)) <= {*metric.labels, *SCRAPED}
        if metric.kind is Kind.COUNTER:
            grown = rf"(rate|increase)\({name}|{name} unless {name} offset"
            assert re.search(grown, expression), "a counter is looked at by its growth"
    for grouped in re.findall(r"by \(([^)]*)\)", expression):
        assert {each.strip() for each in grouped.split(",")} <= known
    assert expression.count("(") == expression.count(")")


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {metric_of(name) for expression in EXPRESSIONS for name, _ in _SELECTOR.findall(expression)}
    without = {"pointsman_decisions_total", "pointsman_lease_renewals_total"}
    own = {name for name in METRICS if not name.startswith(OF_FORGES)}
    assert own - shown - without == set()


def test_legends_use_labels_that_their_query_keeps() -> None:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            kept = {
                each.strip() for group in re.findall(r"by \(([^)]*)\)", target["expr"]) for each in group.split(",")
            }
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= kept, target


def test_panels_have_ids_titles_and_places_of_their_own() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    assert all(panel["title"] for panel in DASHBOARD["panels"])
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        mine = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not mine & cells, panel["title"]
        assert max(x for x, _ in mine) < 24
        cells |= mine


def test_every_rule_says_how_bad_it_is_and_what_to_do() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule["labels"]["severity"] in ("info", "warning", "critical")
        assert {"summary", "description"} == set(rule["annotations"])
        assert re.fullmatch(r"\d+[mhd]", rule["for"])


VALUES: Mapping[tuple[str, str], set[str]] = {
    ("pointsman_slots", "state"): {"used", "max", "over"},
    ("pointsman_parks", "cause"): {*PARK_CAUSES.values(), DAILY_CAP},
    ("pointsman_breaker_open", "scope"): {"card", "board", "credential"},
    ("pointsman_config_reloads_total", "result"): {"ok", "refused"},
    ("pointsman_hook_seconds_count", "result"): {"ok", "failed"},
    ("pointsman_board_reads_total", "result"): {"complete", "partial", "failed", "late"},
}
"""What a label may say, for those whose values the rules and the panels name."""


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_selector_names_values_that_are_told(expression: str) -> None:
    for name, labels in _SELECTOR.findall(expression):
        for label, text in re.findall(r'(\w+)(?:=~|!=|=)"([^"]*)"', labels):
            if label not in SCRAPED and not text.startswith("$"):
                assert set(text.split("|")) <= VALUES[name, label]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_hears_of_the_first_fault_and_tells_only_labels_that_it_keeps(rule: Any) -> None:
    """A series that begins with its first fault has not grown: it is told from zero, or asked for as new."""
    grown = re.findall(r"increase\((pointsman_\w+)", rule["expr"])
    new = re.findall(r"(pointsman_\w+) unless \1 offset", rule["expr"])
    assert all(not METRICS[name].labels or name in FROM_ZERO or name in new for name in grown)
    grouped = [set(map(str.strip, text.split(","))) for text in re.findall(r"by \(([^)]*)\)", rule["expr"])]
    own = {label for name, _ in _SELECTOR.findall(rule["expr"]) for label in METRICS[metric_of(name)].labels} | SCRAPED
    kept = set.intersection(*grouped) if grouped else own
    assert set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))) <= kept
