"""``pointsman completion bash|zsh|fish``: a completion script on stdout; click answers the questions that it asks."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from dispatcher.cli.session import Session
from dispatcher.cli.shell import PROGRAM, group

SHELLS = ("bash", "zsh", "fish")


@click.command(help="Print a completion script, to be sourced by the shell.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_obj
def command(session: Session, shell: str) -> None:
    """Print the script of ``shell``."""
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(group, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE")
    session.output.line(script.source_template % script.source_vars())
