from __future__ import annotations

from pathlib import Path

from tests.kit.cli import pointsman

MESSY = "tool a:\n    command: `echo a`   # say it\nworkflow w:\n    entry: a\n    a->done\n"
USUAL = "tool a:\n  command: `echo a`  # say it\n\nworkflow w:\n  entry: a\n  a -> done\n"


def test_files_are_written_in_the_usual_form_and_left_alone_then(tmp_path: Path) -> None:
    bot = tmp_path / "a.bot"
    bot.write_text(MESSY)
    bot.chmod(0o640)
    first = pointsman(tmp_path, "fmt", "a.bot")
    assert (first.code, bot.read_text()) == (0, USUAL)
    assert "changed  a.bot" in first.out
    assert bot.stat().st_mode & 0o777 == 0o640
    before = bot.stat().st_mtime_ns
    second = pointsman(tmp_path, "fmt", "a.bot")
    assert (second.code, second.out) == (0, "unchanged  a.bot\n")
    assert bot.stat().st_mtime_ns == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.bot"]


def test_check_writes_nothing_and_exits_1_when_a_file_would_change(tmp_path: Path) -> None:
    (tmp_path / "a.bot").write_text(MESSY)
    (tmp_path / "b.bot").write_text(USUAL)
    answer = pointsman(tmp_path, "fmt", "--check", "a.bot", "b.bot", "--json")
    assert answer.code == 1
    assert answer.document == {
        "ok": False,
        "files": [
            {"file": "a.bot", "changed": True, "error": ""},
            {"file": "b.bot", "changed": False, "error": ""},
        ],
    }
    assert (tmp_path / "a.bot").read_text() == MESSY
    assert pointsman(tmp_path, "fmt", "--check", "b.bot").code == 0


def test_a_file_that_cannot_be_read_is_told_with_its_place_and_the_others_are_formatted(tmp_path: Path) -> None:
    (tmp_path / "bad.bot").write_text("tool a\n")
    (tmp_path / "a.bot").write_text(MESSY)
    answer = pointsman(tmp_path, "fmt", "bad.bot", "gone.bot", "a.bot")
    assert answer.code == 2
    assert "bad.bot:1:" in answer.err
    assert "gone.bot cannot be read" in answer.err
    assert (tmp_path / "bad.bot").read_text() == "tool a\n"
    assert (tmp_path / "a.bot").read_text() == USUAL


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.bot").write_text(MESSY)
    (tmp_path / "link.bot").symlink_to("real.bot")
    assert pointsman(tmp_path, "fmt", "link.bot").code == 0
    assert (tmp_path / "link.bot").is_symlink()
    assert (tmp_path / "real.bot").read_text() == USUAL
