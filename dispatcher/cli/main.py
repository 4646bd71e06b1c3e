"""The door of the command line, and the shortest way to ``--version``.

Installed as ``pointsman``. Imports nothing beyond the standard library until a verb is named (performance: budget of
``--version`` and ``--help``).
"""

from __future__ import annotations

import gc
import sys

from dispatcher import __version__
from dispatcher.cli.output import Output, ensure_streams


def main() -> None:
    """Run the command line of this process and exit with its code."""
    ensure_streams()
    gc.set_threshold(200_000, 20, 20)  # what a start makes stays: looking through it again and again is a tenth of it
    arguments = sys.argv[1:]
    if arguments[:1] == ["--version"]:
        sys.exit(show_version())
    from dispatcher.cli.shell import run_process

    sys.exit(run_process(arguments))


def show_version() -> int:
    """Print the version; nothing else was imported for it."""
    Output().line(f"pointsman {__version__}")
    return 0
