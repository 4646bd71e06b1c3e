"""``python -m connectors.fake_forge``."""

from __future__ import annotations

from connectors.fake_forge.command import command

if __name__ == "__main__":
    command(prog_name="python -m connectors.fake_forge")
