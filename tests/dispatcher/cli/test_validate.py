from __future__ import annotations

import io
from pathlib import Path

from dispatcher.cli.output import Output
from dispatcher.cli.session import Session
from dispatcher.cli.shell import run
from tests.kit.cli import pointsman

GOOD = "tool a:\n  command: `echo a`\n\nworkflow w:\n  entry: a\n  a -> done\n"
BAD = GOOD.replace("command: `echo a`", 'command: `echo a`\n  colour: "red"')


def test_a_good_file_has_no_findings(tmp_path: Path) -> None:
    (tmp_path / "good.bot").write_text(GOOD)
    answer = pointsman(tmp_path, "validate", str(tmp_path / "good.bot"), "--json")
    assert (answer.code, answer.document) == (0, {"ok": True, "diagnostics": []})


def test_findings_of_all_files_are_listed_with_exit_2(tmp_path: Path) -> None:
    """interface.md 2: code, severity, file, line, column, message, hint."""
    (tmp_path / "good.bot").write_text(GOOD)
    (tmp_path / "bad.bot").write_text(BAD)
    files = [str(tmp_path / "good.bot"), str(tmp_path / "bad.bot")]
    answer = pointsman(tmp_path, "validate", *files, "--json")
    (found,) = answer.document["diagnostics"]
    assert (answer.code, answer.document["ok"]) == (2, False)
    assert (found["code"], found["severity"], found["line"]) == ("E012", "error", 3)
    assert found["file"].endswith("bad.bot")
    assert found["message"]
    plain = pointsman(tmp_path, "validate", *files)
    assert plain.code == 2
    assert "bad.bot:3:" in plain.out
    assert plain.out.endswith("2 files: 1 error, 0 warnings.\n")


def test_a_fail_node_with_a_code_of_the_engine_is_an_error(tmp_path: Path) -> None:
    """R048."""
    (tmp_path / "x.bot").write_text(
        GOOD.replace("a -> done", "a -> f") + "\nfail f:\n  code: USAGE_LIMIT_BLOCKED\n  message: no\n"
    )
    answer = pointsman(tmp_path, "validate", "x.bot", "--json")
    assert answer.code == 2
    assert "C248" in [found["code"] for found in answer.document["diagnostics"]]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_line_with_a_caret(tmp_path: Path) -> None:
    (tmp_path / "bad.bot").write_text(BAD)
    out = Terminal()
    code = run(["validate", str(tmp_path / "bad.bot")], Session({}, Output(out, io.StringIO()), tmp_path))
    assert code == 2
    assert '3 |   colour: "red"' in out.getvalue()
    assert "^" in out.getvalue()


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    answer = pointsman(tmp_path, "validate", "nowhere.bot")
    assert answer.code == 2
    assert "nowhere.bot" in answer.err


def test_an_unknown_connection_is_only_known_with_a_configuration(tmp_path: Path) -> None:
    source = GOOD.replace(
        "command: `echo a`", "action: forgejo.issue.get\n  connection: docs\n  params:\n    number: 1"
    )
    (tmp_path / "act.bot").write_text(source)
    without = pointsman(tmp_path, "validate", str(tmp_path / "act.bot"), "--json")
    (tmp_path / "pointsman.yaml").write_text("name: x\n")
    configured = pointsman(tmp_path, "validate", str(tmp_path / "act.bot"), "--json")
    assert "X004" not in {found["code"] for found in without.document["diagnostics"]}
    assert "X004" in {found["code"] for found in configured.document["diagnostics"]}
