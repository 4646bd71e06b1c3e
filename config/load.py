"""From a configuration file and an environment to ``Settings``.

Called by the command line's session and by the daemon at start and at every reload (dispatcher.md 23). The whole file
is checked and every problem is listed, with file, line, key and the nearest known name. It opens nothing but the file,
the files of ``$CREDENTIALS_DIRECTORY`` that are referred to, and looks whether the named bots exist.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from config.boards import unknown_in_board
from config.catalogue import missing_bots
from config.environment import credential_lookup
from config.expansion import expand, has_reference
from config.findings import dotted, explained, is_secret, undotted
from config.problems import ConfigError, Problem, did_you_mean
from config.reading import Document, Key, read_document
from config.settings import ELIGIBLE_BY_DEFAULT, Origin, Settings, defaults
from config.templates import KNOWN_NAMES
from config.variables import read_variables

SHELL_KEYS = frozenset({"script"})
"""Keys whose text belongs to a shell, which expands it itself."""


def load(path: Path, environment: Mapping[str, str]) -> Settings:
    """The settings of ``path``.

    Raises ``ConfigError``: ``config_missing`` when it cannot be read, ``config_invalid`` with every problem in it,
    ``invalid_setting`` for a ``POINTSMAN_*`` variable with a bad value.
    """
    shown = _shown(path)
    document = read_document(path, shown)
    filled = _Filling(document, environment)
    data = filled.mapping(document.data, ())
    problems = [*filled.problems]
    settings = _validate(data, problems)
    if settings is None or problems:
        raise ConfigError("config_invalid", _placed(problems, document, shown))
    folder = path.absolute().parent
    origin = Origin(
        file=path.absolute(),
        folder=folder,
        digest=hashlib.sha256(repr(data).encode()).hexdigest(),
        secret_names=frozenset(filled.secrets),
        unset_names=frozenset(filled.unset),
        variables=read_variables(environment),
    )
    wrong = [*_meaning(settings)]
    if wrong:
        raise ConfigError("config_invalid", _placed(wrong, document, shown))
    return settings.located(origin)


def _shown(path: Path) -> str:
    """``path`` as a person here would write it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def salvage(path: Path, environment: Mapping[str, str]) -> Settings:
    """The defaults, with the ``store`` section of a file that is otherwise wrong, when that much can be read.

    For verbs that only look: they must find the same store as before the file was broken.
    """
    blank = defaults(path.absolute().parent, environment)
    try:
        document = read_document(path, _shown(path))
        filled = _Filling(document, environment)
        section = filled.mapping({"store": document.data.get("store") or {}}, ())
        settings = Settings.model_validate(section)
    except (ConfigError, ValidationError):
        return blank
    return settings.located(blank.origin)


def load_complete(path: Path, environment: Mapping[str, str]) -> Settings:
    """As ``load``, and every bot that a board or a route names must exist (dispatcher.md 20)."""
    settings = load(path, environment)
    missing = [*missing_bots(settings)]
    if missing:
        raise refusal(path, missing)
    return settings


def refusal(path: Path, problems: list[Problem]) -> ConfigError:
    """``problems`` about the configuration of ``path``, each with its line."""
    return ConfigError("config_invalid", _placed(problems, read_document(path, _shown(path)), _shown(path)))


@dataclass(slots=True)
class _Filling:
    """Replaces the references of a document's strings and notes which names are secrets."""

    document: Document
    environment: Mapping[str, str]
    problems: list[Problem] = field(default_factory=list)
    secrets: set[str] = field(default_factory=set)
    unset: set[str] = field(default_factory=set)

    def mapping(self, data: dict[str, Any], path: Key) -> dict[str, Any]:
        return {key: self.value(value, (*path, key)) for key, value in data.items()}

    def value(self, value: Any, path: Key) -> Any:
        if isinstance(value, dict):
            return self.mapping(value, path)
        if isinstance(value, list):
            return [self.value(item, (*path, index)) for index, item in enumerate(value)]
        if isinstance(value, str) and path[-1] not in SHELL_KEYS:
            return self.secret(value, path) if is_secret(path) else self.text(value)
        return value

    def text(self, value: str) -> str:
        done = expand(value, credential_lookup(self.environment))
        self.unset.update(done.unset)
        return done.text

    def secret(self, value: str, path: Key) -> str | None:
        if value and not has_reference(value):
            hint = "Put the value into the environment and write its name here, like $POINTSMAN_FORGE_TOKEN."
            self.problems.append(Problem("a secret is given by reference, never as its value", dotted(path), hint))
            return None
        done = expand(value, credential_lookup(self.environment))
        self.secrets.update(done.names)
        for name in done.unset:
            hint = f"Set {name} in the environment, or as a file of that name in $CREDENTIALS_DIRECTORY."
            self.problems.append(Problem(f"${name} is not set", dotted(path), hint))
        return done.text or None


def _placed(problems: list[Problem], document: Document, shown: str) -> Iterator[Problem]:
    for problem in problems:
        yield Problem(problem.text, problem.key, problem.hint, shown, document.line_of(undotted(problem.key)))


def _validate(data: dict[str, Any], problems: list[Problem]) -> Settings | None:
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        silent: set[str] = {problem.key for problem in problems}
        for detail in error.errors(include_url=False):
            problem = explained(dict(detail), data)
            if problem.key not in silent:
                silent.add(problem.key)
                problems.append(problem)
        return None


CLAIM_REFS = ("github",)
"""The forges on which a claim can be a ref (connectors.md 19)."""


def _mirror(settings: Settings, index: int) -> Iterator[Problem]:
    """What a board mirrors is a board of a forge, and one board's alone; columns that both have follow each other."""
    board, key = settings.boards[index], f"boards[{index}].mirror"
    if not board.mirror:
        return
    other = next((each for each in settings.boards if each.name == board.mirror), None)
    if other is None or other.kind == "native":
        names = {each.name for each in settings.boards if each.kind != "native"}
        hint = did_you_mean(board.mirror, names)
        yield Problem(f'"{board.mirror}" is no board of a forge', key, hint or "Name one that is configured here.")
    elif any(each.mirror == board.mirror for each in settings.boards[:index]):
        yield Problem(f'"{board.mirror}" is mirrored twice', key, "Let one board mirror it.")
    elif not other.columns:
        yield Problem(f'"{board.mirror}" maps no columns', key, "Map its columns; those that both have follow.")


def _meaning(settings: Settings) -> Iterator[Problem]:
    """What the shape alone does not show: names used twice, unknown references, columns that cannot work."""
    if not settings.boards:
        yield Problem("there is no board", "boards", "Add one, or leave boards out for the native one.")
    seen: set[str] = set(settings.connections)
    for index, board in enumerate(settings.boards):
        if board.name in seen:
            hint = "Give each board and each connection a name of its own."
            yield Problem(f'the name "{board.name}" is used twice', f"boards[{index}].name", hint)
        seen.add(board.name)
        yield from _mirror(settings, index)
        if board.shared and settings.claims.arbitration == "ref" and board.kind not in CLAIM_REFS:
            text = f"claims.arbitration is ref, and {board.kind} makes no refs beside branches and tags"
            yield Problem(text, f"boards[{index}].shared", "Write claims.arbitration: comment.")
        for key, reference in unknown_in_board(board):
            text = f"{{{{{reference}}}}} is not known in a template"
            yield Problem(text, f"boards[{index}].{key}", did_you_mean(reference, {*KNOWN_NAMES, "card.fields.NAME"}))
    cancelled = settings.columns.cancelled
    if cancelled in {*ELIGIBLE_BY_DEFAULT, settings.columns.running}:
        hint = "Name a column from which nothing is picked up, like backlog."
        yield Problem(f'"{cancelled}" is a column from which cards are picked up', "columns.cancelled", hint)
