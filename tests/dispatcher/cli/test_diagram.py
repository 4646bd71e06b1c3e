from __future__ import annotations

from pathlib import Path

from tests.kit.cli import pointsman

BOT = "tool alpha:\n  command: `echo a`\n\nworkflow w:\n  entry: alpha\n  alpha -> done\n"


def test_a_workflow_is_drawn_as_mermaid_text(tmp_path: Path) -> None:
    """interface.md 2"""
    (tmp_path / "main.bot").write_text(BOT)
    plain = pointsman(tmp_path, "diagram", "main.bot")
    assert plain.code == 0
    assert plain.out.startswith("flowchart TD\n")
    assert "alpha" in plain.out
    assert "echo a" in pointsman(tmp_path, "diagram", "main.bot", "--detailed").out
    assert pointsman(tmp_path, "diagram", "main.bot", "--json").document["workflow"] == "w"


def test_a_workflow_with_errors_is_not_drawn(tmp_path: Path) -> None:
    (tmp_path / "main.bot").write_text(BOT.replace("alpha -> done", "alpha -> ghost"))
    answer = pointsman(tmp_path, "diagram", "main.bot")
    assert answer.code == 2
    assert "C001" in answer.err
