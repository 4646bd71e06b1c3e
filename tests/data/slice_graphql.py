"""Cuts a part out of GitHub's published GraphQL schema, into ``github-graphql.graphql.gz``.

Kept are the types and fields that the file has already (what the fake forge plays) and whatever the documents of our
client touch. Source: the npm package ``@octokit/graphql-schema`` (MIT licence, see ``README.md`` here). Run with the
path of its ``schema.graphql``: ``python tests/data/slice_graphql.py FILE``; needed when a document asks for more.
"""

from __future__ import annotations

import gzip
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from graphql import (
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    build_schema,
    get_named_type,
    parse,
    visit,
)

from connectors.github import code_writes, projects, statuses

TARGET = Path(__file__).with_name("github-graphql.graphql.gz")
BUILT_IN = {"String", "Int", "Float", "Boolean", "ID"}


class Touched(Visitor):
    """Notes each field that a document asks for, and the types of everything that it names."""

    def __init__(self, info: TypeInfo) -> None:
        super().__init__()
        self.info = info
        self.fields: dict[str, set[str]] = defaultdict(set)
        self.types: set[str] = set()

    def enter_field(self, node: Any, *_: Any) -> None:
        """A field of the type that is around it."""
        parent, name = self.info.get_parent_type(), node.name.value
        if parent is not None and not name.startswith("__"):
            self.fields[parent.name].add(name)

    def enter_named_type(self, node: Any, *_: Any) -> None:
        """A type by its name: of a fragment or a variable."""
        self.types.add(node.name.value)


def touched(schema: GraphQLSchema) -> Touched:
    """What the present slice holds and all documents touch."""
    info = TypeInfo(schema)
    found = Touched(info)
    present = build_schema(gzip.decompress(TARGET.read_bytes()).decode())
    for name, kind in present.type_map.items():
        if name in schema.type_map and not name.startswith("__"):
            found.types.add(name)
            if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
                found.fields[name] |= set(kind.fields)
    for text in (*projects.QUERIES, *code_writes.DOCUMENTS, *statuses.DOCUMENTS):
        visit(parse(text), TypeInfoVisitor(info, found))
    return found


def sliced(schema: GraphQLSchema) -> str:
    """The schema of those fields, with whole input types and enums."""
    found = touched(schema)
    for name, fields in list(found.fields.items()):
        kind = schema.type_map[name]
        if isinstance(kind, GraphQLInterfaceType):
            for each in schema.get_possible_types(kind):
                if each.name in found.types or each.name in found.fields:
                    found.fields[each.name] |= fields
    wanted = set(found.types)
    for name, fields in found.fields.items():
        wanted.add(name)
        for field in fields:
            told = schema.type_map[name].fields[field]
            wanted |= {get_named_type(each.type).name for each in (told, *told.args.values())}
    left = list(wanted)
    while left:
        kind = schema.type_map[left.pop()]
        if isinstance(kind, GraphQLInputObjectType):
            more = {get_named_type(field.type).name for field in kind.fields.values()} - wanted
            wanted |= more
            left += more
    return "\n".join(printed(schema.type_map[name], found, wanted) for name in sorted(wanted - BUILT_IN))


def printed(kind: Any, found: Touched, wanted: set[str]) -> str:
    """One type as text, of what is kept."""
    name = kind.name
    if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
        word = "type" if isinstance(kind, GraphQLObjectType) else "interface"
        over = [each.name for each in kind.interfaces if each.name in wanted]
        head = f"{word} {name}" + (f" implements {' & '.join(over)}" if over else "")
        fields = sorted(found.fields.get(name, set()) & set(kind.fields)) or ["id"]
        lines = [f"  {field}{arguments(kind.fields[field])}: {kind.fields[field].type}" for field in fields]
        return "\n".join([f"{head} {{", *lines, "}\n"])
    if isinstance(kind, GraphQLUnionType):
        return f"union {name} = {' | '.join(each.name for each in kind.types if each.name in wanted)}\n"
    if isinstance(kind, GraphQLInputObjectType):
        lines = [f"  {field}: {told.type}" for field, told in kind.fields.items()]
        return "\n".join([f"input {name} {{", *lines, "}\n"])
    values = getattr(kind, "values", None)
    return f"enum {name} {{ {' '.join(values)} }}\n" if values else f"scalar {name}\n"


def arguments(field: Any) -> str:
    """A field's arguments, without their defaults: those of the enums that are left out would name nothing."""
    kept = [f"{name}: {told.type}" for name, told in field.args.items()]
    return f"({', '.join(kept)})" if kept else ""


if __name__ == "__main__":
    # The published schema defines one field twice, which is of no concern here.
    whole = build_schema(Path(sys.argv[1]).read_text(encoding="utf-8"), assume_valid_sdl=True)
    TARGET.write_bytes(gzip.compress(sliced(whole).encode(), 9, mtime=0))
