"""The desk of a fake forge: takes a request, performs it on the world or lets a fault have its way, records it.

Everything that changes goes through here under one lock: requests, the control interface, a person's acts. The sockets
above decide nothing but how bytes leave.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from connectors.fake_forge.acts import ActError, perform
from connectors.fake_forge.clock import ForgeClock, http_date, stamp
from connectors.fake_forge.dialect import Dialect
from connectors.fake_forge.exchange import Answer, Call, PageFault, Refusal, Request, Route
from connectors.fake_forge.git import Git
from connectors.fake_forge.hooks import Deliveries
from connectors.fake_forge.instead import answer_instead
from connectors.fake_forge.pictures import Pictures
from connectors.fake_forge.records import Issue, Limit, Token, World
from connectors.fake_forge.script import FAULTS, REQUEST_STAGES, Facts, Rule, Script, Stage
from connectors.fake_forge.seed import seeded

SECRET_HEADERS = {"authorization", "private-token", "job-token", "cookie", "proxy-authorization"}
SECRET_KEYS = {"secret", "token", "signing_token"}
"""Keys of a body whose values are not recorded."""
QUIRKS = frozenset(name for name, fault in FAULTS.items() if fault.stage is Stage.QUIRK)
SPOILT = (Stage.INSTEAD, Stage.PAGE)
"""Stages whose answers are not the forge's own."""
EXCLUDES = {"unknown_label_created": "unknown_label_dropped", "unknown_label_dropped": "unknown_label_created"}
LAGGING = {
    "lists": ("issue.list", "label.list", "pull.list", "project.list", "graphql"),
    "comments": ("comment.list",),
    "labels": ("issue.labels", "issue.list", "issue.get"),
    "search": ("search",),
    "issue": ("issue.get",),
}
"""``with: {what}`` of the lag fault -> operations that show the past."""


@dataclass(slots=True)
class Recorded:
    """One request as it arrived. ``performed`` tells whether a handler ran to its end and did not refuse."""

    method: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: Any
    time: str
    operation: str = ""
    fault: str = ""
    status: int = 0
    performed: bool = False


@dataclass(frozen=True, slots=True)
class Visit:
    """A request that was matched: its route, parameters, the rule that fires on it, and its record."""

    request: Request
    route: Route | None
    params: Mapping[str, str]
    rule: Rule | None
    record: Recorded

    @property
    def stage(self) -> Stage | None:
        """The stage of the rule."""
        return FAULTS[self.rule.fault].stage if self.rule else None


class StateError(Exception):
    """The state file cannot be used."""


Observer = Callable[[Request, Answer], None]


@dataclass
class Desk:
    """One fake forge without its sockets."""

    dialect: Dialect
    clock: ForgeClock
    state_file: Path | None = None
    address: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock)
    script: Script = field(default_factory=Script)
    recorded: list[Recorded] = field(default_factory=list)
    observer: Observer | None = None
    """Sees each exchange that no fault has spoilt."""

    def __post_init__(self) -> None:
        self.git = Git(self.clock)
        self.deliveries = Deliveries(self)
        self.pictures = Pictures()
        self.world = self._load() or seeded(self.dialect.kind, self.clock.now(), self.git)
        self._routes = [(route, _pattern(route.pattern)) for route in self.dialect.routes]
        self._later: list[Issue] = []

    def _load(self) -> World | None:
        if self.state_file is None or not self.state_file.exists():
            return None
        try:
            world = World.model_validate_json(self.state_file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise StateError(
                f"{self.state_file} holds no state of a fake forge: {str(error).splitlines()[0]}"
            ) from error
        if world.forge is not self.dialect.kind:
            raise StateError(f"{self.state_file} holds the state of a {world.forge}, not of a {self.dialect.kind}")
        return world

    def save(self) -> None:
        """Write the world to the state file, whole or not at all."""
        if self.state_file is not None:
            beside = self.state_file.with_suffix(".new")
            beside.write_text(self.world.model_dump_json(), encoding="utf-8")
            beside.replace(self.state_file)

    def use(self, script: Script) -> None:
        """Another script, its counters at zero."""
        with self.lock:
            self.script = script
            if script.has(Stage.LAG):
                self.pictures.begin(self.world, self.clock.now())
            else:
                self.pictures.stop()

    def reset(self) -> None:
        """The world of the beginning, no script, no records; the clock stays."""
        with self.lock:
            self.use(Script())
            self.recorded.clear()
            self.world = seeded(self.dialect.kind, self.clock.now(), self.git)
            self.save()

    def act(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a person does. Raises ``ActError``."""
        with self.lock:
            told = perform(self, name, given)
            self.changed()
            return told

    def changed(self) -> None:
        """The world is another one now: keep it, and let go what waited for the time."""
        self.pictures.take(self.world, self.clock.now())
        self.deliveries.release()
        self.save()

    def later(self, issue: object) -> None:
        """Close a card once the present answer is made (fault ``shift_while_reading``); other items stay."""
        if isinstance(issue, Issue):
            self._later.append(issue)

    def visit(self, request: Request) -> Visit:
        """Match and record a request whose head was read; its body may still be on the way."""
        with self.lock:
            path = self.dialect.path_of(request)
            route, params = self._route(request.method, path)
            operation = route.operation if route else ""
            facts = Facts(request.method, unquote(request.path), operation)
            rule = self.script.pick(REQUEST_STAGES, facts)
            record = Recorded(
                request.method,
                request.path,
                list(request.query),
                {name: "***" if name in SECRET_HEADERS else value for name, value in request.headers.items()},
                None,
                stamp(self.clock.now()),
                operation,
                rule.fault if rule else "",
            )
            self.recorded.append(record)
            return Visit(request, route, params, rule, record)

    def _route(self, method: str, path: str) -> tuple[Route | None, Mapping[str, str]]:
        for route, pattern in self._routes:
            if route.method == method and (match := pattern.fullmatch(path)):
                return route, {key: unquote(value) for key, value in match.groupdict().items()}
        return None, {}

    def answer(self, visit: Visit) -> Answer:
        """Perform the request, or what the script says; the record is completed."""
        with self.lock:
            visit.record.body = _readable(visit.request.body)
            answer, performed = self._answer(visit)
            visit.record.status, visit.record.performed = answer.status, performed
            for issue in self._later:
                perform(self, "close", {"number": issue.number})
            self._later.clear()
            if visit.request.method != "GET" or visit.stage is Stage.ACT:
                self.changed()
            if self.observer is not None and visit.stage not in SPOILT:
                self.observer(visit.request, answer)
            return answer.with_headers({"Date": http_date(self.clock.now())})

    def _answer(self, visit: Visit) -> tuple[Answer, bool]:
        rule, stage = visit.rule, visit.stage
        token = self._token(visit.request)
        if rule is not None and stage is Stage.INSTEAD:
            return answer_instead(self, visit.request, rule), False
        afterwards = rule is not None and rule.given.get("when") == "after"
        try:
            if rule is not None and stage is Stage.ACT and not afterwards:
                self._act(visit, rule, token)
                token = self._token(visit.request)
            answer = self._perform(visit, token)
            performed = answer.status < 400
        except Refusal as refusal:
            answer, performed = self.dialect.refusal(refusal.status, refusal.message, refusal.more), False
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            told = f"The request has another shape than this address takes: {error!r}"
            answer, performed = self.dialect.refusal(422, told, {}), False
        if rule is not None and stage is Stage.ACT and afterwards:
            self._act(visit, rule, token)
        return self._validated(visit, answer, token), performed

    def _act(self, visit: Visit, rule: Rule, token: Token | None) -> None:
        """A scripted act. Raises ``Refusal`` 500 when it fits nothing."""
        try:
            self._act_now(visit, rule, token)
        except (ActError, ValueError, TypeError) as error:
            raise Refusal(500, f"The script's act cannot be done: {error}") from None

    def _act_now(self, visit: Visit, rule: Rule, token: Token | None) -> None:
        """Its values default to what the request is about."""
        given = dict(rule.given)
        given.pop("when", None)
        if rule.fault == "person":
            act = dict(given.get("act") or {})
            perform(self, str(act.pop("do", "")), act)
            return
        if rule.fault in ("revoke_token", "scope_missing") and token is not None:
            given.setdefault("token", token.value)
        if "number" in FAULTS[rule.fault].keys and "number" in visit.params:
            given.setdefault("number", int(visit.params["number"]))
        perform(self, rule.fault, given)

    def _token(self, request: Request) -> Token | None:
        token = self.world.tokens.get(self.dialect.credential(request))
        if token is None or token.revoked:
            return None
        return None if token.expires_at is not None and token.expires_at <= self.clock.now() else token

    def _perform(self, visit: Visit, token: Token | None) -> Answer:
        route = visit.route
        if token is None and (route is None or not route.public):
            raise Refusal(401, "Bad credentials")
        if route is None:
            raise Refusal(404, "Not Found")
        if token is None:
            token = Token(value="", login="")
            user = next(iter(self.world.users.values()))
        else:
            user = self.world.users[token.login]
            self._charge(visit, token)
        call = Call(self, self._world(visit), visit.request, visit.params, user, token)
        if route.scope:
            call.need(route.scope)
        call.quirks = self._quirks(visit)
        if visit.stage is Stage.PAGE and visit.rule is not None:
            call.paging = PageFault(visit.rule.fault, visit.rule.given)
        return route.handler(call)

    def _quirks(self, visit: Visit) -> frozenset[str]:
        if visit.stage is not Stage.QUIRK or visit.rule is None:
            return self.dialect.quirks
        other = EXCLUDES.get(visit.rule.fault, "")
        return (self.dialect.quirks - {other}) | {visit.rule.fault}

    def _world(self, visit: Visit) -> World:
        if visit.stage is Stage.LAG and visit.rule is not None and visit.request.method == "GET":
            what = str(visit.rule.given.get("what", "lists"))
            operations = LAGGING.get(what)
            if operations is None or visit.record.operation in operations:
                past = self.pictures.at(self.clock.now(), float(visit.rule.given.get("seconds", 30)))
                return past or self.world
        return self.world

    def budget(self, token: Token, resource: str) -> Limit:
        """The credential's budget in the running hour; a new hour begins when the old one is over."""
        key = f"{token.value}:{resource}"
        now = self.clock.now()
        limit = self.world.limits.get(key)
        if limit is None or limit.reset <= now:
            most = limit.limit if limit else self.world.budget
            limit = self.world.limits[key] = Limit(limit=most, reset=now + timedelta(hours=1))
        return limit

    def _charge(self, visit: Visit, token: Token) -> None:
        limit = self.budget(token, _resource(visit))
        if visit.record.operation == "rate_limit.get":
            return
        if limit.used >= limit.limit and self.dialect.limit_headers(limit, "core"):
            raise Refusal(403, "API rate limit exceeded", limit=limit)
        limit.used += 1

    def _validated(self, visit: Visit, answer: Answer, token: Token | None) -> Answer:
        """Validators and budget headers, as far as the forge has them."""
        headers: dict[str, str] = {}
        resource = _resource(visit)
        if self.dialect.validators and visit.request.method == "GET" and answer.status == 200:
            tag = 'W/"' + hashlib.sha256(answer.payload()).hexdigest() + '"'
            headers["ETag"] = tag
            if visit.request.headers.get("if-none-match") == tag:
                if token is not None:
                    self.budget(token, resource).used -= 1
                answer = Answer(304, None, {key: value for key, value in answer.headers.items() if key == "Link"})
        if token is not None:
            headers |= self.dialect.limit_headers(self.budget(token, resource), resource)
        return answer.with_headers(headers)

    def state(self) -> dict[str, Any]:
        """The world as JSON, without the values of tokens and secrets."""
        with self.lock:
            document: dict[str, Any] = self.world.model_dump(mode="json")
        document["tokens"] = [{**each, "value": "***"} for each in document["tokens"].values()]
        document.pop("limits")
        for repo in document["repos"].values():
            for hook in repo["hooks"]:
                hook.update(secret="***", token="***")  # noqa: S106 - the mask, no secret
        return document

    def requests(self) -> list[dict[str, Any]]:
        """What arrived so far, oldest first."""
        with self.lock:
            return [asdict(each) for each in self.recorded]


def _resource(visit: Visit) -> str:
    return "graphql" if visit.record.operation == "graphql" else "core"


def _masked(value: Any) -> Any:
    if isinstance(value, list):
        return [_masked(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: "***" if key in SECRET_KEYS else _masked(each) for key, each in value.items()}


def _pattern(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\{\w+\*?\})", pattern)
    made = ""
    for part in parts:
        if part.startswith("{"):
            name = part.strip("{}*")
            made += f"(?P<{name}>.+)" if part.endswith("*}") else f"(?P<{name}>[^/]+)"
        else:
            made += re.escape(part)
    return re.compile(made)


def _readable(body: bytes) -> Any:
    if not body:
        return None
    try:
        return _masked(json.loads(body))
    except ValueError:
        return body[:10_000].decode("utf-8", "replace")
