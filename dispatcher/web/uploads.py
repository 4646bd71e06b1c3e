"""Files that come with an answer over HTTP, put where the engine takes files from, for as long as it needs them.

Called by ``runs``. What a file is for is said by the fields of the question (language.md 5.4); the engine copies each
into the run when it admits the answer, and nothing is left here.
"""

from __future__ import annotations

import base64
import binascii
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from dispatcher.refusals import Refused
from dispatcher.web.models import Upload

LOOSE = "_attachments"
"""The answer under which files may come that no field asks for."""
_LONGEST = 200
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\\]+")


@contextmanager
def placed(files: Mapping[str, Sequence[Upload]], fields: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """The answers that name the files, as people type them (``@path``), while the block lasts.

    ``fields`` are the question's, name -> type. Raises Refused for a file that nothing asks for, or that is none.
    """
    for name, given in files.items():
        _check(name, len(given), fields)
    with tempfile.TemporaryDirectory(prefix="pointsman-upload-") as folder:
        yield {name: "\n".join(_written(Path(folder) / name, name, given)) for name, given in files.items() if given}


def _check(name: str, count: int, fields: Mapping[str, str]) -> None:
    if name == LOOSE:
        return
    if fields.get(name) != "file":
        takers = [each for each, kind in fields.items() if kind == "file"]
        hint = f"Files are taken by {', '.join([*takers, LOOSE])}."
        raise Refused("invalid_answers", f"files.{name}: the question asks for no file of that name.", hint)
    if count > 1:
        raise Refused("invalid_answers", f"files.{name}: one file is taken, {count} came.", f"Send more as {LOOSE}.")


def _written(folder: Path, name: str, files: Sequence[Upload]) -> Iterator[str]:
    for number, each in enumerate(files):
        try:
            content = base64.b64decode(each.content, validate=True)
        except (binascii.Error, ValueError):
            text = f"files.{name}: the content of {each.filename!r} is not base64."
            raise Refused("invalid_answers", text, "Encode the file's bytes.") from None
        path = folder / str(number) / _file_name(each.filename)
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        yield f"@{path}"


def _file_name(told: str) -> str:
    """The file's own name as one part of a path."""
    kept = _UNFIT.sub("_", told).encode("utf-8", "replace")[-_LONGEST:].decode("utf-8", "ignore").lstrip(".")
    return kept or "file"
