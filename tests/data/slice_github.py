"""Cuts the part of GitHub's published description out that the fake forge plays, into ``github-openapi.json.gz``.

Source: the npm package ``@octokit/openapi`` (MIT licence, see ``README.md`` here). Run with the path of its
``generated/api.github.com.json``; ``python tests/data/slice_github.py FILE``.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

from connectors.fake_forge.github.dialect import DIALECT

DROPPED = {
    "description",
    "summary",
    "examples",
    "example",
    "externalDocs",
    "x-github",
    "x-octokit",
    "title",
    "operationId",
    "tags",
}
TARGET = Path(__file__).with_name("github-openapi.json.gz")


def stripped(value: Any, *, inside_properties: bool = False) -> Any:
    """Without texts for readers; names of properties are kept whatever they are."""
    if isinstance(value, list):
        return [stripped(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: stripped(each, inside_properties=key == "properties" and not inside_properties)
        for key, each in value.items()
        if inside_properties or key not in DROPPED
    }


def shape(path: str) -> str:
    """A path with its parameters made anonymous."""
    return re.sub(r"\{[^}]*\}", "{}", path)


def slice_of(document: dict[str, Any]) -> dict[str, Any]:
    """The paths that have a route, and every component that they lead to."""
    played = {(route.method.lower(), shape(route.pattern)) for route in DIALECT.routes}
    paths: dict[str, Any] = {}
    for path, item in document["paths"].items():
        kept = {key: each for key, each in item.items() if (key, shape(path)) in played or key == "parameters"}
        if set(kept) - {"parameters"}:
            paths[path] = stripped(kept)
    found: dict[str, Any] = {}
    left = [paths]
    while left:
        for name in set(re.findall(r'"#/components/([^"]+)"', json.dumps(left.pop()))) - set(found):
            kind, key = name.split("/", 1)
            found[name] = stripped(document["components"][kind][key])
            left.append(found[name])
    components: dict[str, Any] = {}
    for name, value in sorted(found.items()):
        kind, key = name.split("/", 1)
        components.setdefault(kind, {})[key] = value
    return {
        "openapi": document["openapi"],
        "version": document["info"]["version"],
        "paths": paths,
        "components": components,
    }


if __name__ == "__main__":
    cut = slice_of(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    text = json.dumps(cut, separators=(",", ":"), sort_keys=True).encode()
    TARGET.write_bytes(gzip.compress(text, 9, mtime=0))
