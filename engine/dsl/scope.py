"""What an expression or a template may read, and how a path finds its value (language.md 8.1, 9.1).

The runtime makes one ``Scope`` per node and per edge from the checkpoint; nothing here keeps or changes it. Node, loop
and artifact names may contain dots (language.md 11): the longest name that is known wins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Path = tuple[str, ...]
NAMESPACES: Final = ("vars", "input", "outputs", "artifacts", "loop", "run", "each")
NAMED: Final = frozenset({"outputs", "artifacts", "loop", "each"})
HISTORY: Final = "history"
ATTACHMENTS: Final = "attachments"


class _Unresolved:
    """The one value that says that there is no value; null is a value."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "UNRESOLVED"


UNRESOLVED: Final = _Unresolved()


def _no_history(_name: str) -> list[Any]:
    return []


@dataclass(frozen=True, slots=True)
class Scope:
    """The values of one place. On an edge ``input`` is the source's output, in a node its input.

    ``outputs``, ``loop`` and ``each`` map a name to a map; ``artifacts`` a name to its latest version's value;
    ``history`` gives all outputs of a node, oldest first. ``attachments`` are read by templates alone.
    """

    vars: Mapping[str, Any] = field(default_factory=dict)
    input: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    artifacts: Mapping[str, Any] = field(default_factory=dict)
    loop: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    each: Mapping[str, Any] = field(default_factory=dict)
    history: Callable[[str], list[Any]] = field(default=_no_history)
    attachments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def resolve(self, namespace: str, path: Path) -> Any:
        """The value that ``namespace.path`` names, or ``UNRESOLVED``; an empty path is the whole namespace as a map.

        Unknown namespaces resolve to nothing: which ones exist is the parsers' business.
        """
        if namespace == ATTACHMENTS:
            return follow(self.attachments, path if len(path) > 1 else (*path, "path"))
        if namespace not in NAMESPACES:
            return UNRESOLVED
        known: Mapping[str, Any] = getattr(self, namespace)
        if not path:
            return {name: plain(value) for name, value in known.items()}
        if namespace not in NAMED:
            return follow(known, path)
        for size in range(len(path), 0, -1):
            name = ".".join(path[:size])
            if name in known:
                rest = path[size:]
                if namespace == "outputs" and rest and rest[0] == HISTORY:
                    return follow({HISTORY: self.history(name)}, rest)
                return follow(known[name], rest)
        return UNRESOLVED


def follow(value: Any, path: Path) -> Any:
    """The value at the end of ``path`` below ``value``; ``UNRESOLVED`` when it leads nowhere or through no map."""
    for name in path:
        if type(value) is not dict and not isinstance(value, Mapping):
            return UNRESOLVED
        value = value.get(name, UNRESOLVED)
        if value is UNRESOLVED:
            return value
    return plain(value)


def plain(value: Any) -> Any:
    """The value itself, or a read-only map as a dict, so that every map in the language is one kind of thing."""
    if type(value) is dict or not isinstance(value, Mapping):
        return value
    return {name: plain(part) for name, part in value.items()}
