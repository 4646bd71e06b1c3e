"""What does not fit its model, in our words: which key, what was found, what to do. Pure over the framework's findings.

The names that a request may carry are read from the contract, so that a wrong one is told the nearest right one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response

from config.problems import did_you_mean
from dispatcher.refusals import Refused
from dispatcher.web.answers import told
from dispatcher.web.models import BAD_TEXT

CONTRACT = "See /api/openapi.json."
_TEXTS: Mapping[str, tuple[str, str]] = {
    "json_invalid": ("The body is not JSON", "Send one JSON object."),
    "model_attributes_type": ("{where} is not a JSON object", "Send one JSON object."),
    "model_type": ("{where} is not a JSON object", "Send one JSON object."),
    "missing": ("{where} is missing", "Send it; see /api/openapi.json."),
}
"""kind of finding -> what was found, what to do."""


async def on_invalid(request: Request, error: Exception) -> Response:
    """A request that does not fit its model: the first thing that is wrong, and how many more there are."""
    assert isinstance(error, RequestValidationError)
    findings = error.errors()
    names = _known(request, findings[0]["loc"])
    return told(request.scope, refusal_of(findings[0], len(findings) - 1, names))


def refusal_of(finding: Mapping[str, Any], more: int = 0, known: tuple[str, ...] = ()) -> Refused:
    """One finding as a refusal; ``known`` are the names that would have fitted."""
    place, kind = finding["loc"], str(finding["type"])
    where = ".".join(str(part) for part in place[1:])
    called = f'"{where}"' if where else f"The {place[0]}"
    also = f" ({more} more)" if more else ""
    if kind == "extra_forbidden":
        return Refused(
            "bad_input", f"{called} is not known here{also}.", did_you_mean(str(place[-1]), known) or CONTRACT
        )
    if kind == "json_invalid":
        detail = finding.get("ctx", {}).get("error", "")
        return Refused("bad_input", f"The body is not JSON: {detail} at character {place[-1]}.", _TEXTS[kind][1])
    if kind in _TEXTS:
        text, hint = _TEXTS[kind]
        return Refused("bad_input", f"{text.format(where=called)}{also}.", hint)
    text = str(finding["msg"]).removeprefix("Value error, ").replace("Input should", "it should")
    text = text.replace("String should", "it should").replace("List should", "it should")
    if kind == BAD_TEXT:
        return Refused("invalid_text", f"{called}: {text}{also}.", "Send it as valid Unicode (UTF-8).")
    return Refused("bad_input", f"{called}: {text}{also}.", CONTRACT)


def _known(request: Request, place: tuple[Any, ...]) -> tuple[str, ...]:
    """The names of a query, or of a body's first level, by the contract."""
    route = request.scope.get("route")
    operations = request.app.openapi()["paths"].get(getattr(route, "path", ""), {})
    operation = operations.get(request.method.lower(), {})
    if place[0] == "query":
        return tuple(each["name"] for each in operation.get("parameters", ()) if each["in"] == "query")
    if place[0] != "body" or len(place) != 2:
        return ()
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    named = [schema, *schema.get("anyOf", ())]
    models = request.app.openapi()["components"]["schemas"]
    names = [each["$ref"].rpartition("/")[2] for each in named if "$ref" in each]
    return tuple(key for name in names for key in models[name].get("properties", ()))
