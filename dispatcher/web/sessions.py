"""Browsers that gave the token once: a cookie which proves it until it ends, and can be made by nobody else.

Pure. A page cannot send ``Authorization`` with a navigation, so ``POST /api/session`` trades the token for a cookie
that scripts cannot read and other sites cannot cause to be sent (HttpOnly, SameSite=Strict). It holds no token, is
worthless with another token, and needs no memory, so that a new start of the daemon signs nobody out.
"""

from __future__ import annotations

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie

NAME = "pointsman_session"
LASTS = 12 * 3600
"""Seconds for which a cookie holds."""


def issue(token: str, now: float) -> str:
    """The value of a cookie that is good from ``now`` (Unix time) on."""
    until = int(now) + LASTS
    return f"{until}.{_signed(token, until)}"


def holds(token: str, value: str, now: float) -> bool:
    """Whether a cookie of that value was issued for this token and has not ended."""
    until, _, signature = value.partition(".")
    if not (until.isascii() and until.isdigit() and len(until) < 16) or now >= int(until):
        return False
    return hmac.compare_digest(signature.encode("latin-1", "replace"), _signed(token, int(until)).encode())


def header(value: str, *, secure: bool = False) -> str:
    """The text of ``Set-Cookie``; an empty value ends the session, ``secure`` keeps it to encrypted connections."""
    only = "; Secure" if secure else ""
    return f"{NAME}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={LASTS if value else 0}{only}"


def value_in(headers: list[str]) -> str:
    """The cookie's value in the ``Cookie`` headers of a request, empty when there is none."""
    for text in headers:
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(text)
        except CookieError:
            continue
        if NAME in cookies:
            return cookies[NAME].value
    return ""


def _signed(token: str, until: int) -> str:
    return hmac.new(token.encode(), f"pointsman session until {until}".encode(), hashlib.sha256).hexdigest()
