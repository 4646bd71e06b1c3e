"""``make bench``: every measurement, one JSON object a line.

``python -m tests.benchmarks [NAME...]`` with names of ``BENCHES``; all of them without a name. Judge ratios taken in
one run, never milliseconds across runs or machines.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.benchmarks import answering, bench_store, dispatching, language, nodes, raw, shared, startup

BENCHES: dict[str, Callable[[Path], Iterator[dict[str, object]]]] = {
    "raw": raw.measure,
    "store": bench_store.measure,
    "shared": shared.measure,
    "nodes": nodes.measure,
    "answering": answering.measure,
    "language": language.measure,
    "startup": startup.measure,
    "tick": dispatching.measure_ticks,
    "list": dispatching.measure_lists,
    "answer": dispatching.measure_answers,
    "drain": dispatching.measure_drain,
}


def main(names: list[str]) -> int:
    """Print the rows of the named benches; 2 for a name that is none."""
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        sys.stderr.write(f"no bench is called {', '.join(unknown)}; there are {', '.join(BENCHES)}\n")
        return 2
    for name in names or BENCHES:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            for row in BENCHES[name](Path(folder)):
                shown = {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
                sys.stdout.write(json.dumps(shown) + "\n")
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
