"""What every verb of the command line has in hand: global options, settings, the store's place, and the two streams.

Made once per process by ``shell`` and found by verbs as ``context.obj``. Nothing heavy is imported before it is asked
for (interface.md 1: a command that shows nothing starts in under 200 ms).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from config.environment import default_file, person
from config.problems import ConfigError
from dispatcher.cli.output import Output, json_text
from dispatcher.refusals import Refused
from engine.store.addresses import SCHEME, address_of, file_of

if TYPE_CHECKING:
    from config.settings import Settings
    from dispatcher.wiring import Wiring

STORE_FOLDER = ".pointsman"
DATABASE_FILE = "pointsman.db"


class Need(Enum):
    """How much of the configuration a verb cannot do without."""

    NOTHING = "nothing"
    """Of an unusable ``./pointsman.yaml`` only the store is used; one named by ``--config`` is refused all the same."""
    SETTINGS = "settings"
    """The configuration must be right."""
    BOTS = "bots"
    """And the bots that it names must exist and declare the vars that they are given."""


class Session:
    """Global options and what follows from them. The fields are set while the command line is read."""

    def __init__(
        self, environment: Mapping[str, str], output: Output | None = None, folder: Path | None = None
    ) -> None:
        self.environment = environment
        self.output = output or Output()
        self._folder = folder
        self.need = Need.SETTINGS
        self.json = False
        self.log_level = ""
        self.log_format = ""
        self.given_store_dir: Path | None = None
        self.given_store_url = ""
        self.given_config: Path | None = None
        self._settings: Settings | None = None
        self._wiring: Wiring | None = None
        self._logging = False

    @cached_property
    def folder(self) -> Path:
        """Where the command was given. Raises Refused where that folder was removed."""
        try:
            return self._folder or Path.cwd()
        except FileNotFoundError as gone:
            raise Refused("bad_input", "The current folder is gone.", "Go to one that is there.") from gone

    # -- what people and programs read -------------------------------------------------------------------------------
    def emit(self, document: object) -> None:
        """The one JSON document on stdout (or one line of JSON lines)."""
        self.output.line(json_text(document))

    def say(self, text: str) -> None:
        """People's text: stdout, or stderr when stdout belongs to a JSON document."""
        if self.json:
            self.output.warn(text)
        else:
            self.output.say(text)

    def warn(self, text: str) -> None:
        """Something a person should know, on stderr."""
        self.output.warn(text)

    @property
    def who(self) -> str:
        """The name of the person who gave the command, for the record."""
        return person(self.environment)

    # -- configuration -----------------------------------------------------------------------------------------------
    @property
    def config_path(self) -> Path | None:
        """The file that holds: ``--config``, else ``./pointsman.yaml`` when it is there."""
        return self.given_config or default_file(self.folder)

    def use_config(self, path: Path) -> None:
        """Take ``path`` as if ``--config`` had named it (``dispatch CONFIG``, ``doctor CONFIG``)."""
        self.given_config = self.folder / path
        self._settings = None

    def use_defaults(self) -> None:
        """Go on without the configuration file, whose problems were told."""
        from config.settings import defaults

        self._settings = defaults(self.folder, self.environment)

    def settings(self) -> Settings:
        """The settings, read once.

        Raises ``ConfigError`` when they cannot be used and the verb needs them.
        """
        if self._settings is None:
            self._settings = self._read_settings()
        return self._settings

    def _read_settings(self) -> Settings:
        from config.settings import defaults

        path = self.config_path
        if path is None:
            return defaults(self.folder, self.environment)
        try:
            return self._load(path)
        except ConfigError as error:
            if self.need is not Need.NOTHING or self.given_config is not None or error.code == "invalid_setting":
                raise
            from config.load import salvage

            self.warn(f"Of {path.name} only the store is used. {error.message}")
            return salvage(path, self.environment)

    def _load(self, path: Path) -> Settings:
        if self.need is Need.BOTS:
            from dispatcher.preflight import load_checked

            return load_checked(path, self.environment)
        from config.load import load

        return load(path, self.environment)

    # -- the store ---------------------------------------------------------------------------------------------------
    @property
    def store_dir(self) -> Path:
        """Absolute path of the store folder (interface.md 1); it need not exist."""
        if self.given_store_dir is not None:
            return (self.folder / self.given_store_dir).absolute()
        named = self.environment.get("POINTSMAN_STORE_DIR", "")
        if named:
            return (self.folder / named).absolute()
        configured = self.settings().store.dir if self.config_path else None
        return configured or nearest_store(self.folder)

    @property
    def store_url(self) -> str:
        """The database; a relative ``sqlite:///`` path is taken from where it was written."""
        given = self.given_store_url or self.environment.get("POINTSMAN_STORE_URL", "")
        if given:
            return absolute_url(given, self.folder)
        settings = self.settings() if self.config_path else None
        if settings is not None and settings.store.url:
            return absolute_url(settings.store.url, settings.origin.folder)
        return address_of(self.store_dir / DATABASE_FILE)

    def use_store(self, folder: Path) -> None:
        """Work on the store of that folder, whatever else is said."""
        self.given_store_dir, self.given_store_url = folder, f"sqlite:///{folder / DATABASE_FILE}"

    def store_exists(self) -> bool:
        """Whether there may be a database to read: a reader must not make one, and opens what it cannot look at."""
        url = self.store_url
        try:
            return not url.startswith(SCHEME) or file_of(url).exists()
        except OSError:
            return True

    def wiring(self) -> Wiring:
        """Engine, store, boards and ledger, built when they are asked for; closed at the end of the process."""
        if self._wiring is None:
            from dispatcher.crashpoints import CrashPoints
            from dispatcher.wiring import Wiring

            self.start_logging()
            self._wiring = Wiring(self.settings(), store_dir=self.store_dir, store_url=self.store_url)
            self._wiring.passed = CrashPoints.of(self.environment).passed
        return self._wiring

    def start_logging(self, default_level: str = "warning") -> None:
        """Send logs to stderr in the wanted form, once, from the first line on; ``dispatch`` begins at ``info``."""
        if self._logging:
            return
        from dispatcher.log_later import arrange

        level = self.log_level or default_level

        def begin() -> None:
            from dispatcher.log import configure

            journal = self.environment.get("JOURNAL_STREAM", "")
            configure(level=level, form=self.log_format, stream=self.output.err, journal=journal)

        self._logging = True
        arrange(level, begin)

    def close(self) -> None:
        """Give back what was opened."""
        if self._wiring is not None:
            self._wiring.close()
            self._wiring = None


def nearest_store(folder: Path) -> Path:
    """The nearest ``.pointsman`` from ``folder`` upwards, else the one that would be made in ``folder``."""
    start = folder.absolute()
    for place in (start, *start.parents):
        if (place / STORE_FOLDER).is_dir():
            return place / STORE_FOLDER
    return start / STORE_FOLDER


def absolute_url(url: str, folder: Path) -> str:
    """``url`` with a relative SQLite path taken from ``folder``."""
    return address_of((folder / file_of(url)).absolute()) if url.startswith(SCHEME) else url
