"""The table of verbs: where each lives, its line in the help, and what configuration it needs.

Read by ``shell``, which imports a verb's module when it is named, and by ``manual``. Imports none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Verb:
    """Where a verb's click command ``command`` lives, its line in the help, and what configuration it needs.

    ``need`` is the name of a ``session.Need``.
    """

    module: str
    help: str
    section: str
    need: str = "SETTINGS"


_W, _R, _B, _D = "Workflows", "Runs", "Boards and cards", "The daemon"

VERBS: Mapping[str, Verb] = MappingProxyType(
    {
        "init": Verb("dispatcher.cli.init", "make a project: pointsman.yaml and a first bot", _W, "NOTHING"),
        "validate": Verb("dispatcher.cli.validate", "check workflow files and list every finding", _W, "NOTHING"),
        "diagram": Verb("dispatcher.cli.diagram", "draw a workflow as Mermaid text", _W, "NOTHING"),
        "bundle": Verb("dispatcher.cli.bundle", "make, pack and look into bundles", _W, "NOTHING"),
        "bots": Verb("dispatcher.cli.bots", "list the bots of the catalogue", _W, "NOTHING"),
        "fmt": Verb("dispatcher.cli.fmt", "write workflow files in the usual form", _W, "NOTHING"),
        "language-server": Verb("dispatcher.cli.language_server", "serve editors over stdin and stdout", _W, "NOTHING"),
        "completion": Verb("dispatcher.cli.completion", "print a completion script for a shell", _W, "NOTHING"),
        "man": Verb("dispatcher.cli.man", "print manual pages, or install them", _W, "NOTHING"),
        "run": Verb("dispatcher.cli.run", "launch a workflow and execute it until it stops", _R),
        "resume": Verb("dispatcher.cli.resume", "go on with a run where it stopped, with answers if it asked", _R),
        "answer": Verb("dispatcher.cli.answer", "answer a question that does not stop its run", _R, "NOTHING"),
        "inspect": Verb("dispatcher.cli.inspect", "show one run, or list all", _R, "NOTHING"),
        "events": Verb("dispatcher.cli.events", "print the timeline of a run as JSON lines", _R, "NOTHING"),
        "report": Verb("dispatcher.cli.report", "write a run down as Markdown", _R, "NOTHING"),
        "cancel": Verb("dispatcher.cli.cancel", "stop a run", _R, "NOTHING"),
        "pause": Verb("dispatcher.cli.pause", "pause a run at its next node boundary", _R, "NOTHING"),
        "rewind": Verb("dispatcher.cli.rewind", "move a stopped run back to a node, its files included", _R),
        "delete": Verb("dispatcher.cli.delete", "delete an ended run and leave a tombstone", _R),
        "gc": Verb("dispatcher.cli.gc", "delete runs that ended long ago and that no card needs", _R),
        "board": Verb("dispatcher.cli.board", "show, export or import the board and its columns", _B, "NOTHING"),
        "card": Verb("dispatcher.cli.card", "create, list, show, move and change cards", _B, "NOTHING"),
        "dispatch": Verb("dispatcher.cli.dispatch", "watch the boards and run what their cards ask for", _D, "BOTS"),
        "pickup": Verb("dispatcher.cli.pickup", "tell whether work is picked up, or pause, drain and resume it", _D),
        "explain": Verb("dispatcher.cli.explain", "tell why a card starts or does not", _D),
        "doctor": Verb("dispatcher.cli.doctor", "look at store, locks, clock, columns, git and bots", _D),
        "effects": Verb("dispatcher.cli.effects", "list and settle remote calls whose answer was lost", _D),
        "fake-forge": Verb("dispatcher.cli.fake_forge", "play a forge on loopback, for rehearsals", _D, "NOTHING"),
        "db": Verb("dispatcher.cli.db", "show, migrate, check and back up the database", _D, "NOTHING"),
        "backup": Verb("dispatcher.cli.backup", "put the whole store into one file while all runs", _D, "NOTHING"),
        "restore": Verb("dispatcher.cli.restore", "put a backup in the store's place", _D, "NOTHING"),
        "config": Verb("dispatcher.cli.config", "check, show or describe the configuration", _D, "BOTS"),
    }
)
"""verb -> where it lives. A test proves that each module exists and offers ``command``."""
