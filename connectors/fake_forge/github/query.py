"""A small GraphQL reader: the text of a query becomes selections. Enough for clients; not a validator of schemas.

Understands operations with variables, fields with aliases and arguments, fragments of both kinds, ``@include`` and
``@skip``. Raises ``QueryError`` for anything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\.\.\.|[A-Za-z_]\w*|-?\d+(?:\.\d+)?|[{}()\[\]:!$=@|&]')
BLANK = re.compile(r"(?:[\s,\ufeff]|#[^\n]*)+")


class QueryError(Exception):
    """The query cannot be read."""


@dataclass(frozen=True, slots=True)
class Variable:
    """``$name`` in an argument."""

    name: str


@dataclass(frozen=True, slots=True)
class Selected:
    """A field, or an inline fragment when ``name`` is empty; ``on`` is the fragment's type, ``spread`` its name."""

    name: str = ""
    alias: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    chosen: tuple[Selected, ...] = ()
    on: str = ""
    spread: str = ""
    conditions: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """An operation of a document."""

    kind: str
    chosen: tuple[Selected, ...]
    fragments: Mapping[str, Selected]
    defaults: Mapping[str, Any]


def read_query(text: str) -> Query:
    """The one operation of a document. Raises ``QueryError``."""
    reader = _Reader(_tokens(text))
    operations: list[tuple[str, tuple[Selected, ...], dict[str, Any]]] = []
    fragments: dict[str, Selected] = {}
    while reader.left():
        word = reader.peek()
        if word == "fragment":
            reader.take()
            name = reader.take()
            reader.expect("on")
            on = reader.take()
            fragments[name] = Selected(on=on, chosen=reader.selections())
        else:
            operations.append(reader.operation())
    if len(operations) != 1:
        raise QueryError(f"A document with one operation is needed, this has {len(operations)}.")
    kind, chosen, defaults = operations[0]
    return Query(kind, chosen, fragments, defaults)


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    while at < len(text):
        blank = BLANK.match(text, at)
        if blank:
            at = blank.end()
            continue
        token = TOKEN.match(text, at)
        if token is None:
            raise QueryError(f"Unexpected character at {at}: {text[at : at + 10]!r}.")
        found.append(token.group())
        at = token.end()
    return found


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def left(self) -> bool:
        return self._at < len(self._tokens)

    def peek(self) -> str:
        return self._tokens[self._at] if self.left() else ""

    def take(self) -> str:
        if not self.left():
            raise QueryError("Unexpected end of the query.")
        self._at += 1
        return self._tokens[self._at - 1]

    def expect(self, word: str) -> None:
        found = self.take()
        if found != word:
            raise QueryError(f"Expected {word}, found {found}.")

    def operation(self) -> tuple[str, tuple[Selected, ...], dict[str, Any]]:
        if self.peek() == "{":
            return "query", self.selections(), {}
        kind = self.take()
        if kind not in ("query", "mutation"):
            raise QueryError(f"Expected an operation, found {kind}.")
        defaults: dict[str, Any] = {}
        if self.peek() not in ("(", "{", "@"):
            self.take()
        if self.peek() == "(":
            defaults = self._variables()
        return kind, self.selections(), defaults

    def _variables(self) -> dict[str, Any]:
        defaults: dict[str, Any] = {}
        self.expect("(")
        while self.peek() != ")":
            self.expect("$")
            name = self.take()
            self.expect(":")
            while self.peek() not in ("$", ")", "="):
                self.take()
            if self.peek() == "=":
                self.take()
                defaults[name] = self.value()
        self.take()
        return defaults

    def selections(self) -> tuple[Selected, ...]:
        self.expect("{")
        found = []
        while self.peek() != "}":
            found.append(self._fragment() if self.peek() == "..." else self._field())
        self.take()
        return tuple(found)

    def _fragment(self) -> Selected:
        self.take()
        if self.peek() == "on":
            self.take()
            on = self.take()
            conditions = self._conditions()
            return Selected(on=on, conditions=conditions, chosen=self.selections())
        if self.peek() in ("{", "@"):
            conditions = self._conditions()
            return Selected(conditions=conditions, chosen=self.selections())
        return Selected(spread=self.take(), conditions=self._conditions())

    def _field(self) -> Selected:
        alias = name = self.take()
        if self.peek() == ":":
            self.take()
            name = self.take()
        args = self._arguments() if self.peek() == "(" else {}
        conditions = self._conditions()
        chosen = self.selections() if self.peek() == "{" else ()
        return Selected(name, alias, args, chosen, conditions=conditions)

    def _conditions(self) -> tuple[tuple[str, Any], ...]:
        found = []
        while self.peek() == "@":
            self.take()
            found.append((self.take(), self._arguments().get("if")))
        return tuple(found)

    def _arguments(self) -> dict[str, Any]:
        self.expect("(")
        found = {}
        while self.peek() != ")":
            name = self.take()
            self.expect(":")
            found[name] = self.value()
        self.take()
        return found

    def value(self) -> Any:
        word = self.take()
        if word == "$":
            return Variable(self.take())
        if word == "[":
            items = []
            while self.peek() != "]":
                items.append(self.value())
            self.take()
            return items
        if word == "{":
            fields = {}
            while self.peek() != "}":
                name = self.take()
                self.expect(":")
                fields[name] = self.value()
            self.take()
            return fields
        if word.startswith('"') or word in ("true", "false", "null") or word.lstrip("-")[:1].isdigit():
            return json.loads(word)
        return word


def filled(value: Any, variables: Mapping[str, Any]) -> Any:
    """A value with its variables in place."""
    if isinstance(value, Variable):
        return variables.get(value.name)
    if isinstance(value, list):
        return [filled(each, variables) for each in value]
    if isinstance(value, dict):
        return {key: filled(each, variables) for key, each in value.items()}
    return value
