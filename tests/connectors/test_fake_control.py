"""The control interface, the webhooks, the state file and the command line of the fake forge (connectors.md 24)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from connectors.fake_forge.acts import ActError
from connectors.fake_forge.control import BadControl
from connectors.fake_forge.running import Setup, running
from tests.kit.cli import pointsman
from tests.kit.fakes import Caller, fake

SECRET = "a secret of the hook"


class Inbox(ThreadingHTTPServer):
    """Takes webhooks and keeps them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taker)
        self.letters: list[tuple[dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class Taker(BaseHTTPRequestHandler):
    server: Inbox

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.letters.append(({key.lower(): value for key, value in self.headers.items()}, body))
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def inbox() -> Iterator[Inbox]:
    with Inbox() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_everything_can_be_controlled_over_http() -> None:
    with fake("github") as forge, httpx.Client(base_url=f"{forge.control_url}/_fake/", trust_env=False) as control:
        made = control.post("act", json={"do": "create_issue", "title": "t"}).json()
        with Caller(forge) as call:
            assert call("GET", f"/repos/octo/demo/issues/{made['number']}").status_code == 200
            seen = control.get("requests").json()["requests"]
            assert (seen[-1]["operation"], seen[-1]["headers"]["authorization"]) == ("issue.get", "***")
            assert forge.token not in control.get("requests").text + control.get("state").text
            assert control.post("script", json=[{"fault": "status", "with": {"code": 500}}]).json() == {"rules": 1}
            assert call("GET", "/user").status_code == 500
            assert httpx.get(f"{forge.url}/_fake/state", trust_env=False).status_code == 200
            assert control.post("clock", json={"set": "2030-01-01T00:00:00Z", "frozen": True}).json() == {
                "now": "2030-01-01T00:00:00Z"
            }
            assert control.post("reset").status_code == 200
            assert call("GET", f"/repos/octo/demo/issues/{made['number']}").status_code == 404


@pytest.mark.parametrize(
    ("path", "document", "told"),
    [
        ("act", {"do": "clsoe", "number": 1}, "Did you mean close?"),
        ("act", {"do": "close"}, 'The act needs "number".'),
        ("act", {"do": "close", "number": 9}, "There is no card 9"),
        ("act", {"do": "close", "number": "x"}, "The act close cannot use what it was given"),
        ("act", {"do": "move", "number": 9}, 'The act needs "from" or "to".'),
        ("script", [{"fault": "dripp"}], "Did you mean drip?"),
        ("script", [{"match": {"metod": "GET"}, "fault": "drip"}], "Did you mean method?"),
        ("script", [{"fault": "drip", "wiht": {}}], "Did you mean with?"),
        ("clock", {"set": "2030-01-01T00:00:00"}, "needs an instant with a zone"),
        ("clock", {"advance": "soon"}, "does not understand"),
        ("scrpt", {}, "Did you mean POST script?"),
    ],
)
def test_what_cannot_be_used_is_told(path: str, document: Any, told: str) -> None:
    with running("gitlab") as forge:
        answer = httpx.post(f"{forge.control_url}/_fake/{path}", json=document, trust_env=False)
        assert told in answer.json()["error"]
        assert answer.status_code in (400, 404)


def test_in_process_control_raises_what_http_tells() -> None:
    with running("forgejo") as forge:
        with pytest.raises(ActError):
            forge.act("nothing")
        with pytest.raises(BadControl):
            forge.clock(set="yesterday")


def test_the_state_outlives_the_process(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    with running("github", Setup(state=file)) as forge:
        number = forge.issue("kept", labels=["ready"])
    with running("github", Setup(state=file)) as again:
        assert (again.card(number).title, again.labels_of(number)) == ("kept", ["ready"])


def test_a_state_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    with running("gitlab", Setup(state=file)):
        pass
    told = pointsman(tmp_path, "fake-forge", "--forge", "github", "--state", str(file))
    assert (told.code, "holds the state of a gitlab" in told.err) == (2, True)
    file.write_text("[]")
    told = pointsman(tmp_path, "fake-forge", "--forge", "github", "--state", str(file))
    assert (told.code, "holds no state of a fake forge" in told.err) == (2, True)


def signed_by_github(headers: dict[str, str], body: bytes) -> bool:
    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return headers["x-hub-signature-256"] == f"sha256={digest}"


def signed_by_gitlab(headers: dict[str, str], body: bytes) -> bool:
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = hmac.new(SECRET.encode(), text, hashlib.sha256).digest()
    return headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()


def signed_by_forgejo(headers: dict[str, str], body: bytes) -> bool:
    return headers["x-forgejo-signature"] == hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()


@pytest.mark.parametrize(
    ("kind", "holds", "event"),
    [
        ("github", signed_by_github, "x-github-event"),
        ("gitlab", signed_by_gitlab, "x-gitlab-event"),
        ("forgejo", signed_by_forgejo, "x-forgejo-event"),
    ],
)
def test_hooks_are_signed_as_each_forge_signs(kind: str, holds: Any, event: str) -> None:
    with fake(kind) as forge, inbox() as box:
        forge.act("add_hook", url=box.url, secret=SECRET)
        number = forge.issue("Émoji 😀", labels=["ready"])
        forge.act("comment", number=number, body="a\r\nb")
        forge.act("create_pull", head="work")
        forge.delivered()
        assert len(box.letters) >= 4
        assert all(holds(headers, body) for headers, body in box.letters)
        assert all(event in headers for headers, _ in box.letters)
        assert {each.status for each in forge.world.deliveries} == {202}
        box.letters.clear()
        forge.script({"fault": "deliver_bad_signature"})
        forge.act("close", number=number)
        forge.delivered()
        assert not holds(*box.letters[0])


def test_deliveries_are_repeated_held_lost_swapped_and_strange() -> None:
    with fake("github") as forge, inbox() as box:
        number = forge.issue()
        forge.act("add_hook", url=box.url, secret=SECRET)
        forge.delivered()

        def after(fault: str, *acts: str, **given: Any) -> list[str]:
            box.letters.clear()
            forge.script({"fault": fault, "match": {"nth": 1}, **({"with": given} if given else {})})
            for act in acts:
                forge.act(act, number=number)
            forge.delivered()
            return [json.loads(body)["action"] for _, body in box.letters]

        assert after("deliver_twice", "close") == ["closed", "closed"]
        assert len({headers["x-github-delivery"] for headers, _ in box.letters}) == 1
        assert after("deliver_lost", "reopen") == []
        assert after("deliver_unknown_action", "close") == ["transmogrified"]
        assert after("deliver_out_of_order", "reopen", "close") == ["closed", "reopened"]
        assert after("deliver_late", "reopen", seconds=30) == []
        forge.clock(advance=31)
        forge.delivered()
        assert [json.loads(body)["action"] for _, body in box.letters] == ["reopened"]


def test_a_receiver_that_is_not_there_shows_as_failed() -> None:
    with fake("github") as forge:
        forge.act("add_hook", url="http://elsewhere.example/")  # a rehearsal does not leave the machine
        forge.act("add_hook", url="http://127.0.0.1:9/")
        forge.delivered()
        assert [each.status for each in forge.world.deliveries] == [0, 0]
        with Caller(forge) as call:
            hook = call("GET", "/repos/octo/demo/hooks").json()[0]
            assert hook["last_response"]["status"] == "error"
            assert call("GET", f"/repos/octo/demo/hooks/{hook['id']}/deliveries").json()[0]["status_code"] == 0


def started(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "connectors.fake_forge", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_process_plays_a_forge_until_it_is_told_to_stop(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"fault": "status", "with": {"code": 503}, "match": {"nth": 2}}]))
    process = started("--forge", "forgejo", "--script", str(script), "--state", str(tmp_path / "s.json"))
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    headers = {"Authorization": f"token {told['token']}"}
    answers = [httpx.get(f"{told['url']}/api/v1/user", headers=headers, trust_env=False) for _ in range(2)]
    assert [each.status_code for each in answers] == [200, 503]
    assert httpx.get(told["control"] + "state", trust_env=False).status_code == 200
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert (tmp_path / "s.json").exists()


def test_a_script_with_an_unknown_fault_ends_with_the_nearest_name(tmp_path: Path) -> None:
    """C163."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"fault": "act_then_clsoe"}]))
    process = started("--forge", "github", "--script", str(script))
    _, error = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "Did you mean act_then_close?" in error
    assert "Traceback" not in error


def test_pointsman_has_the_same_verb(tmp_path: Path) -> None:
    """C163, through ``pointsman``."""
    script = tmp_path / "script.json"
    script.write_text("{")
    told = pointsman(tmp_path, "fake-forge", "--forge", "github", "--script", str(script))
    assert told.code == 2
    assert "cannot be read" in told.err
