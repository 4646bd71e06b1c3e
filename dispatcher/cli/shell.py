"""The lazy click group, the global options before and after the verb, and the translation of refusals into exit codes.

Called by ``main``. A verb module is imported when its verb is named; its ``command`` returns its exit code (nothing
means 0). What nobody expected ends as one sentence and exit 1; ``--log-level debug`` shows the trace.
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

import click

from config.environment import process_environment
from config.problems import ConfigError, nearest
from connectors.errors import ConnectorError
from dispatcher import __version__
from dispatcher.cli.output import Output
from dispatcher.cli.session import Need, Session
from dispatcher.cli.verbs import VERBS, Verb
from dispatcher.refusals import FAILED, Refusal, Refused, error_document, meaning_of, sentence
from engine.errors import EngineError

PROGRAM = "pointsman"
EXIT_CANCELLED = 130
PATH_IS_TO_BLAME = frozenset([errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR])
LEVELS = ("debug", "info", "warning", "error")
REFUSAL_TYPES = (EngineError, ConnectorError, ConfigError, Refused)

_Setter = Callable[[Session, Any], None]


def run_process(arguments: Sequence[str]) -> int:
    """Run one command line in this process; an unexpected exception becomes one sentence and exit 1."""
    output = Output()
    session = Session(process_environment(), output)
    sys.excepthook = _last_word(session, wants_json(arguments))
    return run(arguments, session)


def run(arguments: Sequence[str], session: Session) -> int:
    """Run one command line and return its exit code; refusals are printed, anything unexpected is raised."""
    session.json = wants_json(arguments)
    try:
        code = _invoke(arguments, session)
    except REFUSAL_TYPES as refusal:
        code = refuse(session, refusal)
    except UnicodeEncodeError as error:
        told = f"A text holds what is no Unicode: {error.object[error.start : error.end]!r}."
        code = refuse(session, Refused("invalid_text", told, "Write it in UTF-8."))
    except OSError as error:
        if error.errno not in PATH_IS_TO_BLAME or error.filename is None:
            raise
        told = f"{error.filename} cannot be looked at: {error.strerror}"
        code = refuse(session, Refused("bad_input", told, "Check the path, and the rights on the way to it."))
    except (KeyboardInterrupt, click.Abort):
        session.warn("Interrupted.")
        code = EXIT_CANCELLED
    finally:
        session.close()
    if session.output.broken and code == 0:
        session.warn(f"The output could not be written: {session.output.broken}. Make room and ask again.")
        return FAILED.exit_code
    return code


def _invoke(arguments: Sequence[str], session: Session) -> int:
    try:
        result = group.main(args=list(arguments), prog_name=PROGRAM, standalone_mode=False, obj=session)
    except click.ClickException as error:
        raise as_usage(error) from error
    return result if isinstance(result, int) else 0


def as_usage(error: click.ClickException) -> Refused:
    """Click's own refusals in the form of ours; all are bad usage."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else PROGRAM
    close = getattr(error, "possibilities", None)
    hint = f"Did you mean {close[0]}? " if close else ""
    told = error.message if close else error.format_message()  # which names what is close as well
    return Refused("usage", told.rstrip(), f"{hint}`{path} --help` tells what it takes.")


def refuse(session: Session, refusal: Refusal) -> int:
    """Print a refusal for people, with ``--json`` also as the one document on stdout, and return its exit code."""
    if session.log_level == "debug":
        session.warn(traceback.format_exc().rstrip())
    if session.json:
        session.emit(error_document(refusal))
    session.warn(sentence(refusal.message))
    if refusal.hint:
        session.warn(sentence(refusal.hint))
    return meaning_of(refusal.code).exit_code


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether ``--json`` stands among the options, also when the rest of the line cannot be read."""
    options = list(arguments)
    if "--" in options:
        options = options[: options.index("--")]
    return "--json" in options


def _last_word(session: Session, as_json: bool) -> Callable[..., None]:
    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        session.json = as_json
        if session.log_level == "debug":
            session.warn("".join(traceback.format_exception(kind, error, trace)).rstrip())
        lines = str(error).splitlines() or [""]
        text = f"Something unexpected happened: {kind.__name__}: {lines[0]}"
        hint = "This is a fault of the program; --log-level debug shows where."
        refuse_plainly(session, Refused("internal", text, hint))

    return hook


def refuse_plainly(session: Session, refusal: Refused) -> None:
    """Print a refusal without its trace."""
    if session.json:
        session.emit(error_document(refusal))
    else:
        session.warn(sentence(refusal.message))
        session.warn(sentence(refusal.hint))


# -- global options --------------------------------------------------------------------------------------------------
def _set_store_dir(session: Session, value: str) -> None:
    session.given_store_dir = Path(value)


def _set_store_url(session: Session, value: str) -> None:
    session.given_store_url = value


def _set_config(session: Session, value: str) -> None:
    session.use_config(Path(value))


def _set_json(session: Session, value: bool) -> None:
    session.json = session.json or value


def _set_level(session: Session, value: str) -> None:
    session.log_level = value


def _set_format(session: Session, value: str) -> None:
    session.log_format = value


def _option(setter: _Setter, *names: str, **attributes: Any) -> click.Option:
    def keep(context: click.Context, _parameter: click.Parameter, value: Any) -> None:
        session = context.find_object(Session)
        if session is not None and value not in (None, False):
            setter(session, value)

    own_name = f"global{names[0].replace('-', '_')}"  # verbs may have a parameter called `config`
    return click.Option((own_name, *names), callback=keep, expose_value=False, is_eager=True, **attributes)


def _print_version(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    session = context.find_object(Session)
    if value and session is not None:
        session.output.line(f"{PROGRAM} {__version__}")
        context.exit(0)


def global_options(*, hidden: bool) -> list[click.Parameter]:
    """The options that stand before or after the verb (interface.md 1); shown by the group, hidden at the verbs."""
    level, form = click.Choice(LEVELS), click.Choice(("console", "json", "journald"))
    options = [
        _option(_set_store_dir, "--store-dir", metavar="DIR", help="where state lives"),
        _option(_set_store_url, "--store-url", metavar="URL", help="a database instead of the one in the store dir"),
        _option(_set_config, "--config", metavar="FILE", help="the configuration; else ./pointsman.yaml"),
        _option(_set_json, "--json", is_flag=True, help="one JSON document on stdout, nothing else there"),
        _option(_set_level, "--log-level", type=level, help="how much is logged on stderr"),
        _option(_set_format, "--log-format", type=form, help="how logs look; by itself as stderr wants it"),
        click.Option(
            ["global_version", "--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="print the version",
        ),
    ]
    for option in options:
        option.hidden = hidden
    return list(options)


def with_global_options(command: click.Command) -> click.Command:
    """``command`` and all below it, also accepting the global options; an option of its own with that name stays."""
    taken = {name for parameter in command.params for name in parameter.opts}
    command.params.extend(option for option in global_options(hidden=True) if not taken & set(option.opts))
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            with_global_options(inner)
    return command


class VerbGroup(click.Group):
    """A group whose commands are the rows of ``VERBS``, imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, in the table's order."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and dress its command with the global options."""
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        session = ctx.find_object(Session)
        if session is not None:
            session.need = Need[verb.need]
        known = self.commands.get(cmd_name)
        if known is None:
            known = with_global_options(load_command(verb))
            self.commands[cmd_name] = known
        return known

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, naming the nearest verb when there is no such one."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            close = nearest(args[0], VERBS)
            hint = f"Did you mean {close}? " if close else ""
            raise Refused("usage", f'There is no verb "{args[0]}"', f"{hint}`{PROGRAM} --help` lists all verbs.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs by section, from the table alone: no verb module is imported for the help."""
        width = max(map(len, VERBS))
        for section in dict.fromkeys(verb.section for verb in VERBS.values()):
            with formatter.section(section):
                rows = [(name.ljust(width), verb.help) for name, verb in VERBS.items() if verb.section == section]
                formatter.write_dl(rows)


def load_command(verb: Verb) -> click.Command:
    """The click command of a verb."""
    command = import_module(verb.module).command
    assert isinstance(command, click.Command)
    return command


group = VerbGroup(
    name=PROGRAM,
    params=global_options(hidden=False),
    help="A durable workflow dispatcher: cards move, runs follow, and a run never loses its place.",
    epilog="The options stand before or after the verb. `pointsman VERB --help` tells more.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
