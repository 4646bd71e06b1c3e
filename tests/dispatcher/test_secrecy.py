"""Secrets of connections that a bot prints: no output, event, failure, log line or metric shows them (C141)."""

from __future__ import annotations

import base64
import json
import sqlite3
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.fake_forge.running import Setup, running
from tests.kit.clock import FakeClock
from tests.kit.yard import Yard

SECRET = 'pat/7f3a"c19+d20b'
CONFIG = """
name: yard
boards: [{{name: native, kind: native, bot: bots/work.bot, vars: {{title: "{{{{card.title}}}}"}}}}]
connections: {{web: {{kind: gitlab, url: "{url}", repo: octo/demo, token: $TOKEN, allow_private: true}}}}
retry: {{max_attempts: 1, base: 10s, cap: 300s}}
shutdown: {{grace: 0s}}
"""
BOT = """vars:
  title: string = ""

tool work:
  command: `cat FOLDER/printed`

workflow work:
  entry: work
  work -> done
"""
FORMS = {
    "raw": SECRET,
    "encoded": urllib.parse.quote(SECRET, safe=""),
    "base64": base64.b64encode(f"octo:{SECRET}".encode()).decode(),
    "json": json.dumps(SECRET)[1:-1],
    "split": f"{SECRET[:7]}\n{SECRET[7:]}",
}


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    with running("gitlab", Setup(clock=clock)) as forge:
        bot = BOT.replace("FOLDER", str(tmp_path))
        made = Posting(tmp_path, clock, CONFIG.format(url=forge.url), bot, TOKEN=SECRET)
        yield made
        made.close()


class Posting(Yard):
    """A daemon whose configuration knows a forge."""

    connected = True


def stored(folder: Path) -> str:
    """Everything that the store's tables hold, as text."""
    with sqlite3.connect(folder / "store" / "pointsman.db") as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return "\n".join(repr(row) for name in names for row in database.execute(f'SELECT * FROM "{name}"'))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("code", [0, 1])
def test_what_a_tool_prints_is_kept_without_the_secret(
    yard: Yard, tmp_path: Path, capfd: pytest.CaptureFixture[str], form: str, code: int
) -> None:
    """C141: the output of a success, and the message of a failure, in each spelling; its other text stays."""
    (tmp_path / "printed").write_text(f"before {FORMS[form]} after")
    if code:
        yard.bot(BOT.replace("cat FOLDER/printed", f"cat {tmp_path}/printed >&2; exit 1"))
    card = yard.make("Do it")
    yard.settled()
    record = yard.run(card)
    kept = stored(tmp_path)
    for spelling in FORMS.values():
        assert spelling not in kept
        assert repr(spelling)[1:-1] not in kept
    told = record.error if code else str(yard.wiring.engine.inspect(record.id).outputs["work"])
    assert "before" in told
    assert "***" in told
    assert FORMS[form] not in "".join(capfd.readouterr())
    yard.daemon.metrics.take(yard.wiring.tally)
    text = yard.daemon.metrics.text().decode()
    assert 'pointsman_redactions_total{where="output"}' in text
    assert SECRET not in text


def test_error_streams_and_long_outputs_are_kept_without_the_secret(yard: Yard, tmp_path: Path) -> None:
    """C141: the run's log, the file of what is beyond the first mebibyte, and what is shown of it, which ends within
    the secret."""
    secret = SECRET.encode()
    long = b"\xff" + b"x" * (1024 * 1024 - 11) + secret + b"y" * 200_000 + secret
    (tmp_path / "printed").write_bytes(long)
    also = f"printf 'see %s' \"$(tail -c {len(secret)} {tmp_path}/printed)\" >&2"
    yard.bot(BOT.replace("cat FOLDER/printed", f"cat {tmp_path}/printed; {also}"))
    card = yard.make("Do it")
    yard.settled()
    run = yard.run(card)
    folder = tmp_path / "store" / "runs" / run.id
    (kept,) = (folder / "output").iterdir()
    assert kept.read_bytes() == long.replace(secret, b"***")
    assert "see ***" in (folder / "run.log").read_text()
    for path in folder.rglob("*"):
        assert not path.is_file() or secret not in path.read_bytes(), path
    shown = str(yard.wiring.engine.inspect(run.id).outputs["work"]["result"])
    assert shown.endswith("xxx***yyyyyyy")
