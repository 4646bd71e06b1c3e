"""Running the command line inside the test's process, in a folder of its own, with an environment of its own."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dispatcher.cli.output import Output
from dispatcher.cli.session import Session
from dispatcher.cli.shell import run


@dataclass(frozen=True, slots=True)
class Answer:
    """What a verb gave back."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Stdout as the one JSON document."""
        return json.loads(self.out)


def pointsman(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Answer:
    """Run ``pointsman ARGUMENTS`` as if ``folder`` were the current one."""
    out, err = io.StringIO(), io.StringIO()
    session = Session(environment or {}, Output(out, err), folder)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        code = run(arguments, session)
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    return Answer(code, out.getvalue(), err.getvalue())
