"""Files that a launch hands over: checked against what the workflow declares, copied into the run, read by templates.

Called by ``launch`` before and under the run's lock, and by every resume. Implements language.md 4.3 and 9.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from engine.dsl.graph import AttachmentSlot, Graph
from engine.errors import BadInput
from engine.run import Attachment
from engine.runtime.recipes import ORIGIN
from engine.store.attachments import mime_of

IMAGES = "image/*"


def files_of(graph: Graph, given: Mapping[str, Path]) -> dict[str, Path]:
    """The file of every declared attachment that has one: given at launch, else the bundle's own.

    Raises BadInput, naming the attachment, for an unknown name, a required one without a file, a file that cannot be
    opened or is of a type that is not accepted.
    """
    for name in given:
        if name not in graph.attachments:
            known = ", ".join(sorted(graph.attachments)) or "none"
            raise BadInput(f"attachment {name} is not declared", f"the attachments of this workflow are: {known}")
    made: dict[str, Path] = {}
    for name, slot in graph.attachments.items():
        path = given.get(name) or (Path(slot.bundled) if slot.bundled else None)
        if path is not None:
            made[name] = _fitting(slot, path)
        elif slot.required:
            raise BadInput(f"attachment {name} is required and was not given", f"give it with --attachment {name}=FILE")
    return made


def _fitting(slot: AttachmentSlot, path: Path) -> Path:
    if not path.is_file():
        raise BadInput(f"attachment {slot.name}: there is no file {path}", "check the path")
    mime, accepted = mime_of(path.name), slot.accept or ((IMAGES,) if slot.image else ())
    if accepted and not any(_accepts(each, mime) for each in accepted):
        text = f"attachment {slot.name}: {path.name} is of type {mime}, which is not accepted"
        raise BadInput(text, f"give a file of type {' or '.join(accepted)}")
    return path


def _accepts(accepted: str, mime: str) -> bool:
    kind, _, rest = accepted.lower().partition("/")
    return mime == accepted.lower() or (rest == "*" and mime.startswith(f"{kind}/"))


def readable(attachments: Iterable[Attachment]) -> dict[str, dict[str, object]]:
    """What templates read of them: ``path``, ``url``, ``mime``, ``size``, ``sha256``, by name."""
    return {
        each.name: {
            "path": each.path,
            "url": Path(each.path).absolute().as_uri(),
            "mime": each.mime,
            "size": each.size,
            "sha256": each.sha256,
        }
        for each in attachments
        if each.origin != ORIGIN
    }
