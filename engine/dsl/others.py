"""Declarations that are neither nodes nor values, from attachments to contracts (language.md 4.3, 4.6).

Called by ``assemble``. They are read and kept; their checks are ``checks/extended.py``.
"""

from __future__ import annotations

from engine.dsl.ast import Block, Declaration, Property, Scalar
from engine.dsl.draft import OtherDraft
from engine.dsl.reader import Feature, Owner, Reader, Section

RUN_KINDS = frozenset({"attachment"})
"""Kinds of lines that a run obeys."""
ADVISORY_KINDS = frozenset({"cursor", "supervisor", "contract"})


def read_other(declaration: Declaration, reader: Reader) -> OtherDraft:
    """An MCP server, cursor, supervisor or contract; a contract is kept as the tree that it is."""
    kind, name = declaration.kind, declaration.name
    owner = Owner(kind, name)
    advisory = kind in ADVISORY_KINDS
    reader.features.append(Feature(f"{kind} `{name}`", declaration.span, owner, advisory))
    if kind == "contract":
        section = Section(declaration.span)
    else:
        section = Reader(reader.found).section(declaration.block, kind, owner, declaration.span)
    return OtherDraft(kind, name, section, declaration.name_span, declaration)


def read_attachments(block: Block | None, reader: Reader) -> list[OtherDraft]:
    """The lines ``NAME: file`` or ``NAME: image`` with an optional block."""
    drafts: dict[str, OtherDraft] = {}
    for line in _lines(block, reader):
        if line.key in drafts:
            reader.found.add("C050", line, name=line.key, first=f"line {drafts[line.key].span.line}")
            continue
        kind = line.value.text if isinstance(line.value, Scalar) else ""
        if kind not in ("file", "image"):
            reader.found.add("E020", line, name=line.key, found=f"`{kind or 'empty'}`", expected="file or image")
        drafts[line.key] = _draft("attachment", line, kind, reader)
    return list(drafts.values())


def read_secrets(block: Block | None, reader: Reader) -> list[OtherDraft]:
    """The lines ``NAME: ["value"]`` with an optional block."""
    drafts: dict[str, OtherDraft] = {}
    for line in _lines(block, reader):
        if line.key in drafts:
            reader.found.add("C090", line, name=line.key, first=f"line {drafts[line.key].span.line}")
            continue
        if line.value is not None and not isinstance(line.value, Scalar):
            reader.found.add("E020", line, name=line.key, found="a list or map", expected="a text in quotes")
        value = line.value.text if isinstance(line.value, Scalar) else ""
        drafts[line.key] = _draft("secret", line, value, reader)
    return list(drafts.values())


def _draft(kind: str, line: Property, value: str, reader: Reader) -> OtherDraft:
    owner = Owner(kind, line.key)
    if kind not in RUN_KINDS:
        reader.features.append(Feature(f"{kind} `{line.key}`", line.span, owner))
    section = Reader(reader.found).section(line.block, kind, owner, line.span)
    return OtherDraft(kind, line.key, section, line.span, value=value)


def _lines(block: Block | None, reader: Reader) -> list[Property]:
    lines = []
    for entry in block.entries if block else ():
        if isinstance(entry, Property):
            lines.append(entry)
        else:
            reader.found.add("E001", entry, found="an edge", expected="a line `NAME: …`")
    return lines
