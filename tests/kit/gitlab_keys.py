"""What GitLab's documentation lets a request say, address by address, and what an answer must have (C162).

GitLab publishes no description in a package that could be checked against; this table is written from its pages. The
real one ignores keys that it does not know, so that here they are what is looked for.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from connectors.fake_forge.exchange import Answer, Request

PAGED = "page per_page"
PROJECT = "/projects/{}"
ISSUE = f"{PROJECT}/issues/{{}}"
MERGE = f"{PROJECT}/merge_requests/{{}}"
REPOSITORY = f"{PROJECT}/repository"
USER = "id username name state web_url"
ISSUE_KEYS = (
    "id iid project_id title description state created_at updated_at labels assignees author web_url issue_type"
)
MERGE_KEYS = (
    "id iid title state draft source_branch target_branch sha merge_status detailed_merge_status web_url author"
)
NOTE_KEYS = "id body author created_at updated_at system noteable_id noteable_type noteable_iid"
ISSUE_BODY = "title description labels add_labels remove_labels state_event assignee_ids discussion_locked due_date"
MERGE_BODY = "title description state_event reviewer_ids assignee_ids labels add_labels remove_labels target_branch"
LIST_ISSUES = "state labels iids[] scope order_by sort issue_type updated_after updated_before author_username search"
STATUS_BODY = "state name context description target_url ref pipeline_id coverage"
FILE_BODY = "branch content encoding commit_message last_commit_id start_branch author_email author_name"
KEYS: dict[str, tuple[str, str]] = {
    "GET /user": ("", USER),
    "GET /users": (f"username search {PAGED}", USER),
    "GET /personal_access_tokens/self": ("", "scopes active user_id"),
    f"GET {PROJECT}": ("", "id path_with_namespace default_branch web_url archived permissions issues_access_level"),
    f"GET {PROJECT}/members/all/{{}}": ("", f"{USER} access_level"),
    f"GET {PROJECT}/hooks": (PAGED, "id url project_id"),
    f"POST {PROJECT}/hooks": ("url token signing_token issues_events note_events merge_requests_events", "id url"),
    f"GET {PROJECT}/hooks/{{}}/events": (PAGED, "id trigger response_status"),
    f"GET {PROJECT}/labels": (f"search include_ancestor_groups with_counts {PAGED}", "id name color is_project_label"),
    f"POST {PROJECT}/labels": ("name color description priority", "id name color"),
    f"GET {PROJECT}/labels/{{}}": ("", "id name color"),
    f"PUT {PROJECT}/labels/{{}}": ("new_name color description priority", "id name color"),
    f"GET {PROJECT}/issues": (f"{LIST_ISSUES} {PAGED}", ISSUE_KEYS),
    f"POST {PROJECT}/issues": ("title description labels assignee_ids issue_type confidential due_date", ISSUE_KEYS),
    f"GET {ISSUE}": ("", ISSUE_KEYS),
    f"PUT {ISSUE}": (ISSUE_BODY, ISSUE_KEYS),
    f"POST {ISSUE}/move": ("to_project_id", ISSUE_KEYS),
    f"GET {ISSUE}/links": ("", f"{ISSUE_KEYS} issue_link_id link_type"),
    f"POST {ISSUE}/links": ("target_project_id target_issue_iid link_type", "source_issue target_issue link_type"),
    f"DELETE {ISSUE}/links/{{}}": ("", ""),
    f"GET {ISSUE}/resource_label_events": (PAGED, "id user created_at resource_type resource_id label action"),
    f"GET {ISSUE}/resource_state_events": (PAGED, "id user created_at resource_type resource_id state"),
    f"GET {PROJECT}/merge_requests": (
        f"state source_branch target_branch scope order_by sort author_username {PAGED}",
        MERGE_KEYS,
    ),
    f"POST {PROJECT}/merge_requests": ("source_branch target_branch title description labels reviewer_ids", MERGE_KEYS),
    f"GET {MERGE}": ("", MERGE_KEYS),
    f"PUT {MERGE}": (MERGE_BODY, MERGE_KEYS),
    f"PUT {MERGE}/merge": ("sha squash merge_commit_message squash_commit_message", MERGE_KEYS),
    f"POST {MERGE}/approve": ("sha", "approved_by user_has_approved"),
    f"GET {MERGE}/approvals": ("", "approved_by user_has_approved"),
    f"GET {REPOSITORY}/branches/{{}}": ("", "name commit default protected"),
    f"POST {REPOSITORY}/branches": ("branch ref", "name commit"),
    f"GET {REPOSITORY}/tags/{{}}": ("", "name target commit"),
    f"GET {REPOSITORY}/commits/{{}}": ("", "id short_id title author_name"),
    f"GET {REPOSITORY}/commits/{{}}/statuses": (f"ref stage name all {PAGED}", "id sha status name"),
    f"POST {PROJECT}/statuses/{{}}": (STATUS_BODY, "id sha status name"),
    f"GET {REPOSITORY}/files/{{}}": ("ref", "file_path blob_id commit_id last_commit_id content encoding"),
    f"POST {REPOSITORY}/files/{{}}": (FILE_BODY, "file_path branch"),
    f"PUT {REPOSITORY}/files/{{}}": (FILE_BODY, "file_path branch"),
    f"GET {PROJECT}/releases/{{}}": ("", "tag_name name description author _links"),
    f"POST {PROJECT}/releases": ("tag_name name description ref milestones", "tag_name name description"),
    f"POST {PROJECT}/pipeline": ("ref variables inputs", "id web_url status ref"),
    **{
        key: value
        for part in (ISSUE, MERGE)
        for key, value in {
            f"GET {part}/notes": (f"activity_filter sort order_by {PAGED}", NOTE_KEYS),
            f"POST {part}/notes": ("body internal created_at", NOTE_KEYS),
            f"GET {part}/notes/{{}}": ("", NOTE_KEYS),
            f"PUT {part}/notes/{{}}": ("body", NOTE_KEYS),
            f"GET {part}/award_emoji": (PAGED, "id name user"),
            f"POST {part}/award_emoji": ("name", "id name user"),
            f"GET {part}/notes/{{}}/award_emoji": (PAGED, "id name user"),
            f"POST {part}/notes/{{}}/award_emoji": ("name", "id name user"),
        }.items()
    },
}
"""Method and address -> the keys that a request may have, the keys that an answer must have."""


@cache
def patterns() -> list[tuple[re.Pattern[str], str]]:
    """Those with fewer parameters first."""
    ordered = sorted(KEYS, key=lambda key: key.count("{}"))
    return [(re.compile(re.escape(key).replace(r"\{\}", "[^/]+")), key) for key in ordered]


class GitLabChecker:
    """The table, request by request."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def __call__(self, request: Request, answer: Answer) -> None:
        """Query and body of the request, and what a success must have."""
        asked = f"{request.method} {request.path.removeprefix('/api/v4')}"
        if answer.status >= 300 or answer.status in (202, 204):
            return
        for pattern, key in patterns():
            if pattern.fullmatch(asked):
                self._keys(asked, key, request, answer)
                return
        self.found.append(f"{asked}: not in the table")

    def _keys(self, asked: str, key: str, request: Request, answer: Answer) -> None:
        allowed, needed = (set(text.split()) for text in KEYS[key])
        body = json.loads(request.body) if request.body else {}
        given = {name for name, _ in request.query} | set(body)
        self.found += [f"{asked}: GitLab would ignore {name}" for name in sorted(given - allowed)]
        documents: Any = json.loads(answer.payload() or b"{}")
        for each in documents if isinstance(documents, list) else [documents]:
            self.found += [f"{asked}: the answer lacks {name}" for name in sorted(needed - set(each))]
