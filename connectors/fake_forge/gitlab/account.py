"""GitLab's account side: who we are, the token, people and their rights, the project, its hooks."""

from __future__ import annotations

from connectors.fake_forge.exchange import Answer, Call, Json, Refusal, Route
from connectors.fake_forge.gitlab.finding import needed_text, repo_of, show, text_of
from connectors.fake_forge.gitlab.show import LEVELS, milli
from connectors.fake_forge.paging import listed
from connectors.fake_forge.records import Hook, Repo

SCOPES = {"read": "read_api", "issues": "api", "contents": "write_repository"}
"""Our rights -> GitLab's scopes, as far as they show."""


def get_user(call: Call) -> Answer:
    """The token's own account."""
    more = {"created_at": milli(call.user.created_at), "bot": False, "is_admin": False, "two_factor_enabled": True}
    return Answer(200, show(call).user(call.user.login) | more)


def get_token(call: Call) -> Answer:
    """The token about itself."""
    scopes = sorted({SCOPES[each] for each in call.token.scopes if each in SCOPES})
    document = {"id": 1, "name": "fake", "revoked": False, "active": True, "scopes": scopes, "user_id": call.user.id}
    expires = call.token.expires_at
    return Answer(200, document | {"expires_at": expires.date().isoformat() if expires else None})


def list_users(call: Call) -> Answer:
    """By ``username``, case-insensitive."""
    wanted = call.query("username").lower()
    found = [user for user in call.world.users.values() if not wanted or user.login.lower() == wanted]
    return listed(call, found, lambda user: show(call).user(user.login))


def get_project(call: Call) -> Answer:
    """The project with what our account may do in it."""
    return Answer(200, show(call).project(repo_of(call), call.user.login))


def get_member(call: Call) -> Answer:
    """A member, inherited ones included; 404 for others."""
    repo = repo_of(call)
    login = next((each.login for each in call.world.users.values() if str(each.id) == call.params["user"]), "")
    level = LEVELS[repo.rights.get(login, "none")]
    if not level:
        raise Refusal(404, "404 Not found")
    return Answer(200, show(call).user(login) | {"access_level": level, "expires_at": None})


def list_hooks(call: Call) -> Answer:
    """The hooks."""
    repo = repo_of(call)
    return listed(call, repo.hooks, lambda hook: _hook(repo, hook))


def create_hook(call: Call) -> Answer:
    """``url``, ``token``, ``signing_token``."""
    repo = repo_of(call)
    made = Hook(
        id=call.world.new_id(),
        url=needed_text(call, "url"),
        token=text_of(call, "token") or "",
        secret=text_of(call, "signing_token") or "",
        created_at=call.now,
    )
    repo.hooks.append(made)
    return Answer(201, _hook(repo, made))


def _hook(repo: Repo, hook: Hook) -> dict[str, Json]:
    return {
        "id": hook.id,
        "url": hook.url,
        "project_id": repo.id,
        "issues_events": True,
        "note_events": True,
        "merge_requests_events": True,
        "enable_ssl_verification": False,
        "alert_status": "executable" if hook.active else "disabled",
        "disabled_until": None,
        "created_at": milli(hook.created_at),
    }


def list_deliveries(call: Call) -> Answer:
    """A hook's deliveries, newest first."""
    found = [each for each in reversed(call.world.deliveries) if str(each.hook) == call.params["hook"]]
    return listed(
        call,
        found,
        lambda each: {"id": each.id, "trigger": each.event, "response_status": str(each.status or "internal error")},
    )


_REPO = "/projects/{project}"
ROUTES = (
    Route("GET", "/user", "account.get", get_user),
    Route("GET", "/personal_access_tokens/self", "token.get", get_token),
    Route("GET", "/users", "user.list", list_users, "read"),
    Route("GET", _REPO, "repo.get", get_project, "read"),
    Route("GET", _REPO + "/members/all/{user}", "permission.get", get_member, "read"),
    Route("GET", _REPO + "/hooks", "hook.list", list_hooks, "hooks"),
    Route("POST", _REPO + "/hooks", "hook.create", create_hook, "hooks"),
    Route("GET", _REPO + "/hooks/{hook}/events", "hook.deliveries", list_deliveries, "hooks"),
)
