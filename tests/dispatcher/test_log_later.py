"""Logging is loaded with its first line, and that line is not lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAD = """
import logging, sys
from dispatcher.cli.session import Session
session = Session({})
session.log_format = "json"
session.start_logging()
assert "structlog" not in sys.modules
"""


def run(body: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HEAD + body], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )


def test_the_first_line_of_a_library_sets_logging_up_and_is_written_once() -> None:
    told = run('logging.getLogger("some.library").info("quiet")\nlogging.getLogger("some.library").warning("loud")')
    assert told.stdout == ""
    assert told.stderr.count("loud") == 1
    assert "quiet" not in told.stderr
    assert '"level"' in told.stderr


def test_a_module_of_ours_that_logs_sets_it_up_when_it_is_imported() -> None:
    told = run('from dispatcher import log\nlog.get("x").warning("run.settled", run_id="r1")')
    assert told.stdout == ""
    assert told.stderr.count("run.settled") == 1


def test_a_wanted_level_holds_from_the_first_line_on() -> None:
    body = 'session._logging = False\nsession.log_level = "info"\nsession.start_logging()\n'
    assert "quiet" in run(body + 'logging.getLogger("some.library").info("quiet")').stderr


def test_nothing_is_loaded_when_nothing_is_told() -> None:
    run('assert "structlog" not in sys.modules')
