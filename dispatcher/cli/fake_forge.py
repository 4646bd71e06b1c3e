"""``pointsman fake-forge``: the fake forge as a verb; ``python -m connectors.fake_forge`` is the same."""

from __future__ import annotations

from connectors.fake_forge.command import command

__all__ = ["command"]
