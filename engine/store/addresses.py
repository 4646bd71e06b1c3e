"""The address of a SQLite store and the file that it names, there and back.

Called by the command line, which makes the address of a store folder, by ``sqlite.py``, which opens it, and by backups.
Imports nothing that takes time. An address may end in ``?name=value``, which is left out; `%` begins a character that
is written by its number, as in every URL.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

SCHEME = "sqlite:///"


def address_of(path: Path) -> str:
    """The address of ``path``: whatever characters its folders have, it names this file and no other."""
    return SCHEME + str(path).replace("%", "%25").replace("?", "%3F")


def file_of(address: str) -> Path:
    """The file that a ``sqlite:///…`` address names, as it is written: relative where the address is."""
    return Path(unquote(address.removeprefix(SCHEME).split("?", 1)[0]))
