"""``pointsman language-server``: the language for editors, over stdin and stdout.

The library of the protocol is an extra of its own; without it the verb says how to get it.
"""

from __future__ import annotations

import click

from dispatcher.cli.session import Session
from dispatcher.refusals import Refused


@click.command(help="Serve editors over stdin and stdout: findings as you type, hover, definition, completion.")
@click.pass_obj
def command(session: Session) -> None:
    """Serve one editor until it says exit."""
    try:
        import pygls  # noqa: F401
    except ModuleNotFoundError as missing:
        hint = "Install it with: pip install 'pointsman[editor]'"
        raise Refused(
            "unsupported", "The language server needs the package pygls, which is not here", hint
        ) from missing
    from dispatcher.cli.editor_door import serve
    from dispatcher.cli.validate import connections_of

    session.start_logging("error")
    serve(connections_of(session))
