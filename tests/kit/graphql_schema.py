"""GitHub's GraphQL exchanges held against the published schema (C162): the query, and the answer as its result."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from graphql import GraphQLError, GraphQLResolveInfo, GraphQLSchema, build_schema, execute, parse, validate

FILE = Path(__file__).parent.parent / "data" / "github-graphql.graphql.gz"


@cache
def schema() -> GraphQLSchema:
    """The slice of the published schema."""
    with gzip.open(FILE) as file:
        return build_schema(file.read().decode())


def graphql_misfits(asked: bytes, answered: bytes) -> Iterator[str]:
    """What is wrong with an exchange. An answer that only has errors is not looked at."""
    request, answer = json.loads(asked), json.loads(answered)
    if answer.get("data") is None:
        return
    document = parse(request["query"])
    problems = validate(schema(), document)
    yield from (error.message for error in problems)
    if problems or "errors" in answer:
        return
    result = execute(
        schema(),
        document,
        root_value=answer["data"],
        variable_values=request.get("variables"),
        field_resolver=_given,
        type_resolver=lambda value, *_: value.get("__typename"),
    )
    assert not hasattr(result, "__await__")
    errors: list[GraphQLError] = getattr(result, "errors", None) or []
    yield from (error.message for error in errors if not error.message.startswith("Abstract type"))


def _given(source: Any, info: GraphQLResolveInfo, **_: Any) -> Any:
    """What the answer says in this place, by the name that the query gave it."""
    return source.get(info.path.key)
