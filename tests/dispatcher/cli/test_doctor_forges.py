"""``pointsman doctor`` over each forge: what it finds, that it only reads, what ``--fix`` makes (connectors.md 22)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from connectors.fake_forge.running import FakeForge, Setup
from connectors.fake_forge.seed import BOT
from connectors.forge.memory import KnownLabel
from connectors.limiter.decisions import refused
from connectors.secrets import Secret
from dispatcher.ledger import Ledger, claims
from dispatcher.ledger.forge_rows import BoardMemory, LedgerLimits, Seat
from engine.store.database import Database
from engine.store.effects import Effects
from tests.kit.cli import Answer, pointsman
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake

COLUMNS = ("inbox", "backlog", "ready", "waiting_deps", "in_progress", "awaiting_input", "review", "blocked")
IDS = {
    "conn.resolve",
    "conn.address",
    "conn.tls",
    "conn.identity",
    "conn.scopes",
    "conn.clock",
    "conn.limit",
    "board.columns",
    "board.labels",
    "board.unmapped",
    "board.contradictory",
    "board.roles",
    "board.read",
    "board.shared",
    "hook.secret",
    "text.limits",
}
"""What a board that was never used is looked at for; the other two need a webhook and a store."""


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def forge(request: pytest.FixtureRequest) -> Iterator[FakeForge]:
    with fake(request.param) as found:
        yield found


@pytest.fixture
def github() -> Iterator[FakeForge]:
    with fake("github") as found:
        yield found


def project(folder: Path, forge: FakeForge, *, more: str = "", **columns: str) -> Path:
    named = {name: name for name in COLUMNS} | columns
    mapped = ", ".join(f'{name}: {{label: "{label}"}}' for name, label in named.items() if label)
    (folder / "pointsman.yaml").write_text(
        f'boards: [{{name: web, kind: {forge.kind}, url: "{forge.url}", repo: {forge.repo}, token: $TOKEN,'
        f" allow_private: true, columns: {{{mapped}, done: {{closed: true}}}}{more}}}]\n"
    )
    return folder


def doctor(folder: Path, forge: FakeForge, *more: str, token: str = "") -> Answer:
    return pointsman(
        folder, "doctor", "--json", *more, environment={"TOKEN": token or forge.token, "HOOK": "0123456789abcdef"}
    )


def found(answer: Answer, check: str, level: str = "") -> list[dict[str, Any]]:
    checks: list[dict[str, Any]] = answer.document["checks"]
    return [each for each in checks if each["id"] == check and level in ("", each["level"])]


def writes(forge: FakeForge) -> list[Any]:
    return [each for each in forge.requests() if each["method"] not in ("GET", "HEAD")]


def test_a_healthy_board_passes_every_check_and_nothing_is_written(tmp_path: Path, forge: FakeForge) -> None:
    """C160: doctor twice; reads only, on the forge and in the folder."""
    project(tmp_path, forge)
    forge.issue("Do it", labels=["ready"])
    for _ in range(2):
        answer = doctor(tmp_path, forge)
        assert answer.code == 0, [each for each in answer.document["checks"] if each["level"] == "fail"]
        assert {each["id"] for each in answer.document["checks"]} >= IDS
        assert all(set(each) == {"id", "level", "text", "remedy"} for each in answer.document["checks"])
    assert writes(forge) == []
    assert [each.name for each in tmp_path.iterdir()] == ["pointsman.yaml"]
    assert "1 open cards" in found(answer, "board.read", "pass")[0]["text"]


def test_each_finding_that_is_no_pass_says_what_to_do(tmp_path: Path, forge: FakeForge) -> None:
    project(tmp_path, forge, review="", ready="redy")
    answer = doctor(tmp_path, forge)
    assert all(each["remedy"] for each in answer.document["checks"] if each["level"] != "pass")
    plain = pointsman(tmp_path, "doctor", environment={"TOKEN": forge.token})
    assert "fail  board.labels" in plain.out


def test_a_token_without_the_right_to_label_fails_with_the_right_s_name(tmp_path: Path, forge: FakeForge) -> None:
    """C159: by the token's scopes where they are told, by the account's role elsewhere."""
    project(tmp_path, forge)
    if forge.kind == "forgejo":
        forge.act("rights", login=BOT, permission="read")
    else:
        forge.act("scope_missing", scope="issues", token=forge.token)
    answer = doctor(tmp_path, forge)
    assert answer.code == 1
    missing = [each["text"] for each in found(answer, "conn.scopes", "fail")]
    assert any("web: label: " in text for text in missing)
    assert any("web: close: " in text for text in missing)
    assert found(answer, "conn.scopes", "pass")[0]["text"] == "web: read: held, to see cards"


def test_a_role_that_only_reads_fails_whatever_the_token_may(tmp_path: Path, forge: FakeForge) -> None:
    """C159"""
    project(tmp_path, forge)
    forge.act("rights", login=BOT, permission="none" if forge.kind == "gitlab" else "read")
    assert any("label" in each["text"] for each in found(doctor(tmp_path, forge), "conn.scopes", "fail"))


def test_a_fine_grained_token_does_not_reach_the_project_of_a_user(tmp_path: Path, github: FakeForge) -> None:
    """C159"""
    value = "github_pat_0123456789abcdef"
    github.act("add_token", value=value, scopes=["read", "issues", "contents"])
    project(tmp_path, github, more=", project: {owner: octo, number: 1}")
    answer = doctor(tmp_path, github, token=value)
    (fault,) = found(answer, "conn.scopes", "fail")
    assert fault["text"].startswith("web: project: the project cannot be reached")
    assert "fine-grained" in fault["remedy"]
    assert found(doctor(tmp_path, github), "conn.scopes", "fail") == []


def test_fix_makes_the_missing_labels_and_nothing_else(tmp_path: Path, forge: FakeForge) -> None:
    """connectors.md 22: --fix writes only what its line names, with an effect row each."""
    project(tmp_path, forge, review="to review", waiting_deps="on hold")
    before = doctor(tmp_path, forge)
    assert before.code == 1
    assert len(found(before, "board.labels", "fail")) == 2
    assert writes(forge) == []
    fixed = doctor(tmp_path, forge, "--fix")
    assert fixed.code == 0
    assert {each["operation"] for each in writes(forge)} == {"label.define"}
    assert len(writes(forge)) == 2
    rows = pointsman(tmp_path, "effects", "list", "--json", environment={"TOKEN": forge.token}).document["effects"]
    assert {(row["operation"], row["state"]) for row in rows} == {(f"{forge.kind}.label.define", "done")}
    again = doctor(tmp_path, forge, "--fix")
    assert (again.code, len(writes(forge))) == (0, 2)


def test_a_column_whose_label_is_spelled_otherwise(tmp_path: Path, forge: FakeForge) -> None:
    """C031 for the doctor: a near miss is named where spelling counts, and is the label where it does not."""
    project(tmp_path, forge, ready="Ready")
    answer = doctor(tmp_path, forge)
    lost = [each["text"] for each in found(answer, "board.columns", "fail")]
    near = 'web: column ready is lost: there is no label "Ready"; there is "ready"'
    assert lost == ([] if forge.kind == "github" else [near])


def test_a_column_that_follows_its_renamed_label_is_told_until_the_configuration_says_so(
    tmp_path: Path, github: FakeForge
) -> None:
    """C034 for the doctor: also when the rename was seen long ago; another case is the same name on GitHub."""
    project(tmp_path, github)
    github.act("delete_label", label="ready")
    known = KnownLabel("ready", str(github.act("define_label", label="todo")["id"]), "todo")
    github.act("recase_label", **{"from": "review", "to": "Review"})
    with Database.open(f"sqlite:///{tmp_path / '.pointsman' / 'pointsman.db'}") as database:
        seat, effects = Seat("web", "github", frozenset({"web"})), Effects(database, FakeClock())
        BoardMemory(seat, Ledger(database), effects, writes=True).keep_columns({"ready": known})
    (told,) = found(doctor(tmp_path, github), "board.columns", "warn")
    assert 'column ready is called "todo" now, not "ready"' in told["text"]
    assert told["remedy"] == 'Set boards[web].columns.ready.label: "todo".'


@pytest.mark.parametrize(("act", "remedy"), [("archive", "out of the archive"), ("issues_off", "Switch issues on")])
def test_a_repository_that_takes_no_writes_is_not_blamed_on_the_token(
    tmp_path: Path, forge: FakeForge, act: str, remedy: str
) -> None:
    """C122 for the doctor."""
    project(tmp_path, forge)
    forge.act(act)
    missing = found(doctor(tmp_path, forge), "conn.scopes", "fail")
    assert missing
    assert all(remedy in each["remedy"] for each in missing)


def test_a_clock_that_is_off_is_told(tmp_path: Path) -> None:
    """connectors.md 22: more than 30 s between the forge's Date and this host's."""
    for seconds, level in ((600, "warn"), (5, "pass")):
        clock = FakeClock(datetime.now(UTC) + timedelta(seconds=seconds))
        with fake("gitlab", Setup(clock=clock)) as forge:
            project(tmp_path, forge)
            assert len(found(doctor(tmp_path, forge), "conn.clock", level)) == 1


@pytest.mark.parametrize(
    ("wrong", "check"), [("token", "conn.identity"), ("host", "conn.resolve"), ("repo", "conn.scopes")]
)
def test_a_connection_that_does_not_work_is_one_failure(
    tmp_path: Path, forge: FakeForge, wrong: str, check: str
) -> None:
    project(tmp_path, forge)
    path = tmp_path / "pointsman.yaml"
    if wrong == "host":
        path.write_text(path.read_text().replace("127.0.0.1", "no-such-host.invalid"))
    elif wrong == "repo":
        path.write_text(path.read_text().replace("octo/demo", "octo/none"))
    answer = doctor(tmp_path, forge, token="another-token-0123456789" if wrong == "token" else "")
    assert answer.code == 1
    assert [each["id"] for each in answer.document["checks"] if each["level"] == "fail"] == [check]


def test_an_address_that_the_guard_refuses_is_told_before_a_call(tmp_path: Path, forge: FakeForge) -> None:
    """C134 for the doctor."""
    project(tmp_path, forge)
    path = tmp_path / "pointsman.yaml"
    path.write_text(path.read_text().replace("allow_private: true", 'allow_private: ["10.0.0.0/8"]'))
    answer = doctor(tmp_path, forge)
    assert "loopback" in found(answer, "conn.address", "fail")[0]["text"]
    assert forge.requests() == []


def test_cards_in_two_columns_and_roles_without_one_are_warned_of(tmp_path: Path, forge: FakeForge) -> None:
    project(tmp_path, forge, review="")
    number = forge.issue("Both", labels=["ready", "blocked"])
    other = forge.issue("None", labels=["bug"])
    answer = doctor(tmp_path, forge)
    assert f"#{number}" in found(answer, "board.contradictory", "warn")[0]["text"]
    assert "columns.completed is review" in found(answer, "board.roles", "warn")[0]["text"]
    assert f"#{other}" in found(answer, "board.unmapped", "pass")[0]["text"]
    assert "review" in found(answer, "board.labels", "warn")[0]["text"]


def test_a_webhook_whose_deliveries_fail_is_warned_of(tmp_path: Path, forge: FakeForge) -> None:
    """connectors.md 15: disabled and failing hooks."""
    project(tmp_path, forge, more=", webhook_secret: $HOOK")
    assert found(doctor(tmp_path, forge), "hook.health", "warn")
    forge.act("add_hook", url=f"http://127.0.0.1:9/api/hooks/{forge.kind}", secret="0123456789abcdef")
    number = forge.issue("Told", labels=["ready"])
    forge.act("close", number=number)
    forge.delivered()
    (told,) = found(doctor(tmp_path, forge), "hook.health")
    assert told["level"] == ("warn" if forge.kind == "github" else "pass")
    forge.act("scope_missing", scope="hooks", token=forge.token)
    assert "may not ask" in found(doctor(tmp_path, forge), "hook.health", "pass")[0]["text"]


def test_a_credential_that_the_daemon_gave_up_for_now_is_asked_all_the_same(tmp_path: Path, github: FakeForge) -> None:
    """Whether a secret works again is what a person wants to know; the daemon's row stays as it is."""
    project(tmp_path, github)
    key = f"{urlsplit(github.url).netloc}/{Secret(github.token).digest[:16]}"
    with Database.open(f"sqlite:///{tmp_path / '.pointsman' / 'pointsman.db'}") as database:
        limits = LedgerLimits(Ledger(database))
        for _ in range(3):
            limits.change(key, lambda state: refused(state, 401, datetime.now(UTC)))
        assert found(doctor(tmp_path, github), "conn.identity", "pass")
        assert limits.read(key).refused_until is not None


def test_a_claim_of_another_store_is_named_with_the_comment(tmp_path: Path, forge: FakeForge) -> None:
    project(tmp_path, forge, more=", shared: true")
    number = forge.issue("Claimed", labels=["in_progress"])
    marker = "<!-- pointsman claim owner=s9 instance=i9 epoch=3 until=2030-01-02T03:04:05Z -->"
    forge.act("comment", number=number, body=f"Taken.\n\n{marker}", login=BOT)
    (told,) = found(doctor(tmp_path, forge), "board.shared", "warn")
    assert f"#{number}" in told["text"]
    assert "s9" in told["text"]
    assert "delete the comment" in told["remedy"]


def test_a_claim_ref_of_another_store_is_named_with_the_ref(tmp_path: Path, github: FakeForge) -> None:
    """C156, connectors.md 22: leftovers are named where claims are refs as well."""
    path = project(tmp_path, github, more=", shared: true") / "pointsman.yaml"
    path.write_text(path.read_text() + "claims: {arbitration: ref}\n")
    number = github.issue("Claimed", labels=["in_progress"])
    (fine,) = found(doctor(tmp_path, github), "board.shared", "pass")
    assert "no claim of another store" in fine["text"]
    github.act("set_ref", ref=f"refs/pointsman/claims/{number}")
    (told,) = found(doctor(tmp_path, github), "board.shared", "warn")
    assert f"#{number} carries a claim of nobody, until an unreadable time" in told["text"]
    assert told["remedy"].endswith(f"delete the ref refs/pointsman/claims/{number}")


def test_own_claims_that_are_on_are_told_from_those_left_behind(tmp_path: Path, forge: FakeForge) -> None:
    """connectors.md 22: the first is in order; the second is named with the comment to delete."""
    project(tmp_path, forge, more=", shared: true")
    number, other = (forge.issue(title, labels=["in_progress"]) for title in ("On", "Left"))
    with Database.open(f"sqlite:///{tmp_path / '.pointsman' / 'pointsman.db'}") as database:
        ledger = Ledger(database)
        owner = claims.identity(ledger, lambda: "s1")
        marker = f"<!-- pointsman claim owner={owner} instance=i1 epoch=3 until=2030-01-02T03:04:05Z -->"
        made = [forge.act("comment", number=each, body=f"Taken.\n\n{marker}", by=BOT)["id"] for each in (number, other)]
        until = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
        claims.keep(ledger, claims.ForgeClaimed(("web", str(number)), claims.Stage.WON, "i1", 3, until, str(made[0])))
    (told,) = found(doctor(tmp_path, forge), "board.shared", "warn")
    assert f"#{other} carries a claim that this store left behind" in told["text"]
    assert "delete the comment" in told["remedy"]
    forge.act("delete_comment", number=other, id=made[1])
    (fine,) = found(doctor(tmp_path, forge), "board.shared", "pass")
    assert fine["text"].endswith("our own that are on: 1")


def test_a_board_that_takes_longer_than_a_tick_gives_it_is_told(tmp_path: Path, github: FakeForge) -> None:
    """dispatcher.md 4: such a board counts as unreadable in every tick."""
    file = project(tmp_path, github) / "pointsman.yaml"
    file.write_text(f"{file.read_text()}tick: {{board_deadline: 1ms}}\n")
    (told,) = found(doctor(tmp_path, github), "board.read", "fail")
    assert "longer than tick.board_deadline (0.001 s)" in told["text"]
    assert "raise tick.board_deadline" in told["remedy"]


def test_links_that_the_forge_does_not_tell_are_explained(tmp_path: Path) -> None:
    """connectors.md 20: GitLab without a licence; such cards are held."""
    with fake("gitlab") as forge:
        project(tmp_path, forge)
        forge.issue("Do it", labels=["ready"])
        forge.script({"match": {"path": "*/links"}, "fault": "status", "with": {"code": 403}})
        (told,) = found(doctor(tmp_path, forge), "board.read", "warn")
        assert "what card #1 waits for cannot be read" in told["text"]
        assert "a licence for links that block" in told["remedy"]
