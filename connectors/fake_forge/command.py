"""``python -m connectors.fake_forge`` and ``pointsman fake-forge``: play a forge until Ctrl+C."""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import click

from connectors.fake_forge.desk import StateError
from connectors.fake_forge.records import Kind
from connectors.fake_forge.running import Setup, running
from connectors.fake_forge.script import ScriptError


@click.command()
@click.option("--forge", required=True, type=click.Choice([kind.value for kind in Kind]), help="The forge to play.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, show_default="any free one", help="The port on loopback."
)
@click.option("--state", type=click.Path(dir_okay=False, path_type=Path), help="Keep everything in this file.")
@click.option("--script", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Faults, as JSON.")
@click.option("--tls", is_flag=True, help="Speak TLS with certificates made at the start.")
def command(forge: str, port: int, state: Path | None, script: Path | None, tls: bool) -> None:
    """Play a forge on loopback, with faults on demand. Prints its address, a token and the control address as JSON."""
    try:
        with running(forge, Setup(port=port, state=state, script=rules_of(script), tls=tls)) as fake:
            told = {"url": fake.url, "control": f"{fake.control_url}/_fake/", "token": fake.token, "repo": fake.repo}
            click.echo(json.dumps(told | ({"ca": str(fake.authority)} if fake.authority else {})))
            sys.stdout.flush()
            wait_for_a_signal()
    except (ScriptError, StateError) as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.UsageError(f"Port {port} cannot be used: {error.strerror or error}.") from None


def rules_of(script: Path | None) -> Any:
    """What a script file says. Raises ``ScriptError`` for one that is no JSON."""
    if script is None:
        return []
    try:
        return json.loads(script.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ScriptError(f"{script} cannot be read: {error}") from None


def wait_for_a_signal() -> None:
    """Return on SIGINT or SIGTERM."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()
