"""GitHub's account side: who we are, our budget, an app's tokens, rights of people, the repository, its hooks."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import timedelta

from connectors.fake_forge.clock import stamp
from connectors.fake_forge.deeds import sha_of
from connectors.fake_forge.exchange import Answer, Call, Json, Refusal, Route
from connectors.fake_forge.github.finding import invalid, repo_of, show
from connectors.fake_forge.github.show import permissions
from connectors.fake_forge.paging import listed
from connectors.fake_forge.records import Delivery, Hook, Token, User
from connectors.fake_forge.seed import BOT, PERSON, SCOPES

TOKEN_LIFE = timedelta(hours=1)
FINE_GRAINED = "github_pat_"
"""How a token begins that tells no scopes."""
REPO_SCOPE = frozenset({"issues", "contents"})
"""What a token must be allowed for it to have the classic scope ``repo``."""
RESOURCES = ("core", "search", "graphql")
PERMISSIONS = {"issues": "write", "contents": "write", "pull_requests": "write", "metadata": "read"}


def get_user(call: Call) -> Answer:
    """The token's own account; an app's installation has none."""
    if call.token.value.startswith("ghs_"):
        raise Refusal(403, "Resource not accessible by integration")
    headers = {} if call.token.value.startswith(FINE_GRAINED) else {"X-OAuth-Scopes": ", ".join(_scopes(call.token))}
    return Answer(200, show(call).account(call.user), headers)


def _scopes(token: Token) -> list[str]:
    """A classic token's scopes: ``repo`` is all of a repository or nothing."""
    return sorted(({"repo"} if token.scopes >= REPO_SCOPE else set()) | ({"project"} & token.scopes))


def get_rate_limit(call: Call) -> Answer:
    """The budget; asking is free."""
    shown: dict[str, Json] = {}
    for resource in RESOURCES:
        limit = call.desk.budget(call.token, resource)
        left = max(0, limit.limit - limit.used)
        reset = int(limit.reset.timestamp())
        shown[resource] = {"limit": limit.limit, "used": limit.used, "remaining": left, "reset": reset}
    return Answer(200, {"resources": shown, "rate": shown["core"]})


def get_app(call: Call) -> Answer:
    """The app whose signed claim it is."""
    claims = _judged(call)
    owner = show(call).user(PERSON)
    stamped = stamp(call.now)
    document = {
        "id": int(str(claims.get("iss", 1))),
        "slug": BOT,
        "node_id": "A_1",
        "client_id": "Iv1.0123456789abcdef",
        "owner": owner,
        "name": "Pointsman",
        "description": None,
        "external_url": call.base,
        "html_url": f"{call.base}/apps/{BOT}",
        "created_at": stamped,
        "updated_at": stamped,
        "permissions": PERMISSIONS,
        "events": [],
    }
    return Answer(200, document)


def create_installation_token(call: Call) -> Answer:
    """A token for an installation, against an app's signed claim; it acts as the app's bot."""
    _judged(call)
    login = f"{BOT}[bot]"
    if login not in call.world.users:
        call.world.users[login] = User(id=call.world.new_id(), login=login, kind="Bot", created_at=call.now)
        for repo in call.world.repos.values():
            repo.rights.setdefault(login, "write")
    value = "ghs_" + sha_of("installation", call.params["id"], call.world.new_id())[:36]
    made = Token(value=value, login=login, scopes=set(SCOPES), expires_at=call.now + TOKEN_LIFE)
    call.world.tokens[value] = made
    document = {
        "token": value,
        "expires_at": stamp(call.now + TOKEN_LIFE),
        "permissions": PERMISSIONS,
        "repository_selection": "all",
    }
    return Answer(201, document)


def _judged(call: Call) -> dict[str, Json]:
    """A claim whose times hold by the forge's own clock."""
    claims = _claims(call)
    now = call.now.timestamp()
    expires = float(claims.get("exp", 0))
    if expires <= now:
        raise Refusal(401, "'Expiration time' claim ('exp') must be a numeric value representing the future time")
    if expires > now + 600:
        raise Refusal(401, "'Expiration time' claim ('exp') is too far in the future")
    if float(claims.get("iat", now)) > now + 60:
        raise Refusal(401, "'Issued at' claim ('iat') must be an Integer representing a time in the past")
    return claims


def _claims(call: Call) -> dict[str, Json]:
    parts = call.request.headers.get("authorization", "").removeprefix("Bearer ").split(".")
    if len(parts) != 3:
        raise Refusal(401, "A JSON web token could not be decoded")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError):
        raise Refusal(401, "A JSON web token could not be decoded") from None
    if not isinstance(claims, dict):
        raise Refusal(401, "A JSON web token could not be decoded")
    return claims


def get_repo(call: Call) -> Answer:
    """The repository with what our account may do in it."""
    return Answer(200, show(call).repo(repo_of(call), call.user.login))


def get_permission(call: Call) -> Answer:
    """A login's right; a stranger reads a public repository."""
    repo = repo_of(call)
    login = call.params["login"]
    if login not in call.world.users:
        raise Refusal(404, f"{login} is not a user")
    role = repo.rights.get(login, "read")
    shown = {"triage": "read", "maintain": "write"}.get(role, role)
    user = show(call).user(login) | {"permissions": permissions(role), "role_name": role}
    return Answer(200, {"permission": shown, "role_name": role, "user": user})


def list_hooks(call: Call) -> Answer:
    """The hooks, for those who may."""
    repo = repo_of(call)
    return listed(call, repo.hooks, lambda hook: _hook(call, repo.path, hook))


def create_hook(call: Call) -> Answer:
    """``config: {url, secret}``."""
    repo = repo_of(call)
    config = call.json.get("config") or {}
    if not config.get("url"):
        raise invalid("Hook", "url", "missing_field")
    made = Hook(id=call.world.new_id(), url=config["url"], secret=str(config.get("secret") or ""), created_at=call.now)
    repo.hooks.append(made)
    call.desk.deliveries.ping(made, repo)
    return Answer(201, _hook(call, repo.path, made))


def _hook(call: Call, path: str, hook: Hook) -> dict[str, Json]:
    url = f"{call.base}/repos/{path}/hooks/{hook.id}"
    last = next((each for each in reversed(call.world.deliveries) if each.hook == hook.id), None)
    state = "unused" if last is None else "active" if last.status < 400 and last.status else "error"
    config = {"url": hook.url, "content_type": "json", "insecure_ssl": "0", "secret": "********"}
    return {
        "type": "Repository",
        "id": hook.id,
        "name": "web",
        "active": hook.active,
        "events": ["*"],
        "config": config,
        "url": url,
        "test_url": f"{url}/test",
        "ping_url": f"{url}/pings",
        "deliveries_url": f"{url}/deliveries",
        "created_at": stamp(hook.created_at),
        "updated_at": stamp(hook.created_at),
        "last_response": {"code": last.status if last else None, "status": state, "message": None},
    }


def list_deliveries(call: Call) -> Answer:
    """A hook's deliveries, newest first."""
    found = [each for each in reversed(call.world.deliveries) if str(each.hook) == call.params["id"]]
    return listed(call, found, _delivery)


def _delivery(delivery: Delivery) -> dict[str, Json]:
    good = 200 <= delivery.status < 300
    return {
        "id": delivery.id,
        "guid": delivery.guid,
        "delivered_at": stamp(delivery.created_at),
        "redelivery": False,
        "duration": 0.1,
        "status": "OK" if good else "failed",
        "status_code": delivery.status,
        "event": delivery.event,
        "action": delivery.action or None,
        "installation_id": None,
        "repository_id": None,
    }


_REPO = "/repos/{owner}/{name}"
ROUTES = (
    Route("GET", "/user", "account.get", get_user),
    Route("GET", "/rate_limit", "rate_limit.get", get_rate_limit),
    Route("GET", "/app", "app.get", get_app, public=True),
    Route("POST", "/app/installations/{id}/access_tokens", "app.token", create_installation_token, public=True),
    Route("GET", _REPO, "repo.get", get_repo, "read"),
    Route("GET", _REPO + "/collaborators/{login}/permission", "permission.get", get_permission, "read"),
    Route("GET", _REPO + "/hooks", "hook.list", list_hooks, "hooks"),
    Route("POST", _REPO + "/hooks", "hook.create", create_hook, "hooks"),
    Route("GET", _REPO + "/hooks/{id}/deliveries", "hook.deliveries", list_deliveries, "hooks"),
)
