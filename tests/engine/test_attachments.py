"""Files that a launch hands over, and files that answers bring (language.md 4.3, 5.4, engine.md 7.4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.api import LaunchRequest
from engine.errors import BadInput, InvalidAnswers, RunConflict, RunUnknown
from engine.run import Attachment
from engine.states import RunStatus
from tests.kit.cli import pointsman
from tests.kit.engine import Rig

WORK = """
attachments:
  plan: file
    accept_mime: ["text/*", "application/json"]
    required: true
  logo: image
tool show:
  command: `cat {{attachments.plan}} {{attachments.plan.path}} >> trace; test -e ok`
tool facts:
  command: `printf '%s %s %s' {{attachments.plan.mime}} {{attachments.plan.size}} {{attachments.plan.sha256}}`
workflow w:
  entry: show
  show -> facts -> done
"""
HELLO = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"


def given(rig: Rig, name: str = "plan.txt", text: str = "hello\n") -> Path:
    path = rig.folder / name
    path.write_text(text)
    return path


def test_a_file_of_the_launch_is_read_from_the_runs_own_copy(engine: Rig) -> None:
    """4.3, 9.1: the run keeps it, so that a resume reads what the launch was given."""
    plan = given(engine)
    engine.run(WORK, attachments={"plan": plan})
    assert engine.trace() == ["hello", "hello"]
    plan.unlink()
    engine.write("ok")
    assert engine.resume().status == RunStatus.FINISHED
    assert engine.outputs()["facts"] == {"result": f"text/plain 6 {HELLO}"}
    (stored,) = engine.store.attachments.all("r1")
    assert (stored.name, stored.filename, stored.origin) == ("plan", "plan.txt", "launch")


def test_an_answer_that_names_a_device_is_refused(engine: Rig) -> None:
    """7.4: one that never ends would fill the disk."""
    engine.run("schema d:\n  up: file\nhuman h:\n  output: d\nworkflow w:\n  entry: h\n  h -> done\n")
    with pytest.raises(InvalidAnswers, match="device"):
        engine.resume(texts={"up": "@/dev/zero"})


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "attachment plan is required and was not given"),
        ({"plan": "absent.txt"}, "there is no file"),
        ({"plan": "."}, "there is no file"),
        ({"plan": "plan.pdf"}, "plan.pdf is of type application/pdf, which is not accepted"),
        ({"plan": "plan.txt", "logo": "plan.txt"}, "attachment logo: plan.txt is of type text/plain"),
        ({"plan": "plan.txt", "plot": "plan.txt"}, "attachment plot is not declared"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_and_nothing_is_made(engine: Rig, files: dict[str, str], said: str) -> None:
    given(engine)
    given(engine, "plan.pdf")
    with pytest.raises(BadInput, match=said):
        engine.run(WORK, attachments={name: engine.folder / file for name, file in files.items()})
    with pytest.raises(RunUnknown):
        engine.store.runs.get("r1")
    assert not (engine.store.root / "runs" / "r1").exists()


def test_a_second_launch_under_a_used_id_touches_no_file(engine: Rig) -> None:
    engine.write("ok")
    engine.run(WORK, attachments={"plan": given(engine)})
    with pytest.raises(RunConflict):
        engine.run(WORK, attachments={"plan": given(engine, text="other\n")})
    (stored,) = engine.store.attachments.all("r1")
    assert Path(stored.path).read_text() == "hello\n"


def test_a_bundle_brings_files_along(engine: Rig) -> None:
    """13: by the file's stem, or as the manifest says; a launch's own file wins."""
    bundle = engine.folder / "bundle"
    (bundle / "attachments").mkdir(parents=True)
    (bundle / "data").mkdir()
    (bundle / "attachments" / "plan.txt").write_text("of the bundle\n")
    (bundle / "data" / "mark.png").write_bytes(b"png")
    (bundle / "manifest.yaml").write_text("schema_version: 1\nname: b\nattachments:\n  logo: data/mark.png\n")
    (bundle / "main.bot").write_text(WORK.replace("; test -e ok", "; cat {{attachments.logo}} >> trace"))
    request = LaunchRequest(bundle, engine.workspace, run_id="r1")
    assert engine.engine.launch(request).status == RunStatus.FINISHED
    assert engine.trace() == ["of the bundle", "of the bundle", "png"]
    own = LaunchRequest(bundle, engine.workspace, run_id="r2", attachments={"plan": given(engine)})
    engine.engine.launch(own)
    assert engine.trace()[2:] == ["pnghello", "hello", "png"]


def test_a_manifest_that_names_a_file_outside_is_told(engine: Rig) -> None:
    from engine.dsl.load import load

    bundle = engine.folder / "bundle"
    bundle.mkdir()
    (bundle / "manifest.yaml").write_text("schema_version: 1\nattachments:\n  plan: ../secret.txt\n")
    (bundle / "main.bot").write_text("tool a:\n  command: `true`\nworkflow w:\n  entry: a\n  a -> done\n")
    found = [each.message for each in load(bundle).diagnostics if each.code == "C222"]
    assert found == ["the bundle does not open: attachment `plan`: there is no file ../secret.txt in the bundle"]


def test_an_optional_file_that_was_not_given_is_unresolved(engine: Rig) -> None:
    """9.2: in a command it stays as it is written, with a warning; in a mapping it is null."""
    text = """
attachments:
  logo: image
compute see:
  expr:
    none: "input.path == input.nothing"
tool first:
  command: `true`
workflow w:
  entry: first
  first -> see with { path: "{{attachments.logo}}" }
  see -> done
"""
    assert engine.run(text).status == RunStatus.FINISHED
    assert engine.outputs()["see"] == {"none": True}


ASKS = """
schema answer:
  one: file
  two: file
human gate:
  output: answer
tool show:
  command: `cat {{outputs.gate.one.path}} {{outputs.gate.two.path}} >> trace`
workflow w:
  entry: gate
  gate -> show -> done
"""


def test_two_files_of_one_name_are_two_files(engine: Rig) -> None:
    """7.4: the descriptor that an output holds stays true."""
    texts = {}
    for name in ("one", "two"):
        (engine.folder / name).mkdir()
        (engine.folder / name / "a.tar.gz").write_text(f"{name}\n")
        texts[name] = f"@{engine.folder / name / 'a.tar.gz'}"
    engine.run(ASKS)
    assert engine.resume(texts=texts).status == RunStatus.FINISHED
    assert engine.trace() == ["one", "two"]
    names = {each.name for each in engine.store.attachments.all("r1")}
    assert names == {"a.tar.gz", "a-2.tar.gz"}
    again = engine.store.attachments.stage("r1", engine.folder / "two" / "a.tar.gz")
    assert again.name == "a-2.tar.gz"


def test_loose_files_come_with_any_answers(engine: Rig) -> None:
    """5.4: `_attachments` is no field of the form."""
    one, two = given(engine, "one.txt"), given(engine, "two.txt")
    engine.run(ASKS.replace("cat {{outputs.gate.one.path}} {{outputs.gate.two.path}}", "true"))
    with pytest.raises(InvalidAnswers, match="_attachments takes files alone"):
        engine.resume(texts={"_attachments": "one.txt"})
    with pytest.raises(InvalidAnswers, match="absent"):
        engine.resume(texts={"_attachments": f"@{one}\n@absent"})
    assert engine.document()["status"] == "paused_waiting_human"
    assert engine.resume(texts={"_attachments": f"@{one}\n@{two}"}).status == RunStatus.FINISHED
    loose: Any = engine.outputs()["gate"]["_attachments"]
    assert [each["filename"] for each in loose] == ["one.txt", "two.txt"]
    assert Path(loose[0]["path"]).read_text() == "hello\n"


@pytest.mark.parametrize("name", ["../../x", "a/b", ".hidden", "x" * 400, "ünï ü.txt", "..", "-"])
def test_a_files_name_never_leads_out_of_the_runs_folder(engine: Rig, name: str) -> None:
    """R441."""
    from engine.store.attachments import check_name, safe_name

    assert check_name(safe_name(name))
    made = Attachment("plan", f"/s/runs/r/attachments/plan/{safe_name(name)}", name, "", 0, "")
    assert made.descriptor()["attachment"] == "plan"


def test_the_command_line_hands_files_over(tmp_path: Path) -> None:
    (tmp_path / "main.bot").write_text(WORK.replace("; test -e ok", ""))
    (tmp_path / "plan.txt").write_text("hello\n")
    assert "X001" not in pointsman(tmp_path, "validate", "main.bot", "--json").out
    environment = {"PATH": "/usr/bin:/bin"}
    refused = pointsman(tmp_path, "run", "main.bot", "--run-id", "r1", "--json", environment=environment)
    assert (refused.code, refused.document["error"]["code"]) == (2, "bad_input")
    assert "--attachment plan=FILE" in refused.document["error"]["hint"]
    answer = pointsman(
        tmp_path,
        "run",
        "main.bot",
        "--run-id",
        "r1",
        "--attachment",
        "plan=plan.txt",
        "--json",
        environment=environment,
    )
    assert answer.document["outputs"]["facts"] == {"result": f"text/plain 6 {HELLO}"}
    bare = pointsman(tmp_path, "run", "main.bot", "--attachment", "plan.txt", environment=environment)
    assert (bare.code, 'has no "="' in bare.err) == (2, True)
