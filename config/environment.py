"""The environment of the process and the files that stand in for it: the only reader of ``os.environ``.

Light, because every verb needs it and ``--help`` must not wait for the settings models.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Mapping
from pathlib import Path

DEFAULT_FILE = "pointsman.yaml"


def process_environment() -> Mapping[str, str]:
    """A copy of the environment of this process."""
    return dict(os.environ)


def person(environment: Mapping[str, str]) -> str:
    """The name of whoever runs this process: ``$USER``, else the account's, else the account's number."""
    if name := environment.get("USER", "") or environment.get("LOGNAME", ""):
        return name
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def default_file(folder: Path) -> Path | None:
    """``pointsman.yaml`` in ``folder`` when it is there."""
    path = folder / DEFAULT_FILE
    return path if path.is_file() else None


def credential_lookup(environment: Mapping[str, str]) -> Callable[[str], str | None]:
    """A name's value from the environment, else from its file in ``$CREDENTIALS_DIRECTORY`` (dispatcher.md 32)."""
    folder = environment.get("CREDENTIALS_DIRECTORY", "")

    def look(name: str) -> str | None:
        if name in environment:
            return environment[name]
        if not folder:
            return None
        try:
            text = (Path(folder) / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        return text.removesuffix("\n")

    return look
