"""The TextMate grammar of the language, made from the compiler's own tables.

``python tests/house/tables.py`` writes it with the pages; ``test_docs_match.py`` proves that it is current.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from engine.dsl.data import FIELD_TYPES
from engine.dsl.expression_functions import FUNCTIONS
from engine.dsl.graph import TERMINALS
from engine.dsl.parser import TOP_BLOCKS, WORDS
from engine.dsl.shapes import SHAPES
from engine.dsl.templates import NAMESPACES, PARAMS
from engine.dsl.unit import EXTENSIONS

NAME = r"[^\W\d]\w*"
SCOPE = "source.pointsman"


def words(known: Iterable[str]) -> str:
    """An alternative of whole words, longest first."""
    return "|".join(sorted(known, key=lambda word: (-len(word), word)))


def rule(name: str, match: str, **captures: str) -> dict[str, Any]:
    """A rule on one line; ``captures`` are ``g1="scope"``."""
    found: dict[str, Any] = {"match": match}
    if name:
        found["name"] = f"{name}.pointsman"
    if captures:
        found["captures"] = {key[1:]: {"name": f"{scope}.pointsman"} for key, scope in captures.items()}
    return found


def between(name: str, begin: str, end: str, *patterns: str) -> dict[str, Any]:
    """A rule that spans lines."""
    found = {"name": f"{name}.pointsman", "begin": begin, "end": end}
    return found | {"patterns": [{"include": f"#{pattern}"} for pattern in patterns]} if patterns else found


def header(kinds: Iterable[str]) -> str:
    """``KIND NAME:`` at the head of a line."""
    return rf"^\s*({words(kinds)})\s+({NAME})\s*(?=[:(])"


def body(name: str, begin: str) -> dict[str, Any]:
    """Text that is indented deeper than the line that opens it."""
    return {
        "begin": begin,
        "end": r"^(?!\1[ ]+\S|\s*$)",
        "beginCaptures": {"2": {"name": "keyword.declaration.pointsman"}, "3": {"name": "entity.name.pointsman"}},
        "contentName": f"{name}.pointsman",
        "patterns": [{"include": "#reference"}],
    }


def grammar() -> dict[str, Any]:
    """The whole grammar."""
    named = [word for word in WORDS if word not in (*TOP_BLOCKS, "prompt", "use", "import")]
    keys = {key for shape in SHAPES.values() for key in shape.known}
    values = {word for shape in SHAPES.values() for prop in shape.known.values() for word in prop.words}
    patterns = ["prompt", "comment", "block", "declaration", "use", "import", "edge", "block_text", "property", "value"]
    return {
        "name": "Pointsman",
        "scopeName": SCOPE,
        "fileTypes": [extension.removeprefix(".") for extension in EXTENSIONS],
        "patterns": [{"include": f"#{name}"} for name in patterns],
        "repository": {
            "prompt": body("string.unquoted.prompt", rf"^( *)(prompt)\s+({NAME})\s*:[ \t]*(?:#.*)?$"),
            "comment": rule("comment.line.number-sign", r"#.*$"),
            "block": rule("", rf"^({words((*TOP_BLOCKS, 'dsl'))})(?=\s*:)", g1="keyword.declaration"),
            "declaration": rule("", header(named), g1="keyword.declaration", g2="entity.name"),
            "use": rule("", rf"^(use)\s+({NAME})\s+(as)\s+({NAME})", **_USE),
            "import": rule("", r"^(import)(?=\s)", g1="keyword.control.import"),
            "edge": {"patterns": [rule("keyword.operator.arrow", "->"), *_clauses()]},
            "property": {
                "patterns": [
                    rule("", rf"^\s*({words(keys)})(?=\s*:)", g1="support.type.property-name"),
                    rule("", rf"({NAME})(?=\s*:)", g1="variable.other.key"),
                ]
            },
            "value": {
                "patterns": [{"include": f"#{name}"} for name in ("block_text", "raw", "string", "number")]
                + [
                    rule("constant.language", r"\b(true|false)\b"),
                    rule("storage.type", rf"(?<=[:\s])({words(map(_escaped, FIELD_TYPES))})(?![\w\[])"),
                    rule("constant.language.word", rf"(?<=:)\s*({words(values)})\s*(?=$|#)"),
                    rule("constant.language.terminal", rf"(?<=->)\s*({words(TERMINALS)})\b"),
                ]
            },
            "block_text": {
                "begin": r"^( *)([^#\n]*:)\s*(\|)[ \t]*(?:#.*)?$",
                "end": r"^(?!\1[ ]+\S|\s*$)",
                "beginCaptures": {"2": {"name": "support.type.property-name.pointsman"}},
                "contentName": "string.unquoted.block.pointsman",
                "patterns": [{"include": "#reference"}],
            },
            "raw": between("string.quoted.other.raw", "`", "`", "reference"),
            "string": between("string.quoted.double", '"', '"|$', "escape", "reference", "function"),
            "escape": rule("constant.character.escape", r"\\."),
            "number": rule("constant.numeric", r"\b\d+(?:\.\d+)?\b"),
            "reference": between("meta.reference", r"\{\{", r"\}\}", "namespace"),
            "namespace": {
                "patterns": [
                    rule("", rf"\b({words((*NAMESPACES, PARAMS))})(?=\s*\.)", g1="variable.language"),
                    rule("keyword.control.include", r"\binclude\b"),
                ]
            },
            "function": rule("", rf"\b({words(FUNCTIONS)})(?=\()", g1="support.function"),
        },
    }


_USE = {"g1": "keyword.declaration", "g2": "entity.name", "g3": "keyword.other", "g4": "entity.name"}


def _escaped(word: str) -> str:
    return word.replace("[", r"\[").replace("]", r"\]")


def _clauses() -> list[dict[str, Any]]:
    return [
        rule(
            "", rf"\b(as)\s+(foreach)\s+({NAME})\s*(?=\()", g1="keyword.control", g2="keyword.control", g3="entity.name"
        ),
        rule("", rf"\b(as)\s+({NAME})\s*(?=\()", g1="keyword.control", g2="entity.name"),
        rule("keyword.control", r"\b(when|not|else|with|unbounded|in)\b(?!\s*:)"),
    ]


def language_configuration() -> dict[str, Any]:
    """What an editor wants to know beside colours."""
    pairs = [["{", "}"], ["[", "]"], ["(", ")"]]
    return {
        "comments": {"lineComment": "#"},
        "brackets": pairs,
        "autoClosingPairs": [*pairs, ['"', '"'], ["`", "`"]],
        "surroundingPairs": [*pairs, ['"', '"'], ["`", "`"]],
        "folding": {"offSide": True},
        "indentationRules": {"increaseIndentPattern": r"^.*:\s*(\|\s*)?(#.*)?$", "decreaseIndentPattern": "^(?!)"},
        "wordPattern": NAME,
    }


def package() -> dict[str, Any]:
    """The manifest that makes the folder an extension."""
    return {
        "name": "pointsman",
        "displayName": "Pointsman workflows",
        "description": "Colours for .bot files",
        "version": "0.1.0",
        "license": "MIT",
        "engines": {"vscode": "^1.75.0"},
        "categories": ["Programming Languages"],
        "contributes": {
            "languages": [
                {
                    "id": "pointsman",
                    "aliases": ["Pointsman"],
                    "extensions": list(EXTENSIONS),
                    "configuration": "./language-configuration.json",
                }
            ],
            "grammars": [{"language": "pointsman", "scopeName": SCOPE, "path": "./pointsman.tmLanguage.json"}],
        },
    }


FILES = {
    "pointsman.tmLanguage.json": grammar,
    "language-configuration.json": language_configuration,
    "package.json": package,
}


def rendered() -> dict[str, str]:
    """Name -> text of every file of the extension."""
    return {name: json.dumps(make(), indent=2, ensure_ascii=False) + "\n" for name, make in FILES.items()}
