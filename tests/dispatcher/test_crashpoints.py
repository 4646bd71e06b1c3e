"""The crash points are for tests only (dispatcher.md 7)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dispatcher.crashpoints import POINTS, CrashPoints

AT = {"POINTSMAN_CRASH_AT": "S5#2"}


@pytest.mark.parametrize(
    "environment",
    [
        {},
        AT,
        {**AT, "POINTSMAN_TESTING": "0"},
        {**AT, "POINTSMAN_TESTING": "1", "NOTIFY_SOCKET": "/run/systemd/notify"},
    ],
)
def test_without_a_declared_test_or_under_systemd_nothing_happens(environment: dict[str, str]) -> None:
    crash = CrashPoints.of(environment)
    for _ in range(3):
        crash.passed("S5")


def test_the_named_pass_of_the_point_is_the_last() -> None:
    code = (
        "from dispatcher.crashpoints import CrashPoints\n"
        "crash = CrashPoints.of({'POINTSMAN_CRASH_AT': 'S5#2', 'POINTSMAN_TESTING': '1'})\n"
        "for n in range(3): print(n, flush=True); crash.passed('S4'); crash.passed('S5')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout.split()) == (-9, ["0", "1"])


def test_the_points_are_those_of_the_document() -> None:
    starting, settling = tuple(f"S{n}" for n in range(11)), tuple(f"E{n}" for n in range(1, 10))
    assert starting + settling + ("X1", "X2", "X3", "X4", "X5") == POINTS
