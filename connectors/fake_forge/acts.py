"""What a person does on the fake forge, by name: for ``POST /_fake/act`` and for scripted faults that change objects.

``ACTS`` is the table. An act gets the desk and its values; who acts is ``by`` (the person of the seed), where is
``repo`` (the first repository). Raises ``ActError`` for values that fit nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from connectors.fake_forge import deeds
from connectors.fake_forge.deeds import Doer
from connectors.fake_forge.git import Push
from connectors.fake_forge.records import Check, Comment, Hook, Issue, Label, Project, ProjectItem, Ref, Repo, Token
from connectors.fake_forge.script import nearest
from connectors.fake_forge.seed import BOT, SCOPES

if TYPE_CHECKING:
    from connectors.fake_forge.desk import Desk


class ActError(Exception):
    """The act cannot be done: what was found."""


@dataclass(frozen=True, slots=True)
class Deed:
    """One act on its way: the desk, who, and the values."""

    desk: Desk
    given: Mapping[str, Any]

    @property
    def doer(self) -> Doer:
        """Who acts."""
        return Doer(self.desk, str(self.given.get("by") or next(iter(self.desk.world.users))))

    @property
    def repo(self) -> Repo:
        """Where; also by a former path."""
        world = self.desk.world
        path = str(self.given.get("repo") or next(iter(world.repos)))
        found = world.repos.get(world.renamed.get(path, path))
        if found is None:
            raise ActError(f"There is no repository {path}.")
        return found

    def text(self, key: str, default: str | None = None) -> str:
        """A value that must be there unless a default is given."""
        value = self.given.get(key, default)
        if value is None:
            raise ActError(f'The act needs "{key}".')
        return str(value)

    @property
    def issue(self) -> Issue:
        """The card; with ``pull: true`` the pull of that number."""
        number = int(self.text("number"))
        found = self.repo.pulls.get(number) if self.given.get("pull") else deeds.find_issue(self.repo, number)
        if found is None:
            raise ActError(f"There is no card {number} in {self.repo.path}.")
        return found

    def label(self, key: str = "label") -> Label:
        """A label that exists."""
        found = deeds.find_label(self.desk.world, self.repo, self.text(key))
        if found is None:
            raise ActError(f'There is no label "{self.text(key)}" in {self.repo.path}.')
        return found

    def labels(self) -> tuple[Label, ...]:
        """The labels of ``labels``, made when they do not exist."""
        made = []
        for name in self.given.get("labels") or ():
            found = deeds.find_label(self.desk.world, self.repo, str(name))
            made.append(found or deeds.define_label(self.doer, self.repo, str(name)))
        return tuple(made)

    @property
    def comment(self) -> Comment:
        """The comment of the card by ``id``, or the newest."""
        comments = self.issue.comments
        found = [each for each in comments if "id" not in self.given or each.id == int(self.given["id"])]
        if not found:
            raise ActError("There is no such comment.")
        return found[-1]

    @property
    def token(self) -> Token:
        """The credential, the first when none is named."""
        value = str(self.given.get("token") or next(iter(self.desk.world.tokens)))
        if value not in self.desk.world.tokens:
            raise ActError("There is no such token.")
        return self.desk.world.tokens[value]


def create_issue(deed: Deed) -> dict[str, Any]:
    """``title``, ``body``, ``labels``, ``kind`` -> ``number``, ``id``."""
    made = deeds.create_issue(deed.doer, deed.repo, deed.text("title"), deed.text("body", ""), deed.labels())
    made.kind = deed.given.get("kind", "issue")
    return {"number": made.number, "id": made.id}


def create_pull(deed: Deed) -> dict[str, Any]:
    """``head``, ``base``, ``title``, ``body``: the branch is made when it is not there."""
    head, base = deed.text("head"), deed.text("base", deed.repo.default_branch)
    if f"refs/heads/{head}" not in deed.repo.refs:
        deed.repo.refs[f"refs/heads/{head}"] = deed.repo.refs[f"refs/heads/{base}"]
        push = Push(head, f"{head}.txt", head.encode(), f"Work on {head}", deed.doer.login)
        deed.desk.git.put(deed.repo, push)
    made = deeds.create_pull(deed.doer, deed.repo, head, base, deed.text("title", head))
    made.body = deed.text("body", "")
    return {"number": made.number, "id": made.id, "sha": made.pull.head_sha if made.pull else ""}


def move(deed: Deed) -> dict[str, Any]:
    """``number``, ``to``, ``from`` (a label; all other labels that are columns stay when left out)."""
    if not (deed.given.get("from") or deed.given.get("to")):
        raise ActError('The act needs "from" or "to".')
    if deed.given.get("from"):
        deeds.remove_label(deed.doer, deed.repo, deed.issue, deed.label("from"))
    if deed.given.get("to"):
        deeds.add_label(deed.doer, deed.repo, deed.issue, deed.label("to"))
    return {}


def add_label(deed: Deed) -> dict[str, Any]:
    """``number``, ``label``: the label is made when it does not exist."""
    name = deed.text("label")
    found = deeds.find_label(deed.desk.world, deed.repo, name) or deeds.define_label(deed.doer, deed.repo, name)
    return {"changed": deeds.add_label(deed.doer, deed.repo, deed.issue, found)}


def remove_label(deed: Deed) -> dict[str, Any]:
    """``number``, ``label``."""
    return {"changed": deeds.remove_label(deed.doer, deed.repo, deed.issue, deed.label())}


def comment(deed: Deed) -> dict[str, Any]:
    """``number``, ``body`` -> ``id``."""
    return {"id": deeds.add_comment(deed.doer, deed.repo, deed.issue, deed.text("body")).id}


def edit_comment(deed: Deed) -> dict[str, Any]:
    """``number``, ``id`` (the newest when left out), ``body``."""
    deeds.edit_comment(deed.doer, deed.repo, deed.issue, deed.comment, deed.text("body"))
    return {}


def delete_comment(deed: Deed) -> dict[str, Any]:
    """``number``, ``id``."""
    deeds.delete_comment(deed.doer, deed.repo, deed.issue, deed.comment)
    return {}


def edit(deed: Deed) -> dict[str, Any]:
    """``number``, ``title``, ``body``."""
    title, body = deed.given.get("title"), deed.given.get("body")
    return {"changed": deeds.edit(deed.doer, deed.repo, deed.issue, title, body)}


def close(deed: Deed) -> dict[str, Any]:
    """``number``, ``reason``."""
    return {"changed": deeds.set_state(deed.doer, deed.repo, deed.issue, "closed", deed.text("reason", ""))}


def reopen(deed: Deed) -> dict[str, Any]:
    """``number``."""
    return {"changed": deeds.set_state(deed.doer, deed.repo, deed.issue, "open")}


def assign(deed: Deed) -> dict[str, Any]:
    """``number``, ``logins``: the whole set."""
    deeds.set_assignees(deed.doer, deed.repo, deed.issue, [str(each) for each in deed.given.get("logins") or ()])
    return {}


def block(deed: Deed) -> dict[str, Any]:
    """``number``, ``by_number``, ``by_repo``."""
    ref = Ref(repo=deed.text("by_repo", deed.repo.path), number=int(deed.text("by_number")))
    return {"changed": deeds.block(deed.doer, deed.issue, ref)}


def delete(deed: Deed) -> dict[str, Any]:
    """``number``: the card answers 410 (GitHub) or 404 from now on."""
    deed.issue.gone = True
    return {}


def hide(deed: Deed) -> dict[str, Any]:
    """``number``, or the whole repository without one: 404 from now on. ``show: true`` lifts it."""
    hidden = not deed.given.get("show")
    if "number" in deed.given:
        deed.issue.hidden = hidden
    else:
        deed.repo.hidden = hidden
    return {}


def transfer(deed: Deed) -> dict[str, Any]:
    """``number``, ``to`` (a repository) -> ``number`` there."""
    to = deed.desk.world.repos.get(deed.text("to", "octo/other"))
    if to is None:
        raise ActError("There is no such repository to transfer to.")
    return {"number": deeds.transfer(deed.doer, deed.repo, deed.issue, to).number}


def rename_repo(deed: Deed) -> dict[str, Any]:
    """``to``: the old path answers with a redirect."""
    world, repo, to = deed.desk.world, deed.repo, deed.text("to")
    world.renamed = {old: to if new == repo.path else new for old, new in world.renamed.items()}
    world.renamed[repo.path] = to
    repo.path = to
    world.repos = {each.path: each for each in world.repos.values()}
    return {}


def issues_off(deed: Deed) -> dict[str, Any]:
    """Issues are switched off; ``on: true`` switches them on."""
    deed.repo.issues_enabled = bool(deed.given.get("on"))
    return {}


def archive(deed: Deed) -> dict[str, Any]:
    """The repository is read only; ``undo: true`` lifts it."""
    deed.repo.archived = not deed.given.get("undo")
    return {}


def define_label(deed: Deed) -> dict[str, Any]:
    """``label``, ``color``, ``group`` -> ``id``."""
    made = deeds.define_label(deed.doer, deed.repo, deed.text("label"), deed.text("color", "ededed"))
    made.group = bool(deed.given.get("group"))
    return {"id": made.id}


def rename_label(deed: Deed) -> dict[str, Any]:
    """``from``, ``to``."""
    deed.label("from").name = deed.text("to")
    return {}


def recase_label(deed: Deed) -> dict[str, Any]:
    """``from``, ``to`` (its first letter turned when left out)."""
    label = deed.label("from")
    label.name = deed.text("to", label.name.swapcase())
    return {}


def delete_label(deed: Deed) -> dict[str, Any]:
    """``label``."""
    deeds.delete_label(deed.doer, deed.repo, deed.label())
    return {}


def revoke_token(deed: Deed) -> dict[str, Any]:
    """``token``."""
    deed.token.revoked = True
    return {}


def scope_missing(deed: Deed) -> dict[str, Any]:
    """``scope``, ``token``: the right is taken away."""
    deed.token.scopes.discard(deed.text("scope", "issues"))
    return {}


def rights(deed: Deed) -> dict[str, Any]:
    """``login``, ``permission`` (admin, write, triage, read, none)."""
    deed.repo.rights[deed.text("login")] = deed.text("permission")
    return {}


def set_limit(deed: Deed) -> dict[str, Any]:
    """``limit``, ``remaining``, ``resource`` of a token's budget."""
    limit = deed.desk.budget(deed.token, deed.text("resource", "core"))
    limit.limit = int(deed.given.get("limit", limit.limit))
    limit.used = limit.limit - int(deed.given.get("remaining", limit.limit - limit.used))
    return {}


def _project(deed: Deed) -> Project:
    projects = deed.desk.world.projects
    if not projects:
        raise ActError("There is no project.")
    return projects[0]


def options_regenerated(deed: Deed) -> dict[str, Any]:
    """The options of a project's field are made anew: same names, other ids; items keep their values."""
    for field in _project(deed).fields:
        for option in field.options:
            old, option.id = option.id, f"{deed.desk.world.new_id():08x}"
            for item in _project(deed).items:
                if item.values.get(field.id) == old:
                    item.values[field.id] = option.id
    return {}


def add_item(deed: Deed) -> dict[str, Any]:
    """``number`` (or ``draft``: a title), ``status``, ``redacted`` -> ``item_id``."""
    project, now = _project(deed), deed.desk.clock.now()
    card = Ref(repo=deed.repo.path, number=deed.issue.number) if "number" in deed.given else None
    item = ProjectItem(
        id=f"PVTI_{deed.desk.world.new_id()}",
        card=card,
        draft=deed.text("draft", ""),
        redacted=bool(deed.given.get("redacted")),
        created_at=now,
        updated_at=now,
    )
    project.items.append(item)
    if "status" in deed.given:
        _set_option(deed, item, deed.text("status"))
    return {"item_id": item.id}


def _set_option(deed: Deed, item: ProjectItem, name: str) -> None:
    field = _project(deed).fields[0]
    option = next((each for each in field.options if each.name == name), None)
    if option is None:
        raise ActError(f'The project has no status "{name}".')
    item.values[field.id], item.updated_at = option.id, deed.desk.clock.now()


def _item(deed: Deed) -> ProjectItem:
    ref = Ref(repo=deed.repo.path, number=deed.issue.number)
    found = next((each for each in _project(deed).items if each.card == ref), None)
    if found is None:
        raise ActError(f"Card {ref.number} is not on the project.")
    return found


def set_status(deed: Deed) -> dict[str, Any]:
    """``number``, ``status``: a person drags the card."""
    _set_option(deed, _item(deed), deed.text("status"))
    return {}


def archive_item(deed: Deed) -> dict[str, Any]:
    """``number``; ``undo: true`` lifts it."""
    _item(deed).archived = not deed.given.get("undo")
    return {}


def rename_option(deed: Deed) -> dict[str, Any]:
    """``from``, ``to``: a status gets another name."""
    for option in _project(deed).fields[0].options:
        if option.name == deed.text("from"):
            option.name = deed.text("to")
    return {}


def put_file(deed: Deed) -> dict[str, Any]:
    """``path``, ``text``, ``branch`` -> ``commit``: a person pushes."""
    branch = deed.text("branch", deed.repo.default_branch)
    push = Push(branch, deed.text("path"), deed.text("text").encode(), "Pushed", deed.doer.login)
    return {"commit": deed.desk.git.put(deed.repo, push).sha}


def set_ref(deed: Deed) -> dict[str, Any]:
    """``ref`` by its full name, ``sha`` (of the default branch when left out)."""
    sha = deed.text("sha", deed.repo.refs[f"refs/heads/{deed.repo.default_branch}"])
    deed.desk.git.move(deed.repo, deed.text("ref"), sha)
    return {"sha": sha}


def add_check(deed: Deed) -> dict[str, Any]:
    """``sha``, ``name``, ``status``, ``conclusion``: an app reports."""
    made = Check(
        id=deed.desk.world.new_id(),
        sha=deed.text("sha"),
        name=deed.text("name", "ci"),
        status=deed.text("status", "completed"),
        conclusion=deed.text("conclusion", "success"),
        created_at=deed.desk.clock.now(),
    )
    deed.repo.checks.append(made)
    return {"id": made.id}


def pull_state(deed: Deed) -> dict[str, Any]:
    """``number``, ``mergeable`` (true, false, null), ``draft``."""
    pull = deed.repo.pulls[int(deed.text("number"))].pull
    assert pull is not None
    pull.mergeable = deed.given.get("mergeable", pull.mergeable)
    pull.draft = bool(deed.given.get("draft", pull.draft))
    return {}


def merge(deed: Deed) -> dict[str, Any]:
    """``number``: a person merges -> ``sha``."""
    return {"sha": deeds.merge(deed.doer, deed.repo, deed.repo.pulls[int(deed.text("number"))], "Merged by hand")}


def lock(deed: Deed) -> dict[str, Any]:
    """``number``; ``undo: true`` lifts it."""
    deed.issue.locked = not deed.given.get("undo")
    return {}


def add_hook(deed: Deed) -> dict[str, Any]:
    """``url``, ``secret``, ``token`` -> ``id``."""
    made = Hook(
        id=deed.desk.world.new_id(),
        url=deed.text("url"),
        secret=deed.text("secret", ""),
        token=deed.text("token", ""),
        created_at=deed.desk.clock.now(),
    )
    deed.repo.hooks.append(made)
    deed.desk.deliveries.ping(made, deed.repo)
    return {"id": made.id}


def add_token(deed: Deed) -> dict[str, Any]:
    """``value``, ``login``, ``scopes``: one more credential."""
    value, login = deed.text("value"), deed.text("login", BOT)
    scopes = deed.given.get("scopes")
    deed.desk.world.tokens[value] = Token(value=value, login=login, scopes=set(SCOPES if scopes is None else scopes))
    return {}


def license_held(deed: Deed) -> dict[str, Any]:
    """``held``: whether the paid features answer."""
    deed.desk.world.licensed = bool(deed.given.get("held"))
    return {}


def clock_skew(deed: Deed) -> dict[str, Any]:
    """``seconds``."""
    deed.desk.clock.skew(float(deed.text("seconds")))
    return {}


ACTS: Mapping[str, Callable[[Deed], dict[str, Any]]] = MappingProxyType(
    {
        "create_issue": create_issue,
        "create_pull": create_pull,
        "move": move,
        "add_label": add_label,
        "remove_label": remove_label,
        "comment": comment,
        "edit_comment": edit_comment,
        "delete_comment": delete_comment,
        "edit": edit,
        "close": close,
        "reopen": reopen,
        "assign": assign,
        "block": block,
        "delete": delete,
        "gone": delete,
        "hide": hide,
        "transfer": transfer,
        "rename_repo": rename_repo,
        "issues_off": issues_off,
        "archive": archive,
        "define_label": define_label,
        "rename_label": rename_label,
        "label_renamed": rename_label,
        "recase_label": recase_label,
        "label_recased": recase_label,
        "delete_label": delete_label,
        "revoke_token": revoke_token,
        "scope_missing": scope_missing,
        "rights": rights,
        "set_limit": set_limit,
        "options_regenerated": options_regenerated,
        "add_item": add_item,
        "set_status": set_status,
        "archive_item": archive_item,
        "rename_option": rename_option,
        "put_file": put_file,
        "set_ref": set_ref,
        "add_check": add_check,
        "pull_state": pull_state,
        "merge": merge,
        "lock": lock,
        "add_hook": add_hook,
        "add_token": add_token,
        "license": license_held,
        "clock_skew": clock_skew,
    }
)


def perform(desk: Desk, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Do it. Raises ``ActError``; an unknown name is told with the nearest one."""
    act = ACTS.get(name)
    if act is None:
        raise ActError(f'There is no act "{name}".{nearest(name, ACTS)}')
    try:
        return act(Deed(desk, given))
    except (ValueError, TypeError, KeyError, AttributeError, AssertionError) as error:
        why = f"{type(error).__name__}: {error}".rstrip(": ")
        raise ActError(f"The act {name} cannot use what it was given ({why}).") from None
