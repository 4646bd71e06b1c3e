"""``pointsman bundle`` (interface.md 2, language.md 13)."""

from __future__ import annotations

from pathlib import Path

from tests.kit.cli import pointsman


def test_a_scaffolded_bundle_is_valid_and_nothing_is_overwritten(tmp_path: Path) -> None:
    assert pointsman(tmp_path, "bundle", "init", "my-bot").code == 0
    answer = pointsman(tmp_path, "validate", "my-bot", "--json")
    assert answer.document == {"ok": True, "diagnostics": []}
    (tmp_path / "my-bot/main.bot").write_text("mine")
    again = pointsman(tmp_path, "bundle", "init", "my-bot", "--json")
    assert again.document["made"] == []
    assert (tmp_path / "my-bot/main.bot").read_text() == "mine"


def test_a_packed_bundle_validates_and_shows_its_content(tmp_path: Path) -> None:
    pointsman(tmp_path, "bundle", "init", "bot")
    packed = pointsman(tmp_path, "bundle", "pack", "bot", "--json")
    assert packed.code == 0
    assert (tmp_path / "bot.botz").is_file()
    assert pointsman(tmp_path, "validate", "bot.botz", "--json").document["ok"]
    shown = pointsman(tmp_path, "bundle", "inspect", "bot.botz", "--json").document
    assert shown["content_id"] == packed.document["content_id"]
    assert shown == pointsman(tmp_path, "bundle", "inspect", "bot", "--json").document
    assert [file["path"] for file in shown["files"]] == ["main.bot", "manifest.yaml", "prompts/ask.md"]
    plain = pointsman(tmp_path, "bundle", "inspect", "bot")
    assert "prompts/ask.md" in plain.out


def test_a_folder_without_a_main_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    answer = pointsman(tmp_path, "bundle", "pack", "empty")
    assert answer.code == 2
    assert "main.bot" in answer.err
