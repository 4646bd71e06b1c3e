"""A webhook delivery as it came in: is it signed, by which id, about which repository, by whom (connectors.md 15).

Pure. Called by ``dispatcher/web/deliveries.py`` with the raw bytes, before anything of them is believed. A delivery
hurries a tick and decides nothing, so of its payload only what picks the board and recognises ourselves is read.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from types import MappingProxyType

from connectors.effects.markers import markers_in

TOLERANCE = 300.0
"""Seconds by which a signed time may be off."""
IDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "github": ("x-github-delivery",),
        "gitlab": ("idempotency-key", "x-gitlab-event-uuid", "webhook-id"),
        "forgejo": ("x-forgejo-delivery", "x-gitea-delivery"),
    }
)
"""Where each forge writes the id of a delivery; the first that is there counts."""
EVENTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "github": ("x-github-event",),
        "gitlab": ("x-gitlab-event",),
        "forgejo": ("x-forgejo-event", "x-gitea-event"),
    }
)
"""Where each forge writes the event's name."""
SIGNED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "github": ("x-hub-signature-256",),
        "forgejo": ("x-forgejo-signature", "x-gitea-signature", "x-hub-signature-256"),
    }
)
"""Where the hex digest stands; only the first that is there is asked."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is read of a delivery. ``id`` is made of the body's digest when the forge named none."""

    id: str
    event: str
    repo: str
    effects: tuple[str, ...] = ()
    """The effects whose markers its texts carry."""
    sender: str = ""
    """The login of whoever did it, empty where the delivery does not tell."""
    card: str = ""
    """The number of the issue that it is about, empty for anything else."""


def understood(kind: str, headers: Mapping[str, str], body: bytes) -> Delivery | None:
    """The delivery, None when it names no repository. ``headers`` are by lower-case name."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    repo = _repo(kind, document)
    if not repo:
        return None
    made_up = sha256(body).hexdigest()
    told = _first(headers, IDS[kind]) or made_up, _first(headers, EVENTS[kind])
    return Delivery(*told, repo, _effects(document), _sender(kind, document), _card(kind, document))


def signed(kind: str, headers: Mapping[str, str], body: bytes, secret: str, now: datetime) -> bool:
    """Whether the sender knows the secret: every proof that is there must hold, compared in constant time."""
    if kind == "gitlab":
        proofs = [name for name in ("webhook-signature", "x-gitlab-token") if name in headers]
        holds = {
            "webhook-signature": lambda: _signed_message(headers, body, secret, now),
            "x-gitlab-token": lambda: hmac.compare_digest(headers["x-gitlab-token"].encode(), secret.encode()),
        }
        return bool(proofs) and all(holds[name]() for name in proofs)
    given = next((headers[name] for name in SIGNED[kind] if name in headers), "")
    wanted = hmac.new(secret.encode(), body, sha256).hexdigest()
    return hmac.compare_digest(given.removeprefix("sha256=").lower().encode(), wanted.encode())


def _signed_message(headers: Mapping[str, str], body: bytes, secret: str, now: datetime) -> bool:
    """GitLab's signing secret: id, time and body together; one of several signatures is enough."""
    at = headers.get("webhook-timestamp", "")
    if not at.isascii() or not at.isdigit() or abs(now.timestamp() - int(at)) > TOLERANCE:
        return False
    message = f"{headers.get('webhook-id', '')}.{at}.".encode() + body
    given = [each.removeprefix("v1,") for each in headers["webhook-signature"].split() if each.startswith("v1,")]
    keys = [secret.encode(), *_decoded(secret)]
    wanted = [base64.b64encode(hmac.new(key, message, sha256).digest()) for key in keys]
    return any(hmac.compare_digest(each.encode(), one) for each in given for one in wanted)


def _decoded(secret: str) -> list[bytes]:
    """The key behind a secret in the standard form ``whsec_<base64>``."""
    if not secret.startswith("whsec_"):
        return []
    try:
        return [base64.b64decode(secret.removeprefix("whsec_"), validate=True)]
    except binascii.Error:
        return []


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((headers[name] for name in names if headers.get(name)), "")


def _repo(kind: str, document: object) -> str:
    held, name = ("project", "path_with_namespace") if kind == "gitlab" else ("repository", "full_name")
    found = document.get(held) if isinstance(document, dict) else None
    path = found.get(name) if isinstance(found, dict) else None
    return path if isinstance(path, str) else ""


def _sender(kind: str, document: Mapping[str, object]) -> str:
    held, name = ("user", "username") if kind == "gitlab" else ("sender", "login")
    found = document.get(held)
    login = found.get(name) if isinstance(found, dict) else None
    return login if isinstance(login, str) else ""


def _card(kind: str, document: Mapping[str, object]) -> str:
    name = "iid" if kind == "gitlab" else "number"
    found = document.get("issue")
    if kind == "gitlab" and document.get("object_kind") in ("issue", "work_item"):
        found = document.get("object_attributes")
    number = found.get(name) if isinstance(found, dict) and not found.get("pull_request") else None
    return str(number) if isinstance(number, int) else ""


def _effects(document: Mapping[str, object]) -> tuple[str, ...]:
    """The effects named by the markers of the comment, issue or pull that the event is about."""
    texts = []
    for held in ("comment", "review", "object_attributes", "issue", "pull_request"):
        found = document.get(held)
        if isinstance(found, dict):
            texts += [found.get(name) for name in ("body", "note", "description")]
            if any(isinstance(text, str) for text in texts):
                break
    return tuple(each.effect for text in texts if isinstance(text, str) for each in markers_in(text) if each.effect)
