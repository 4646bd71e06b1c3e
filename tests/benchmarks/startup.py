"""How long a person waits before the command says anything: whole processes, median of several."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

POINTSMAN = Path(sys.executable).with_name("pointsman")
RUNS = 11


def median_ms(arguments: Sequence[str], folder: Path) -> float:
    """Median wall milliseconds of the command over ``RUNS`` processes after one that warms the caches."""
    spent = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        subprocess.run([POINTSMAN, *arguments], cwd=folder, check=True, capture_output=True)
        spent.append(1000 * (time.perf_counter() - began))
    return statistics.median(spent[1:])


def measure(folder: Path) -> Iterator[dict[str, object]]:
    """Rows for ``--version``, ``--help`` and a list of twenty cards."""
    home = folder / "startup"
    home.mkdir()
    for number in range(20):
        subprocess.run(
            [POINTSMAN, "card", "create", "--title", f"card {number}"], cwd=home, check=True, capture_output=True
        )
    for name, arguments in (("--version", ["--version"]), ("--help", ["--help"]), ("card list", ["card", "list"])):
        yield {"bench": "startup", "command": name, "ms": median_ms(arguments, home)}
