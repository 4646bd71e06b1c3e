"""The store against its budget: a boundary commit beside the bare driver."""

from pathlib import Path

import pytest

from tests.benchmarks.bench_store import measure


@pytest.mark.bench
def test_a_boundary_commit_stays_near_the_bare_driver(tmp_path: Path) -> None:
    found = {str(row["bench"]): row for row in measure(tmp_path)}
    ratio = found["boundary_commit/raw_commit"]["ratio"]
    assert isinstance(ratio, float)
    assert ratio <= 4.4, found
