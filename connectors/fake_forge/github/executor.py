"""Runs a read query over nodes: a node has a type name and fields, each a value or a function of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connectors.fake_forge.github.query import Query, Selected, filled

IMPLEMENTS: Mapping[str, frozenset[str]] = {
    "User": frozenset({"Actor", "Node", "ProjectV2Owner", "RepositoryOwner", "Assignee", "UniformResourceLocatable"}),
    "Organization": frozenset({"Actor", "Node", "ProjectV2Owner", "RepositoryOwner"}),
    "Bot": frozenset({"Actor", "Node"}),
    "Issue": frozenset({"Node", "ProjectV2ItemContent", "Assignable", "Closable", "Comment", "Labelable"}),
    "PullRequest": frozenset({"Node", "ProjectV2ItemContent", "Assignable", "Closable", "Comment", "Labelable"}),
    "DraftIssue": frozenset({"Node", "ProjectV2ItemContent"}),
    "ProjectV2": frozenset({"Node", "Closable"}),
    "ProjectV2Item": frozenset({"Node"}),
    "ProjectV2SingleSelectField": frozenset({"Node", "ProjectV2FieldCommon", "ProjectV2FieldConfiguration"}),
    "ProjectV2ItemFieldSingleSelectValue": frozenset(
        {"Node", "ProjectV2ItemFieldValue", "ProjectV2ItemFieldValueCommon"}
    ),
    "Repository": frozenset({"Node"}),
}
"""type -> interfaces and unions that it belongs to, for ``... on``."""


@dataclass(frozen=True, slots=True)
class Problem(Exception):
    """A field that cannot be given: the error's type and text."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Node:
    """An object of the graph."""

    type: str
    fields: Mapping[str, Any]

    def is_a(self, name: str) -> bool:
        """Whether ``... on name`` fits."""
        return not name or name == self.type or name in IMPLEMENTS.get(self.type, frozenset())


@dataclass(slots=True)
class Execution:
    """One run of a query; ``errors`` grows."""

    query: Query
    variables: Mapping[str, Any]
    errors: list[dict[str, Any]] = field(default_factory=list)

    def project(self, node: Node, chosen: Sequence[Selected], path: tuple[str | int, ...] = ()) -> dict[str, Any]:
        """The chosen fields of a node."""
        found: dict[str, Any] = {}
        for each in chosen:
            if not self._wanted(each):
                continue
            if each.spread:
                part = self.query.fragments.get(each.spread)
                if part is None:
                    self._fail(Problem("UNDEFINED_FRAGMENT", f"Fragment {each.spread} was used, but not defined"), path)
                elif node.is_a(part.on):
                    _merge(found, self.project(node, part.chosen, path))
            elif not each.name:
                if node.is_a(each.on):
                    _merge(found, self.project(node, each.chosen, path))
            else:
                _merge(found, {each.alias: self._field(node, each, (*path, each.alias))})
        return found

    def _wanted(self, each: Selected) -> bool:
        for name, condition in each.conditions:
            if bool(filled(condition, self.variables)) is not (name == "include"):
                return False
        return True

    def _field(self, node: Node, each: Selected, path: tuple[str | int, ...]) -> Any:
        if each.name == "__typename":
            return node.type
        if each.name not in node.fields:
            told = f"Field '{each.name}' doesn't exist on type '{node.type}'"
            self._fail(Problem("UNDEFINED_FIELD", told), path)
            return None
        value = node.fields[each.name]
        try:
            if callable(value):
                value = value(filled(dict(each.args), self.variables))
        except Problem as problem:
            self._fail(problem, path)
            return None
        return self._shown(value, each, path)

    def _shown(self, value: Any, each: Selected, path: tuple[str | int, ...]) -> Any:
        if isinstance(value, Node):
            return self.project(value, each.chosen, path)
        if isinstance(value, list):
            return [self._shown(item, each, (*path, index)) for index, item in enumerate(value)]
        return value

    def _fail(self, problem: Problem, path: tuple[str | int, ...]) -> None:
        self.errors.append({"type": problem.kind, "path": list(path), "message": problem.message})


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def connection(kind: str, items: Sequence[Any], make: Callable[[Any], Node | None]) -> Callable[[dict[str, Any]], Node]:
    """A connection field: ``first`` (1 to 100) and ``after`` (an opaque place)."""

    def resolve(args: dict[str, Any]) -> Node:
        first = args.get("first")
        if first is None:
            raise Problem("MISSING_PAGINATION_BOUNDARIES", f"You must provide a `first` value on the `{kind}`.")
        if not 1 <= int(first) <= 100:
            raise Problem("EXCESSIVE_PAGINATION", f"Requesting {first} records on the `{kind}` exceeds 100.")
        after = args.get("after")
        start = int(str(after).removeprefix("c")) if after else 0
        chosen = [make(item) for item in items[start : start + int(first)]]
        end = start + len(chosen)
        info = {
            "hasNextPage": end < len(items),
            "hasPreviousPage": start > 0,
            "startCursor": f"c{start}" if chosen else None,
            "endCursor": f"c{end}" if chosen else None,
        }
        fields = {"nodes": chosen, "totalCount": len(items), "pageInfo": Node("PageInfo", info)}
        return Node(kind, fields)

    return resolve
