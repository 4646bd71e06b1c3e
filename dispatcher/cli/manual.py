"""Manual pages from the command line's own help: one for the program, one for each verb, in the language of ``man``.

Called by the verb ``man``. Made when they are asked for, so that they cannot be older than the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import click

from dispatcher import __version__
from dispatcher.cli.shell import PROGRAM, global_options, load_command
from dispatcher.cli.verbs import VERBS

SECTION = "1"
EXIT_CODES: Mapping[str, str] = MappingProxyType(
    {
        "0": "done; of a run: it finished",
        "1": "the operation or the run failed for good; also an unknown run or card",
        "2": "bad usage or bad input; a configuration or a workflow with errors",
        "3": "the run stopped and can be resumed",
        "4": "the run is paused",
        "5": "refused: the state forbids it",
        "130": "the run was cancelled",
    }
)
"""code -> what it means, for every verb (interface.md 1)."""
ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "POINTSMAN_STORE_DIR": "where state lives, unless --store-dir says",
        "POINTSMAN_STORE_URL": "the database, unless --store-url says",
        "CREDENTIALS_DIRECTORY": "a folder of files, one per secret, asked for names that are not set",
    }
)
FILES: Mapping[str, str] = MappingProxyType(
    {
        "pointsman.yaml": "the configuration, where --config names no other",
        ".pointsman/": "the store: the nearest one from the current folder upwards",
        "/etc/pointsman/pointsman.yaml": "the configuration of the system service",
    }
)


def pages() -> dict[str, str]:
    """File name -> text of every page."""
    made = {f"{PROGRAM}.{SECTION}": _overview()}
    for name, verb in VERBS.items():
        made[f"{PROGRAM}-{name}.{SECTION}"] = _page(name, verb.help, load_command(verb))
    return made


def _overview() -> str:
    lines = [
        *_head(PROGRAM, "a durable workflow dispatcher: cards move, runs follow"),
        *_synopsis(f"{PROGRAM} [OPTIONS] VERB [ARGUMENTS]"),
        ".SH DESCRIPTION",
        _text("Cards on a board, workflows that work on them, and runs that never lose their place."),
        _text("The options stand before or after the verb; each verb has a page of its own."),
        ".SH OPTIONS",
        *_options(click.Command(PROGRAM, params=global_options(hidden=False))),
    ]
    for section in dict.fromkeys(verb.section for verb in VERBS.values()):
        lines.append(f".SH {_text(section.upper())}")
        for name, verb in VERBS.items():
            if verb.section == section:
                lines += [".TP", rf"\fB{_text(PROGRAM)}\-{_text(name)}\fR(1)", _text(verb.help)]
    lines += [*_table("EXIT STATUS", EXIT_CODES), *_table("ENVIRONMENT", ENVIRONMENT), *_table("FILES", FILES)]
    return "\n".join(lines) + "\n"


def _page(name: str, told: str, command: click.Command) -> str:
    title = f"{PROGRAM}-{name}"
    lines = [*_head(title, told)]
    if isinstance(command, click.Group):
        inner = [command.commands[each] for each in command.list_commands(click.Context(command))]
        usages = [usage for each in inner for usage in _usages(f"{PROGRAM} {name}", each)]
        lines += [*_synopsis(*usages), ".SH DESCRIPTION", _text(_help(command) or told)]
        lines += [".SH OPTIONS", *_options(command)] if list(_options(command)) else []
        lines.append(".SH COMMANDS")
        for each in inner:
            lines += _command(f"{PROGRAM} {name}", each)
    else:
        lines += [*_synopsis(*_usages(PROGRAM, command, name)), ".SH DESCRIPTION", _text(_help(command) or told)]
        lines += [".SH OPTIONS", *_options(command)] if list(_options(command)) else []
    lines += [".SH EXIT STATUS", rf"As told in \fB{PROGRAM}\fR(1).", ".SH SEE ALSO", rf"\fB{PROGRAM}\fR(1)"]
    return "\n".join(lines) + "\n"


def _command(prefix: str, command: click.Command) -> Iterator[str]:
    """One command of a group, and what is below it."""
    yield f".SS {_text(f'{prefix} {command.name}')}"
    yield _text(_help(command))
    yield from _options(command)
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from _command(f"{prefix} {command.name}", each)


def _usages(prefix: str, command: click.Command, name: str = "") -> Iterator[str]:
    """How the command is called; of a group, how each of its commands is, and itself where it does something."""
    called = f"{prefix} {name or command.name}"
    if isinstance(command, click.Group):
        if command.invoke_without_command:
            yield called
        for each in command.commands.values():
            yield from _usages(called, each)
        return
    pieces = " ".join(command.collect_usage_pieces(click.Context(command)))
    yield f"{called} {pieces}".rstrip()


def _help(command: click.Command) -> str:
    return " ".join((command.help or "").replace("\b", "").split())


def _options(command: click.Command) -> Iterator[str]:
    context = click.Context(command)
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and "--help" not in parameter.opts:
            yield from (".TP", rf"\fB{_text(record[0])}\fR", _text(record[1]) or r"\&")


def _head(title: str, told: str) -> Iterator[str]:
    yield f'.TH "{title.upper()}" "{SECTION}" "" "{PROGRAM} {__version__}" "{PROGRAM.capitalize()}"'
    yield ".SH NAME"
    yield rf"{_text(title)} \- {_text(told)}"


def _synopsis(*usages: str) -> Iterator[str]:
    yield ".SH SYNOPSIS"
    for at, usage in enumerate(usages):
        if at:
            yield ".br"
        yield rf"\fB{_text(usage)}\fR"


def _table(title: str, rows: Mapping[str, str]) -> Iterator[str]:
    yield f".SH {title}"
    for name, told in rows.items():
        yield from (".TP", rf"\fB{_text(name)}\fR", _text(told))


def _text(text: str) -> str:
    """Plain text as ``man`` takes it: one line, nothing of it read as a request."""
    plain = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
