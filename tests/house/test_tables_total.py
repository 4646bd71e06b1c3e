"""Each enum has one table, and it is total (AGENTS.md, first habit)."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

import connectors.errors
import engine.errors
from dispatcher.cli.session import Need
from dispatcher.cli.verbs import VERBS
from dispatcher.reasons import REASONS, Reason
from dispatcher.refusals import FAILED, REFUSALS, Refused, meaning_of
from engine.failures import FAILURES, FailureCode
from engine.states import TRANSITIONS, RunStatus
from tests.house.tables import ROOT


def codes_of(module: object) -> set[str]:
    return {
        kind.code
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Exception) and isinstance(getattr(kind, "code", None), str)
    }


def test_every_status_has_its_transitions() -> None:
    assert set(TRANSITIONS) == set(RunStatus)
    assert all(after <= set(RunStatus) for after in TRANSITIONS.values())


def test_every_failure_code_has_its_row() -> None:
    """R050, R078: a code without a row, or a row without a code, fails here; a mapping has one row per code."""
    assert set(FAILURES) == set(FailureCode)
    assert all(row.sentence for row in FAILURES.values())


def test_every_reason_has_its_texts() -> None:
    assert set(REASONS) == set(Reason)
    assert all(row.text and row.unblock for row in REASONS.values())


def test_every_exception_that_may_reach_a_person_has_its_meaning() -> None:
    known = codes_of(engine.errors) | codes_of(connectors.errors)
    assert known <= set(REFUSALS)
    assert {"usage", "internal", "config_missing", "config_invalid", "invalid_setting"} <= set(REFUSALS)


def test_every_code_that_the_dispatcher_refuses_with_is_in_the_table() -> None:
    for path in (ROOT / "dispatcher").rglob("*.py"):
        for line in path.read_text(encoding="utf-8").split("Refused(")[1:]:
            first = line.lstrip().split(",")[0].strip()
            if first.startswith('"'):
                assert first.strip('"') in REFUSALS, f"{path.name}: {first}"


def test_exit_codes_are_those_of_the_interface() -> None:
    """interface.md 1."""
    assert {meaning.exit_code for meaning in REFUSALS.values()} == {1, 2, 5}
    assert meaning_of("nobody listed this") == FAILED
    assert Refused("usage", "text").hint == ""


def test_every_verb_has_a_module_a_help_line_and_a_need() -> None:
    for name, verb in VERBS.items():
        assert verb.module == f"dispatcher.cli.{name.replace('-', '_')}"
        assert Need[verb.need]
        assert verb.help
        assert not verb.help.endswith(".")


def test_the_example_table_files_travel_with_the_packages() -> None:
    for package, file in {"config": "pointsman.example.yaml", "dispatcher.cli": "scaffold/pointsman.yaml"}.items():
        folder = Path(str(import_module(package).__file__)).parent
        assert (folder / file).is_file()
