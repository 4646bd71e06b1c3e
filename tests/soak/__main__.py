"""``python -m tests.soak --minutes 60 --slots 8``: the last line is the verdict; exit 1 when it failed."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.soak.soak import soak


def main(given: list[str]) -> int:
    """Run it in a folder of its own."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1, help="of what is killed when")
    wanted = parser.parse_args(given)
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as folder:
        good, verdict = soak(Path(folder), wanted.slots, wanted.minutes, wanted.seed)
    sys.stdout.write(f"{verdict}\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
