"""Findings of the validation in our words: which key of the document, what was found, what to do.

Used by ``load`` only. Also knows how keys are written (``boards[0].vars``) and which of them hold secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from config.durations import HOW
from config.problems import Problem, did_you_mean
from config.reading import Key
from config.settings import Settings

SECRET_KEYS = frozenset({"token", "webhook_secret"})
"""Keys of boards, connections and the server whose value is a secret; so is ``app.key``."""


def is_secret(path: Key) -> bool:
    """Whether the value at ``path`` is a secret: ``server.token``, a board's or connection's token, an app's key."""
    if path[0] not in ("server", "boards", "connections") or len(path) < 2:
        return False
    return path[-1] in SECRET_KEYS or path[-2:] == ("app", "key")


def dotted(path: Key) -> str:
    """``("boards", 0, "vars")`` as ``boards[0].vars``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def undotted(key: str) -> Key:
    """The reverse of ``dotted``."""
    return tuple(int(number) if number else name for number, name in re.findall(r"\[(\d+)\]|([^.\[\]]+)", key))


def explained(detail: dict[str, Any], data: dict[str, Any]) -> Problem:
    """One finding of the validation in our words."""
    path = _document_path(tuple(detail["loc"]), data)
    key, kind = dotted(path), detail["type"]
    if kind == "extra_forbidden":
        known = _fields_at(path[:-1])
        return Problem(f'"{path[-1]}" is not a known key', key, did_you_mean(str(path[-1]), known))
    if kind == "missing":
        return Problem("is missing", key, f"Add {path[-1]}.")
    given = _value_at(data, path)
    text = str(detail["msg"]).removeprefix("Value error, ").replace("Input should", "it should")
    text = text.replace("be a valid tuple", "be a list")
    if kind == "too_short":
        text = f"it should have at least {detail['ctx']['min_length']}, and has {detail['ctx']['actual_length']}"
    if isinstance(given, str | int | float | bool) and not is_secret(path) and str(given) not in text:
        text = f'"{given}" does not fit: {text}'
    return Problem(text, key, _hint(kind, text))


def _hint(kind: str, text: str) -> str:
    if "duration" in text or "no unit" in text:
        return HOW
    hints = {
        "int_parsing": "Give a whole number.",
        "int_type": "Give a whole number.",
        "bool_parsing": "Give true or false.",
        "tuple_type": "Write each value in a line of its own behind a dash, or all in brackets.",
        "literal_error": "Give one of the values named there.",
        "model_type": "Give keys and values below it.",
        "dict_type": "Give keys and values below it.",
    }
    return hints.get(kind, "`pointsman config schema` describes every key.")


def _document_path(loc: Key, data: Any) -> Key:
    """``loc`` without the parts that name an alternative of a union instead of a key of the document."""
    path: Key = ()
    value = data
    for position, part in enumerate(loc):
        last = position == len(loc) - 1
        if isinstance(value, dict) and (part in value or last):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            continue
        path = (*path, part)
    return path


def _value_at(data: Any, path: Key) -> Any:
    for part in path:
        if isinstance(data, dict):
            data = data.get(str(part))
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return None
    return data


def _fields_at(path: Key) -> frozenset[str]:
    """The keys known below ``path``."""
    annotation: Any = Settings
    for part in path:
        models = list(_models(annotation))
        if models and isinstance(part, str) and part in models[0].model_fields:
            annotation = models[0].model_fields[part].annotation
    return frozenset(name for model in _models(annotation) for name in model.model_fields)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
