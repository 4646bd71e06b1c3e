"""The control interface of a fake forge, ``/_fake/``: what arrived, the script, the clock, a person's acts, the state.

For tests and rehearsals; no credential is asked for, since the fake listens on loopback and holds nothing real.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from connectors.fake_forge.acts import ActError
from connectors.fake_forge.clock import stamp
from connectors.fake_forge.desk import Desk
from connectors.fake_forge.exchange import Answer, Request
from connectors.fake_forge.script import ScriptError, nearest, read_script


class BadControl(Exception):
    """The control request cannot be used: what was found."""


def control(desk: Desk, request: Request) -> Answer:
    """Answer one control request; what cannot be used is a 400 with ``error``."""
    key = f"{request.method} {request.path.removeprefix('/_fake/')}"
    found = CONTROLS.get(key)
    if found is None:
        return Answer(404, {"error": f"There is no {key}.{nearest(key, CONTROLS)}"})
    try:
        return Answer(200, found(desk, _document(request)))
    except (BadControl, ScriptError, ActError) as error:
        return Answer(400, {"error": str(error)})


def _document(request: Request) -> Any:
    if not request.body:
        return {}
    try:
        return json.loads(request.body)
    except ValueError:
        raise BadControl("The body is no JSON.") from None


def _requests(desk: Desk, _: Any) -> Any:
    return {"requests": desk.requests()}


def _script(desk: Desk, document: Any) -> Any:
    script = read_script(document)
    desk.use(script)
    return {"rules": len(script.rules)}


def _clock(desk: Desk, document: Any) -> Any:
    """``{advance: seconds}``, ``{set: instant}``, ``{skew: seconds}``, ``{frozen: bool}``; answers the time."""
    move_clock(desk, document)
    return {"now": stamp(desk.clock.now())}


def move_clock(desk: Desk, document: Mapping[str, Any]) -> None:
    """Move the forge's clock. Raises ``BadControl``."""
    try:
        with desk.lock:
            if "frozen" in document:
                (desk.clock.freeze if document["frozen"] else desk.clock.run)()
            if "advance" in document:
                desk.clock.advance(float(document["advance"]))
            if "skew" in document:
                desk.clock.skew(float(document["skew"]))
            if "set" in document:
                instant = datetime.fromisoformat(str(document["set"]))
                if instant.tzinfo is None:
                    raise BadControl('"set" needs an instant with a zone.')
                desk.clock.set(instant)
            desk.deliveries.release()
    except (TypeError, ValueError) as error:
        raise BadControl(f"The clock does not understand this: {error}.") from None


def _act(desk: Desk, document: Any) -> Any:
    given = dict(document) if isinstance(document, dict) else {}
    return desk.act(str(given.pop("do", "")), given)


def _state(desk: Desk, _: Any) -> Any:
    return desk.state()


def _reset(desk: Desk, _: Any) -> Any:
    desk.reset()
    return {}


CONTROLS: Mapping[str, Callable[[Desk, Any], Any]] = MappingProxyType(
    {
        "GET requests": _requests,
        "POST script": _script,
        "POST clock": _clock,
        "POST act": _act,
        "GET state": _state,
        "POST reset": _reset,
    }
)
"""``METHOD name`` -> what it does."""
