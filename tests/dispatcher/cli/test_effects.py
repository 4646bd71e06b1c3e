"""Remote calls on the command line: listed, shown, asked about, settled once (interface.md 5)."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from dispatcher.cli.output import Output
from dispatcher.cli.session import Session
from dispatcher.cli.shell import run
from engine.run import EffectRecord
from engine.states import RunStatus
from engine.store.store import Store
from tests.kit.cli import Answer, pointsman
from tests.kit.clock import FakeClock
from tests.kit.engine import PATH, Rig
from tests.kit.forge import AROUND, CATALOGUE, FakeForge, comments


@pytest.fixture
def forge(tmp_path: Path) -> FakeForge:
    return FakeForge(tmp_path / "forge", "vanished")


@pytest.fixture
def rig(store: Store, clock: FakeClock, tmp_path: Path, forge: FakeForge) -> Rig:
    """A run that stopped with a call in doubt, after one whose call was answered."""
    rig = Rig(store, clock, tmp_path, remote=forge.remote, around=AROUND)
    forge.script.insert(0, "ok")
    rig.run(comments(), run_id="r0")
    clock.advance(60)
    rig.run(comments())
    return rig


def doubtful(rig: Rig) -> EffectRecord:
    (row,) = rig.store.effects.list("r1")
    return row


def test_calls_in_doubt_are_listed_first(rig: Rig, tmp_path: Path) -> None:
    """R468: what ``effects list`` shows."""
    listed = pointsman(tmp_path, "effects", "list", "--json").document["effects"]
    assert [(each["run_id"], each["state"]) for each in listed] == [("r1", "ambiguous"), ("r0", "done")]
    text = pointsman(tmp_path, "effects", "list").out
    assert text.splitlines()[1].split() == [doubtful(rig).id, "ambiguous", "fake.issue.comment", "r1", "post"]
    assert len(pointsman(tmp_path, "effects", "list", "--state", "done", "--json").document["effects"]) == 1


def test_a_call_in_doubt_is_shown_with_its_question_and_the_commands(rig: Rig, tmp_path: Path) -> None:
    effect_id = doubtful(rig).id
    text = pointsman(tmp_path, "effects", "show", effect_id).out
    assert '{"number": 7, "body": "hello"}' in text
    assert "Was this call made?" in text
    for choice in ("--done --response FILE", "--not-done", "--abandon"):
        assert f"pointsman effects settle {effect_id} {choice}" in text
    shown = pointsman(tmp_path, "effects", "show", effect_id, "--json").document
    assert (shown["class"], shown["probes"], shown["stopped_run"]) == ("ambiguous", 1, True)
    assert "Was this call made?" not in pointsman(tmp_path, "effects", "show", rig.store.effects.list("r0")[0].id).out


def test_a_call_settled_as_done_answers_the_resume(rig: Rig, forge: FakeForge, tmp_path: Path) -> None:
    """R470, on the command line."""
    (tmp_path / "F").write_text('{"id": "c9"}')
    answer = pointsman(tmp_path, "effects", "settle", doubtful(rig).id, "--done", "--response", "F", "--json")
    assert (answer.code, answer.document["state"], answer.document["settled_by"]) == (0, "done", "person")
    assert rig.resume(attended=False).status == RunStatus.FINISHED
    assert rig.outputs()["post"] == {"id": "c9"}
    assert len(forge.received) == 2


def test_a_response_that_does_not_fit_settles_nothing(rig: Rig, tmp_path: Path) -> None:
    """C059: the field is named, the state stays."""
    row = doubtful(rig)
    with rig.store.database.write() as connection:
        connection.exec_driver_sql("UPDATE effect SET operation = 'github.issue.comment' WHERE id = ?", (row.id,))
    (tmp_path / "F").write_text('{"id": "c9", "number": "seven"}')
    answer = pointsman(tmp_path, "effects", "settle", row.id, "--done", "--response", "F")
    assert answer.code == 2
    assert "number" in answer.err
    assert doubtful(rig).state == "ambiguous"
    shown = pointsman(tmp_path, "effects", "show", row.id).out
    assert "Is there a comment of our account on number 7 of web with this marker?" in shown
    assert row.fingerprint in shown
    assert "asked, not found" in shown


def test_who_settled_is_kept(rig: Rig, tmp_path: Path) -> None:
    """C060: the second is told what was recorded."""
    effect_id = doubtful(rig).id
    settle = ("effects", "settle", effect_id)
    assert pointsman(tmp_path, *settle, "--not-done", environment={"USER": "ann"}).code == 0
    late = pointsman(tmp_path, *settle, "--done", environment={"USER": "bob"})
    assert late.code == 5
    assert "not_sent, by person" in late.err
    assert "(by person, ann)" in pointsman(tmp_path, "effects", "show", effect_id).out


def test_a_call_is_settled_once(rig: Rig, tmp_path: Path) -> None:
    effect_id = doubtful(rig).id
    assert pointsman(tmp_path, "effects", "settle", effect_id, "--abandon").code == 0
    answer = pointsman(tmp_path, "effects", "settle", effect_id, "--not-done", "--json")
    assert answer.code == 5
    assert answer.document["error"]["code"] == "effect_settled"
    assert pointsman(tmp_path, "effects", "probe", effect_id).code == 5


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("settle", "ID"), 2),
        (("settle", "ID", "--done", "--not-done"), 2),
        (("settle", "ID", "--abandon", "--response", "F"), 2),
        (("settle", "ID", "--done", "--response", "absent"), 2),
        (("settle", "nothing", "--done"), 1),
        (("show", "nothing"), 1),
        (("probe", "nothing"), 1),
    ],
)
def test_what_cannot_be_done_changes_nothing(rig: Rig, tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    effect_id = doubtful(rig).id
    answer = pointsman(tmp_path, "effects", *(effect_id if word == "ID" else word for word in words))
    assert answer.code == code
    assert doubtful(rig).state == "ambiguous"


def test_without_a_store_nothing_is_made(tmp_path: Path) -> None:
    assert pointsman(tmp_path, "effects", "show", "e1").code == 1
    assert pointsman(tmp_path, "effects", "list").out == "There are no recorded remote calls.\n"
    assert not (tmp_path / ".pointsman").exists()


def with_forge(folder: Path, forge: FakeForge, *words: str) -> Answer:
    """The verb in a build that has a connector."""
    out, err = io.StringIO(), io.StringIO()
    session = Session({"PATH": PATH, "TOKEN": "t" * 8}, Output(out, err), folder)
    wiring = session.wiring()
    wiring.remote, wiring.catalogue = forge.remote, CATALOGUE
    code = run(words, session)
    return Answer(code, out.getvalue(), err.getvalue())


def test_a_probe_asks_at_once(rig: Rig, forge: FakeForge, tmp_path: Path) -> None:
    row = doubtful(rig)
    assert "asked, not found" in with_forge(tmp_path, forge, "effects", "probe", row.id).out
    forge.late(row)
    assert f"Effect {row.id}: done (by probe)" in with_forge(tmp_path, forge, "effects", "probe", row.id).out


def test_a_resume_names_the_call_on_stderr_before_it_sends_it_again(store: Store, tmp_path: Path) -> None:
    """R084, on the command line; a forge that cannot be asked is exit 5, ``--force`` sends nevertheless."""
    forge = FakeForge(tmp_path / "forge", "vanished")
    (tmp_path / "pointsman.yaml").write_text(
        'boards: [{name: native, kind: native}]\nconnections: {web: {kind: github, repo: "octo/web", token: $TOKEN}}\n'
    )
    (tmp_path / "main.bot").write_text(comments().replace("fake.", "github."))
    stopped = with_forge(tmp_path, forge, "run", "main.bot", "--run-id", "r1")
    assert stopped.code == 3
    (row,) = store.effects.list("r1")
    assert f"pointsman effects show {row.id}" in stopped.out
    forge.readable = False
    refused = with_forge(tmp_path, forge, "resume", "--run-id", "r1", "--json")
    assert (refused.code, refused.document["error"]["code"]) == (5, "ambiguous_unread")
    assert len(forge.received) == 1
    resumed = with_forge(tmp_path, forge, "resume", "--run-id", "r1", "--force")
    assert resumed.code == 0, resumed.err
    assert f"github.issue.comment of node post ({row.id}) is sent again" in resumed.err


def test_what_settling_a_write_of_the_daemon_leads_to_is_told(rig: Rig, tmp_path: Path) -> None:
    """connectors.md 9: no run waits for such a row, and its result is nobody's output."""
    row = doubtful(rig)
    with rig.store.database.write() as connection:
        values = "run_id = '', card = 'web#1', operation = 'github.board.status'"
        connection.exec_driver_sql(f"UPDATE effect SET {values} WHERE id = ?", (row.id,))
    shown = pointsman(tmp_path, "effects", "show", row.id).out
    assert "ambiguous (its answer was lost)" in shown
    assert "the daemon goes on from what the card shows" in shown
    assert "your resume" not in shown
    assert "FILE" not in shown
