"""Answers that a script gives instead of performing anything: plain refusals, limits in each dress, redirects."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from connectors.fake_forge.clock import http_date
from connectors.fake_forge.exchange import Answer, Request
from connectors.fake_forge.script import Rule

if TYPE_CHECKING:
    from connectors.fake_forge.desk import Desk


def answer_instead(desk: Desk, request: Request, rule: Rule) -> Answer:
    """What the rule says; a rule of another stage is a programming error."""
    given = rule.given
    headers = {str(key): str(value) for key, value in dict(given.get("headers") or {}).items()}
    if rule.fault == "status":
        code = int(given.get("code", 500))
        body = given["body"] if "body" in given else desk.dialect.refusal(code, "Scripted answer", {}).body
        if isinstance(body, str):
            return Answer(code, body.encode(), headers, "text/plain; charset=utf-8")
        return Answer(code, body, headers)
    if rule.fault.startswith("redirect"):
        return _redirect(request, rule)
    return _limited(desk, rule.fault, float(given.get("seconds", 60)))


def _redirect(request: Request, rule: Rule) -> Answer:
    code = int(rule.given.get("code", 301))
    to = {"redirect": str(rule.given.get("to", "")), "redirect_loop": request.path, "redirect_empty": ""}[rule.fault]
    body = {"message": "Moved Permanently", "url": to, "documentation_url": "https://docs.example/rest"}
    return Answer(code, body, {"Location": to} if to else {})


def _limited(desk: Desk, fault: str, seconds: float) -> Answer:
    now = desk.clock.now()
    if fault == "throttle_plain":
        return Answer(429, b"Too many requests\n", {}, "text/plain")
    if fault == "throttle_date_form":
        return Answer(429, b"Retry later\n", {"Retry-After": http_date(now + timedelta(seconds=seconds))}, "text/plain")
    if fault == "graphql_throttle":
        told = {"type": "RATE_LIMITED", "message": "API rate limit exceeded for user ID 1."}
        return Answer(200, {"errors": [told]})
    return desk.dialect.throttled(fault, seconds, now)
