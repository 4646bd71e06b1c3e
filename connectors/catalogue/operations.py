"""THE TABLE of operations: suffix -> parameters, result, effect class, probe, forges (connectors.md 7).

Read by ``dispatcher/wiring`` for the compiler and by ``connectors.forge.operations`` for the calls. Total: each entry
has both models, a class, a probe or the word none. GitLab says ``merge_request`` where the others say ``pull``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from connectors.catalogue import params as p
from connectors.catalogue import results as r
from connectors.effects.guard import Effect


class Probe(StrEnum):
    """By which read a lost answer is decided; the text says it to people."""

    NOTHING_TO_DECIDE = "a read changes nothing"
    NONE = "none: a person settles it"
    READ_BACK = "the object is read again"
    COMMENT_MARKER = "marker in our own comments of that card"
    REVIEW_MARKER = "marker in our own comments and reviews of that pull"
    ISSUE_MARKER = "marker in our own issues made since the send"
    PULL_MARKER = "marker in the body, else the one open pull of that head and base"
    RELEASE_MARKER = "the release of that tag, marker in its body"
    BRANCH_SHA = "the branch of that name, and its commit"


GITHUB, GITLAB, FORGEJO = "github", "gitlab", "forgejo"
FORGES = (GITHUB, GITLAB, FORGEJO)


@dataclass(frozen=True, slots=True)
class Entry:
    """One operation. ``elsewhere`` names the class on forges where it is another one."""

    suffix: str
    params: type[p.Params]
    result: type[r.Result]
    effect: Effect
    probe: Probe
    forges: tuple[str, ...] = FORGES
    elsewhere: Mapping[str, Effect] = field(default_factory=dict)

    def effect_on(self, forge: str) -> Effect:
        """The class on this forge."""
        return self.elsewhere.get(forge, self.effect)

    def name_on(self, forge: str) -> str:
        """The dotted name that a workflow writes."""
        noun, verb = self.suffix.split(".")
        return f"{forge}.{'merge_request' if noun == 'pull' and forge == GITLAB else noun}.{verb}"


def _read(suffix: str, params: type[p.Params], result: type[r.Result]) -> Entry:
    return Entry(suffix, params, result, Effect.READ, Probe.NOTHING_TO_DECIDE)


def _idempotent(suffix: str, params: type[p.Params], result: type[r.Result] = r.Changed) -> Entry:
    return Entry(suffix, params, result, Effect.IDEMPOTENT, Probe.READ_BACK)


def _guarded(suffix: str, params: type[p.Params], result: type[r.Result]) -> Entry:
    return Entry(suffix, params, result, Effect.GUARDED, Probe.READ_BACK)


def _ambiguous(suffix: str, params: type[p.Params], result: type[r.Result], probe: Probe) -> Entry:
    return Entry(suffix, params, result, Effect.AMBIGUOUS, probe)


_SETS = MappingProxyType({GITLAB: Effect.GUARDED, FORGEJO: Effect.GUARDED})
_ENTRIES = (
    _read("repo.get", p.Nothing, r.Repo),
    _read("issue.get", p.Numbered, r.Issue),
    _read("issue.list", p.IssueList, r.Page[r.Issue]),
    _read("comment.list", p.CommentList, r.Page[r.Comment]),
    _read("label.list", p.Nothing, r.Page[r.Label]),
    _read("pull.get", p.Numbered, r.Pull),
    _read("pull.list", p.PullList, r.Page[r.Pull]),
    _read("pull.checks", p.Numbered, r.Checks),
    _read("ref.get", p.RefName, r.Ref),
    _read("file.get", p.FileGet, r.File),
    _ambiguous("issue.create", p.IssueCreate, r.Issue, Probe.ISSUE_MARKER),
    _guarded("issue.edit", p.IssueEdit, r.Issue),
    _guarded("issue.close", p.IssueState, r.Issue),
    _guarded("issue.reopen", p.IssueState, r.Issue),
    _idempotent("label.add", p.LabelOf),
    _idempotent("label.remove", p.LabelOf),
    _idempotent("label.define", p.LabelDefine, r.Label),
    Entry("assignee.add", p.AssigneeOf, r.Changed, Effect.IDEMPOTENT, Probe.READ_BACK, FORGES, _SETS),
    Entry("assignee.remove", p.AssigneeOf, r.Changed, Effect.IDEMPOTENT, Probe.READ_BACK, FORGES, _SETS),
    _ambiguous("issue.comment", p.Text, r.Comment, Probe.COMMENT_MARKER),
    _ambiguous("issue.comment_keyed", p.KeyedText, r.Comment, Probe.COMMENT_MARKER),
    _idempotent("comment.edit", p.CommentEdit, r.Comment),
    _idempotent("reaction.add", p.Reaction),
    _ambiguous("branch.create", p.BranchCreate, r.Ref, Probe.BRANCH_SHA),
    _guarded("branch.delete", p.BranchDelete, r.Changed),
    _guarded("file.put", p.FilePut, r.Commit),
    _ambiguous("pull.create", p.PullCreate, r.Pull, Probe.PULL_MARKER),
    _guarded("pull.edit", p.PullEdit, r.Pull),
    _ambiguous("pull.comment", p.Text, r.Comment, Probe.COMMENT_MARKER),
    _ambiguous("pull.review", p.Review, r.Comment, Probe.REVIEW_MARKER),
    _idempotent("pull.request_review", p.ReviewRequest),
    _guarded("pull.merge", p.Merge, r.Pull),
    _idempotent("status.set", p.StatusSet),
    _ambiguous("release.create", p.ReleaseCreate, r.Release, Probe.RELEASE_MARKER),
    Entry("workflow.dispatch", p.WorkflowDispatch, r.Changed, Effect.AMBIGUOUS, Probe.NONE, (GITHUB,)),
    Entry("pipeline.create", p.PipelineCreate, r.Pipeline, Effect.AMBIGUOUS, Probe.NONE, (GITLAB,)),
    _idempotent("dependency.add", p.Dependency),
    _idempotent("dependency.remove", p.Dependency),
    Entry("project.add_item", p.Numbered, r.ProjectItem, Effect.IDEMPOTENT, Probe.READ_BACK, (GITHUB,)),
    Entry("project.set_status", p.ProjectStatus, r.Changed, Effect.GUARDED, Probe.READ_BACK, (GITHUB,)),
)
OPERATIONS: Mapping[str, Entry] = MappingProxyType({each.suffix: each for each in _ENTRIES})
"""suffix -> entry."""
NAMES: Mapping[str, tuple[str, Entry]] = MappingProxyType(
    {each.name_on(forge): (forge, each) for each in _ENTRIES for forge in each.forges}
)
"""dotted name -> forge and entry."""
