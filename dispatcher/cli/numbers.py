"""Numbers on the command line that the store counts with: how many, from where on. Larger ones are bad usage."""

from __future__ import annotations

import click

LARGEST = 2**63 - 1
"""The largest whole number of the store."""
FROM_ZERO = click.IntRange(0, LARGEST)
FROM_ONE = click.IntRange(1, LARGEST)
