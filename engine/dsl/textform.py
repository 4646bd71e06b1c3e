"""The text form of values, their truth, and the JSON reader (language.md 8.2, 9.2).

Every place that turns a value into text uses ``text_form``: expressions, templates, shell words. Values are None, bool,
int, float, str, list and dict with text keys; NaN and infinity are no values and never pass ``read_json``. Null has no
text of its own in a template, so renderers ask for it before they come here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from json.encoder import encode_basestring
from math import isfinite
from typing import Any

MAX_JSON_DEPTH = 256
MAX_VALUE_SIZE = 16 * 1024 * 1024
NODE_SIZE = 8
FALSE_WORDS = frozenset({"", "false", "no", "0"})
_SURROGATE = re.compile("[\ud800-\udfff]")


class TooLarge(ValueError):
    """The value is nested too deeply, or its text would be too long."""


class NotJson(ValueError):
    """The text is no JSON that this program takes."""


def text_form(value: Any) -> str:
    """The text of a value: a string as it is, everything else compact JSON with sorted keys and shortest numbers."""
    return value if type(value) is str else json_text(value)


def json_text(value: Any) -> str:
    """Compact JSON of a value, keys sorted, a float without fraction without ``.0``, letters unescaped.

    Keeps its own stack, so that no depth of nesting exhausts the interpreter's.
    """
    kind = type(value)
    if kind is not list and kind is not dict:
        return _scalar_text(value)
    out: list[str] = []
    todo: list[tuple[str, Any]] = [("", value)]
    while todo:
        mark, item = todo.pop()
        out.append(mark)
        if mark in _CLOSERS:
            continue
        if type(item) is dict:
            out.append("{")
            todo.append(("}", None))
            keys = sorted(item)
            todo.extend((_key_mark(key, place), item[key]) for place, key in reversed([*enumerate(keys)]))
        elif type(item) is list:
            out.append("[")
            todo.append(("]", None))
            todo.extend(("," if place else "", item[place]) for place in range(len(item) - 1, -1, -1))
        else:
            out.append(_scalar_text(item))
    return "".join(out)


_CLOSERS = frozenset({"}", "]"})


def _key_mark(key: str, place: int) -> str:
    return ("," if place else "") + encode_basestring(key) + ":"


def _scalar_text(value: Any) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, int):
        return int.__repr__(value)
    raise TypeError(f"{type(value).__name__} is no value of the language")


def float_text(number: float) -> str:
    """The shortest decimal text that reads back as ``number``; plain digits from 1e-6 up to 1e21, else an exponent."""
    size = abs(number)
    if number == 0:
        return "0"
    if number.is_integer() and size < 1e21:
        return str(int(number)) if size < 1e16 else _plain(repr(number))
    text = repr(number)
    if "e" not in text:
        return text
    if 1e-6 <= size < 1e21:
        return _plain(text)
    digits, exponent = text.split("e")
    return f"{digits.removesuffix('.0')}e{int(exponent):+d}"


def _plain(text: str) -> str:
    """Shortest digits written out without an exponent."""
    sign = "-" if text.startswith("-") else ""
    digits, _, exponent = text.removeprefix("-").partition("e")
    whole, _, fraction = digits.partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits}{'0' * (point - len(digits))}"


def truthy(value: Any) -> bool:
    """The truth of a value: false are null, ``false``, 0, empty list and map, and four words (language.md 8.2)."""
    if type(value) is str:
        return value.strip().lower() not in FALSE_WORDS
    return bool(value)


def type_name(value: Any) -> str:
    """What the language calls the type of a value."""
    return _TYPE_NAMES.get(type(value), type(value).__name__)


_TYPE_NAMES = {
    type(None): "null", bool: "bool", int: "int", float: "float", str: "string", list: "list", dict: "map",
}  # fmt: skip


def measure(value: Any) -> None:
    """Raise ``TooLarge`` when a value nests deeper than 256 levels or would take more than about 16 MiB.

    Expressions share parts of lists, so a small value in memory may be a boundless one as text. Eight bytes stand for
    each number, list and map.
    """
    size = 0
    todo: list[tuple[Any, int]] = [(value, 1)]
    while todo:
        item, depth = todo.pop()
        size += NODE_SIZE + (len(item) if type(item) is str else 0)
        if size > MAX_VALUE_SIZE:
            raise TooLarge("the value is larger than 16 MiB")
        if type(item) is list or type(item) is dict:
            if depth > MAX_JSON_DEPTH:
                raise TooLarge(f"the value is nested deeper than {MAX_JSON_DEPTH} levels")
            if size + NODE_SIZE * len(item) > MAX_VALUE_SIZE:
                raise TooLarge("the value is larger than 16 MiB")
            todo.extend((part, depth + 1) for part in _parts(item))


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text, ints and floats apart.

    Raises ``NotJson`` for anything else: NaN and Infinity, numbers too large for a float, more than 256 levels of
    nesting, bytes that are no UTF-8. Half a surrogate pair, which no UTF-8 file can hold, becomes U+FFFD.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise NotJson(f"nested deeper than {MAX_JSON_DEPTH} levels") from None
    except UnicodeDecodeError:
        raise NotJson("not UTF-8") from None
    except json.JSONDecodeError as problem:
        raise NotJson(f"{problem.msg} at line {problem.lineno}, column {problem.colno}") from None
    except ValueError as problem:
        raise NotJson(str(problem).split(";")[0]) from None
    if text.count("[") + text.count("{") > MAX_JSON_DEPTH and _depth_over(value, MAX_JSON_DEPTH):
        raise NotJson(f"nested deeper than {MAX_JSON_DEPTH} levels")
    return _mend(value) if "\\ud" in text or "\\uD" in text or not is_unicode(text) else value


def is_unicode(text: str) -> bool:
    """Whether the text can be written as UTF-8: it holds no half of a surrogate pair."""
    return text.isascii() or _SURROGATE.search(text) is None


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"the number {text[:20]} is too large")
    return number


def _depth_over(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [part for item in level for part in _parts(item)]
    return any(isinstance(part, list | dict) for part in level)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _mend(value: Any) -> Any:
    if isinstance(value, str):
        return value if is_unicode(value) else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mend(item) for item in value]
    if isinstance(value, dict):
        return {_mend(key): _mend(item) for key, item in value.items()}
    return value
