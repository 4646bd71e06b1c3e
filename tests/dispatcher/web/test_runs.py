"""Runs over HTTP, executed by the real engine (interface.md 6)."""

from __future__ import annotations

import base64
import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from dispatcher.web.backstage import Backstage
from dispatcher.web.news import MOST
from dispatcher.wiring import Wiring
from engine.api import LaunchRequest, ResumeRequest
from tests.dispatcher.web.conftest import NotingDoor
from tests.kit.clock import FakeClock

ASKING = """schema answer:
  ok: bool

prompt ask:
  May it go on?

human gate:
  interaction: human
  instructions: ask
  output: answer

tool after:
  command: "echo c"

workflow work:
  entry: gate
  gate -> after
  after -> done
"""


@pytest.fixture
def paused(wiring: Wiring, tmp_path: Path) -> str:
    """A run that asks a question."""
    (tmp_path / "work.bot").write_text(ASKING)
    record = wiring.engine.launch(LaunchRequest(tmp_path / "work.bot", tmp_path, run_id="r1"))
    assert record.status == "paused_waiting_human", record.error
    return record.id


def post(client: httpx.Client, path: str, **body: Any) -> tuple[int, str]:
    answer = client.post(path, json=body)
    error = answer.json()["error"]
    return answer.status_code, error["code"] if isinstance(error, dict) else ""


def test_runs_are_listed_and_shown(client: httpx.Client, paused: str) -> None:
    assert [each["run_id"] for each in client.get("/api/runs").json()["runs"]] == [paused]
    assert client.get("/api/runs", params={"status": "finished"}).json() == {"runs": []}
    shown = client.get(f"/api/runs/{paused}").json()
    assert (shown["status"], shown["pending"]["node_id"]) == ("paused_waiting_human", "gate")
    assert client.get("/api/runs/nobody").status_code == 404
    events = client.get(f"/api/runs/{paused}/events").json()
    assert [event["seq"] for event in events["events"]] == list(range(1, len(events["events"]) + 1))
    assert client.get(f"/api/runs/{paused}/events", params={"since": 2}).json()["events"] == events["events"][2:]
    assert client.get("/api/runs/nobody/events").status_code == 404


def test_admission_refuses_before_anything_starts_and_leaves_the_run_as_it_was(
    client: httpx.Client, paused: str, tmp_path: Path
) -> None:
    """R143, R425, D110."""
    before = client.get(f"/api/runs/{paused}").json()
    path = f"/api/runs/{paused}/resume"
    assert post(client, path, answers={"ok": "true"}) == (422, "invalid_answers")
    assert post(client, path) == (422, "invalid_answers")
    assert post(client, path, answers={"ok": True, "ghost": 1}) == (422, "invalid_answers")
    assert post(client, path, answers={"ok": True}, budget={"max_duration": "soon"}) == (422, "bad_input")
    with (tmp_path / "work.bot").open("a") as source:
        source.write("# edited\n")
    assert post(client, path, answers={"ok": True}) == (409, "source_changed")
    assert client.get(f"/api/runs/{paused}").json() == before
    assert post(client, "/api/runs/nobody/resume") == (404, "not_found")
    told = client.get("/api/runs/nobody").json()["error"]
    assert (told["message"], told["hint"][:5]) == ("Run nobody is unknown.", "List "), "the page shows both in one line"


def test_a_resume_is_claimed_when_it_is_answered_and_goes_on_to_its_end(
    client: httpx.Client, paused: str, door: NotingDoor
) -> None:
    """R003."""
    path = f"/api/runs/{paused}/resume"
    assert post(client, path, answers={"ok": True}, force=True, budget={"max_duration": "4h"})[0] == 202
    door.threads[0].join(30)
    assert client.get(f"/api/runs/{paused}").json()["status"] == "finished"
    assert post(client, path) == (409, "wrong_status")


def test_a_card_whose_slot_is_taken_is_a_conflict(
    client: httpx.Client, paused: str, door: NotingDoor, wiring: Wiring
) -> None:
    door.busy, wiring.clock = 10**6, FakeClock()
    assert post(client, f"/api/runs/{paused}/resume", answers={"ok": True}) == (409, "already_running")


def test_an_answer_waits_for_the_attempt_that_asked_to_give_its_slot_back(
    client: httpx.Client, paused: str, door: NotingDoor
) -> None:
    """D110: a run is paused before its thread, or its process, has ended."""
    door.busy = 3
    assert post(client, f"/api/runs/{paused}/resume", answers={"ok": True})[0] == 202
    assert (door.busy, len(door.threads)) == (0, 1)


def test_a_run_that_another_resumed_while_the_slot_was_waited_for_is_refused(
    client: httpx.Client, paused: str, door: NotingDoor, wiring: Wiring
) -> None:
    clock = Meanwhile(lambda: wiring.engine.resume(ResumeRequest(paused, answers={"ok": True})))
    door.busy, wiring.clock = 10**6, clock
    assert post(client, f"/api/runs/{paused}/resume", answers={"ok": True}) == (409, "wrong_status")


class Meanwhile(FakeClock):
    """A clock during whose first wait something happens."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__()
        self.happens: Callable[[], object] | None = happens

    def wait(self, event: threading.Event, seconds: float) -> bool:
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        return super().wait(event, seconds)


def test_a_cancelled_run_says_so_and_a_second_cancel_is_a_conflict(client: httpx.Client, paused: str) -> None:
    assert post(client, f"/api/runs/{paused}/pause") == (409, "wrong_status")
    assert client.post(f"/api/runs/{paused}/cancel", json={"reason": "no"}).json()["status"] == "cancelled"
    assert post(client, f"/api/runs/{paused}/cancel") == (409, "wrong_status")


def test_a_deleted_run_is_gone(client: httpx.Client, paused: str, wiring: Wiring) -> None:
    wiring.engine.cancel(paused)
    wiring.engine.delete(paused)
    assert client.get(f"/api/runs/{paused}").status_code == 410


def test_a_stream_tells_the_past_then_the_end_and_goes_on_behind_the_last_event(
    client: httpx.Client, paused: str, wiring: Wiring
) -> None:
    wiring.engine.cancel(paused)
    wanted = client.get(f"/api/runs/{paused}/events").json()["events"]
    accept = {"Accept": "text/event-stream"}
    whole = client.get(f"/api/runs/{paused}/events", headers=accept)
    assert whole.headers["content-type"].startswith("text/event-stream")
    told = [json.loads(line[6:]) for line in whole.text.splitlines() if line.startswith('data: {"seq')]
    assert told == wanted
    assert whole.text.endswith("event: end\ndata: {}\n\n")
    rest = client.get(f"/api/runs/{paused}/events", headers={**accept, "Last-Event-ID": str(wanted[-2]["seq"])})
    assert rest.text.count("event: ") == 2
    over = client.get(f"/api/runs/{paused}/events", headers={**accept, "Last-Event-ID": str(wanted[-1]["seq"])})
    assert (over.status_code, over.text) == (204, ""), "a browser asks no more"


def test_streams_leave_room_for_probes(client: httpx.Client, paused: str, backstage: Backstage) -> None:
    backstage.news.readers = MOST
    accept = {"Accept": "text/event-stream"}
    refused = client.get(f"/api/runs/{paused}/events", headers=accept)
    assert (refused.status_code, refused.json()["error"]["message"]) == (503, f"There are {MOST} streams already.")
    assert client.get(f"/api/runs/{paused}/events").status_code == 200
    backstage.news.readers -= 1
    with client.stream("GET", f"/api/runs/{paused}/events", headers=accept) as stream:
        assert next(stream.iter_lines()).startswith("id: 1")


def test_a_stream_hears_of_what_another_process_writes(client: httpx.Client, paused: str, wiring: Wiring) -> None:
    """Also when nothing was written for a while, and to its end."""
    with client.stream("GET", f"/api/runs/{paused}/events", headers={"Accept": "text/event-stream"}) as stream:
        lines = stream.iter_lines()
        assert any(line == "event: run_paused" for line in lines)
        wiring.engine.cancel(paused)
        assert [line for line in lines if line.startswith("event: ")][-2:] == ["event: run_cancelled", "event: end"]


def test_a_stream_of_a_waiting_run_ends_when_the_server_stops(client: httpx.Client, paused: str, server: Any) -> None:
    with client.stream("GET", f"/api/runs/{paused}/events", headers={"Accept": "text/event-stream"}) as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("id: 1")
        server.stop()
        assert not any(line.startswith("event: end") for line in lines)


def test_a_run_is_rewound_and_the_event_tells_of_files(client: httpx.Client, wiring: Wiring, tmp_path: Path) -> None:
    """R283: overwritten and left_in_place are in the answer and in the event."""
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "two.bot").write_text(
        "tool a:\n  command: `echo a > x; exit 1`\n\nworkflow w:\n  entry: a\n  a -> done\n"
    )
    wiring.engine.launch(LaunchRequest(tmp_path / "two.bot", work, run_id="r2"))
    (work / "x").write_text("mine")
    (work / "y").write_text("mine")
    answer = client.post("/api/runs/r2/rewind", json={"node": "a"})
    assert answer.status_code == 200
    told = answer.json()["rewound"]
    assert (told["files_overwritten_paths"], told["files_left_in_place_paths"]) == (["x"], ["y"])
    event = client.get("/api/runs/r2/events").json()["events"][-1]
    assert (event["type"], event["data"]) == ("run_rewound", told)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "bad_input"),
        ({"node": "gate", "auto": True}, 422, "bad_input"),
        ({"node": "after"}, 422, "pivot_invalid"),
        ({"node": "gate", "restore_scope": "all"}, 422, "bad_input"),
        ({"auto": True}, 409, "nothing_to_rewind"),
    ],
)
def test_a_rewind_that_cannot_be_leaves_the_question_open(
    client: httpx.Client, paused: str, body: dict[str, Any], status: int, code: str
) -> None:
    """R232 over HTTP."""
    assert post(client, f"/api/runs/{paused}/rewind", **body) == (status, code)
    assert client.get(f"/api/runs/{paused}").json()["pending"]["node_id"] == "gate"


def test_the_commits_of_a_run_in_a_worktree_are_listed(client: httpx.Client, wiring: Wiring, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@t", "-C", str(repo))
    subprocess.run(("git", "init", "-q", str(repo)), check=True)
    subprocess.run((*git, "commit", "-q", "--allow-empty", "-m", "first"), check=True)
    text = "tool a:\n  command: `echo x > made`\n\nworkflow w:\n  worktree: auto\n  entry: a\n  a -> done\n"
    (tmp_path / "tree.bot").write_text(text)
    assert wiring.engine.launch(LaunchRequest(tmp_path / "tree.bot", repo, run_id="r3")).status == "finished"
    found = client.get("/api/runs/r3/commits").json()
    (commit,) = found["commits"]
    assert (found["available"], found["branch"], commit["sha"]) == (True, "pointsman/r3", found["head"])
    assert commit["subject"] == "what run r3 left behind"


def test_a_list_of_commits_is_not_available_and_says_why(client: httpx.Client, paused: str) -> None:
    found = client.get(f"/api/runs/{paused}/commits").json()
    assert (found["available"], found["reason"]) == (False, "no_baseline")
    assert client.get("/api/runs/nobody/commits").status_code == 404


PAPERS = ASKING.replace("  ok: bool\n", "  ok: bool\n  paper: file\n  note: string\n")


@pytest.fixture
def asked(wiring: Wiring, tmp_path: Path) -> str:
    """A run that asks for a file among others."""
    (tmp_path / "papers.bot").write_text(PAPERS)
    return wiring.engine.launch(LaunchRequest(tmp_path / "papers.bot", tmp_path, run_id="r2")).id


def upload(name: str, content: bytes) -> dict[str, str]:
    return {"filename": name, "content": base64.b64encode(content).decode()}


def test_files_come_with_an_answer_and_stay_with_the_run(
    client: httpx.Client, asked: str, door: NotingDoor, wiring: Wiring
) -> None:
    """language.md 5.4: a file for its field, others as they are; each keeps its name, and equal names do not meet."""
    files = {
        "paper": [upload("r\u00e9sum\u00e9.pdf", b"%PDF \0")],
        "_attachments": [upload("a", b"1"), upload("a", b"2")],
    }
    answers = {"ok": True, "note": "@here"}
    assert post(client, f"/api/runs/{asked}/resume", answers=answers, files=files)[0] == 202
    door.threads[0].join(30)
    taken: Any = wiring.engine.inspect(asked).outputs["gate"]
    assert (taken["ok"], taken["note"], taken["paper"]["filename"]) == (True, "@here", "r\u00e9sum\u00e9.pdf")
    assert Path(taken["paper"]["path"]).read_bytes() == b"%PDF \0"
    assert [Path(each["path"]).read_bytes() for each in taken["_attachments"]] == [b"1", b"2"]
    assert client.get(f"/api/runs/{asked}").json()["status"] == "finished"


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"note": [upload("x", b"x")]}, "files.note"),
        ({"ghost": [upload("x", b"x")]}, "files.ghost"),
        ({"paper": [upload("x", b"x"), upload("y", b"y")]}, "files.paper"),
        ({"paper": [{"filename": "x", "content": "no base64!"}]}, "files.paper"),
        ({"paper": [{"filename": "", "content": ""}]}, "files.paper.0.filename"),
    ],
)
def test_a_file_that_nothing_asks_for_is_refused_and_the_question_stays(
    client: httpx.Client, asked: str, files: Any, named: str
) -> None:
    before = client.get(f"/api/runs/{asked}").json()
    body = {"answers": {"ok": True, "note": "x"}, "files": files}
    answer = client.post(f"/api/runs/{asked}/resume", json=body)
    assert (answer.status_code, named in answer.json()["error"]["message"]) == (422, True), answer.text
    assert client.get(f"/api/runs/{asked}").json() == before


@pytest.mark.parametrize("name", ["../../up", "/etc/passwd", "a\nb", "..", ".hidden", "\0", "x" * 500])
def test_no_name_of_a_file_leads_anywhere(
    client: httpx.Client, asked: str, door: NotingDoor, wiring: Wiring, name: str
) -> None:
    body = {"answers": {"ok": True, "note": "x"}, "files": {"paper": [upload(name, b"content")]}}
    assert client.post(f"/api/runs/{asked}/resume", json=body).status_code == 202
    door.threads[0].join(30)
    taken: Any = wiring.engine.inspect(asked).outputs["gate"]
    path = Path(taken["paper"]["path"])
    assert path.parent == wiring.store_dir / "runs" / asked / "attachments"
    assert path.read_bytes() == b"content"
