"""Values that appear in memory and in one request header, and nowhere else: ``Secret`` hides, ``Redactor`` replaces.

Redaction goes by the known values, not by shapes (connectors.md 17): raw, URL-encoded, JSON-escaped, base64 (of the
value alone and behind any user name), each also when line ends split it. Called at every exit: log, event, row,
comment, HTTP answer, process output. Pure apart from the set of values that the redactor was told.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from urllib.parse import unquote, unquote_plus

HIDDEN = "***"
LEAST_CHARACTERS = 8
_BREAK = r"(?:[ \t]*(?:\r\n|[\n\r\v\f\x85\u2028\u2029]|\\r\\n|\\n|\\r)[ \t]*)"
_BREAKS = re.compile(_BREAK)
_LINE_ENDS = re.compile(r"[ \t]*(?:\r\n|[\n\r\v\f\x85\u2028\u2029])[ \t]*")
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-")
_ESCAPED = re.compile(r"((?:\\u[0-9a-fA-F]{4})+)|\\(.)", re.DOTALL)
_JSON_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_ESCAPABLE = {'"': '"', "\\": "\\", "/": "/", "'": "'", "\t": "t", "\b": "b", "\f": "f"}


class SecretTooShort(ValueError):
    """A secret has fewer than eight characters: replacing it would damage ordinary text."""


class Secret:
    """A value whose text form is ``***``; equal to another in constant time."""

    __slots__ = ("__dict__", "_value")

    def __init__(self, value: str) -> None:
        """Raises ``SecretTooShort`` below eight characters."""
        if len(value) < LEAST_CHARACTERS:
            raise SecretTooShort(f"a secret has at least {LEAST_CHARACTERS} characters; this one has {len(value)}")
        self._value = value

    def reveal(self) -> str:
        """The value, for the request header that carries it and for signatures."""
        return self._value

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the value, hex; names a credential without telling it."""
        return hashlib.sha256(b"pointsman credential\0" + self._value.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def tail(self) -> str:
        """The last four characters of the digest, for people who compare two configurations."""
        return self.digest[-4:]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self.digest, other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __str__(self) -> str:
        return HIDDEN

    def __repr__(self) -> str:
        return f"Secret({HIDDEN})"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not stored")


class Redactor:
    """Knows the secrets of this process and takes them out of texts. Safe to share between threads."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        self._lock = threading.Lock()
        self._forms: dict[str, tuple[Form, ...]] = {}
        self.add(*secrets)

    def __bool__(self) -> bool:
        """Whether any secret is known."""
        return bool(self._forms)

    def add(self, *secrets: Secret) -> None:
        """Take these out from now on; a value once known stays known, also after it was rotated."""
        with self._lock:
            for secret in secrets:
                self._forms.setdefault(secret.digest, tuple(_forms(secret.reveal())))

    def clean(self, text: str) -> str:
        """The text with every form of every secret replaced by ``***``."""
        return self.clean_counted(text)[0]

    def clean_counted(self, text: str) -> tuple[str, int]:
        """The cleaned text, and how many places were replaced."""
        with self._lock:
            forms = [form for known in self._forms.values() for form in known]
        seen, hits = _views(text) if forms else (), 0
        for form in forms:
            if any(form.text in view for view in seen):
                text, found = form.replaced(text)
                hits += found
        return text, hits

    def scrub(self, value: object) -> object:
        """A JSON value with every string in it cleaned, keys too."""
        return _scrubbed(value, self.clean)


class Exit:
    """A redactor at one of the ways out of the process: cleans as it does, and tells how many places it replaced."""

    def __init__(self, redactor: Redactor, told: Callable[[int], None]) -> None:
        self._redactor, self._told = redactor, told

    def clean(self, text: str) -> str:
        """As ``Redactor.clean``."""
        cleaned, hits = self._redactor.clean_counted(text)
        if hits:
            self._told(hits)
        return cleaned

    def scrub(self, value: object) -> object:
        """As ``Redactor.scrub``."""
        return _scrubbed(value, self.clean)


def _scrubbed(value: object, clean: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _scrubbed(each, clean) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_scrubbed(each, clean) for each in value]
    return value


class Form:
    """One spelling of a secret: what to look for in a text without line ends, and how to replace it in the text."""

    def __init__(self, text: str, *, in_base64: bool = False) -> None:
        self.text = text
        self._in_base64 = in_base64

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """A line end may stand between any two characters, and each may be escaped as URLs or JSON do."""
        each = re.escape if self._in_base64 else _any_spelling
        return re.compile(f"{_BREAK}?".join(each(character) for character in self.text))

    def replaced(self, text: str) -> tuple[str, int]:
        """The text without it, and how often it was there; of base64 the whole run goes."""
        parts, end, found = [], 0, 0
        for match in self.pattern.finditer(text):
            if match.start() < end:
                continue
            first, last = match.span()
            while self._in_base64 and first > end and text[first - 1] in _BASE64:
                first -= 1
            while self._in_base64 and last < len(text) and text[last] in _BASE64:
                last += 1
            parts += [text[end:first], HIDDEN]
            end, found = last, found + 1
        return "".join([*parts, text[end:]]), found


def _views(text: str) -> tuple[str, ...]:
    """The text as a search sees it: without line ends, then with the escapes of URLs and of JSON undone."""
    # A backslash and an ``n`` may be an escaped line end or a part of the value: both readings are looked at.
    views = list(dict.fromkeys((_LINE_ENDS.sub("", text), _BREAKS.sub("", text))))
    views += [_ESCAPED.sub(_unescaped, view) for view in views if "\\" in view]
    plain = tuple(views)
    views += [unquote_plus(view) for view in plain if "%" in view or "+" in view]
    views += [unquote(view) for view in plain if "%" in view]
    return tuple(views)


def _unescaped(found: re.Match[str]) -> str:
    code = found.group(1)
    if code is None:
        return _JSON_ESCAPES.get(found.group(2), found.group(2))
    units = [int(unit, 16) for unit in code.lower().split("\\u") if unit]
    return b"".join(unit.to_bytes(2, "big") for unit in units).decode("utf-16-be", "replace")


def _any_spelling(character: str) -> str:
    """A pattern of one character: itself, percent-encoded, or escaped as in JSON."""
    encoded = character.encode("utf-8", "replace")
    percent = "".join(f"%{_either_case(f'{byte:02x}')}" for byte in encoded)
    units = character.encode("utf-16-be", "surrogatepass").hex()
    escaped = "".join(rf"\\u{_either_case(units[at : at + 4])}" for at in range(0, len(units), 4))
    spellings = [re.escape(character), percent, escaped]
    if character in _ESCAPABLE:
        spellings.append(re.escape("\\" + _ESCAPABLE[character]))
    if character == " ":
        spellings.append(re.escape("+"))
    return f"(?:{'|'.join(sorted(spellings, key=len, reverse=True))})"


def _either_case(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)


def _forms(value: str) -> Iterator[Form]:
    yield Form(_LINE_ENDS.sub("", value))
    yield from (Form(core, in_base64=True) for core in sorted(set(_base64_cores(value))))


def _base64_cores(value: str) -> Iterator[str]:
    """What base64 makes of the value behind 0, 1 or 2 bytes of anything (modulo 3 that is all there is): the
    characters that depend on the value alone."""
    data = value.encode("utf-8", "replace")
    for before in range(3):
        first, last = -(-before * 8 // 6), (before + len(data)) * 8 // 6
        padded = b"\0" * before + data
        yield base64.b64encode(padded).decode()[first:last]
        yield base64.urlsafe_b64encode(padded).decode()[first:last]
