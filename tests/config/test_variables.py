from __future__ import annotations

import pytest

from config.problems import ConfigError
from config.variables import Variables, read_variables, variable_name


def test_an_empty_environment_gives_the_stated_defaults() -> None:
    """engine.md 18."""
    found = read_variables({"POINTSMAN_AUTO_RESUME": ""})
    assert found == Variables()
    assert (found.auto_resume, found.schema_repairs, found.budget_exit_grace) == (0, 2, 0.10)
    assert (found.process_timeout, found.output_cap, found.workspace_max_file) == (86400, 256 << 20, 32 << 20)


def test_values_are_read_with_their_units() -> None:
    found = read_variables(
        {
            "POINTSMAN_AUTO_RESUME": "3",
            "POINTSMAN_BUDGET_EXIT_GRACE": "off",
            "POINTSMAN_PROCESS_TIMEOUT": "1h",
            "POINTSMAN_BRANCH_CANCEL_GRACE": "2.5",
            "POINTSMAN_OUTPUT_CAP": "2MiB",
        }
    )
    assert found == Variables(
        auto_resume=3, budget_exit_grace=0.0, process_timeout=3600.0, branch_cancel_grace=2.5, output_cap=2 << 20
    )


def test_an_exit_grace_that_is_no_ratio_is_none() -> None:
    """engine.md 10.3."""
    for text in ("off", "OFF", "0", "nonsense", "-1", "1.5", "nan"):
        assert read_variables({"POINTSMAN_BUDGET_EXIT_GRACE": text}).budget_exit_grace == 0
    assert read_variables({"POINTSMAN_BUDGET_EXIT_GRACE": "0.25"}).budget_exit_grace == 0.25


@pytest.mark.parametrize("field", sorted({*Variables.__slots__} - {"budget_exit_grace"}))
def test_every_bad_value_is_refused_with_the_name_of_its_variable(field: str) -> None:
    for bad in {"host_id": ("two words", "a/b", "x" * 101)}.get(field, ("nonsense", "-1", "nan")):
        with pytest.raises(ConfigError) as refused:
            read_variables({variable_name(field): bad})
        assert refused.value.code == "invalid_setting"
        assert variable_name(field) in refused.value.message
        assert refused.value.hint
