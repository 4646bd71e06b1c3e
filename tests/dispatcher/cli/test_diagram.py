from __future__ import annotations

from pathlib import Path

from tests.kit.cli import pointsman

SOURCE = (
    "tool alpha:\n  command: `echo a`\n\ntool beta:\n  command: `echo b`\n\n"
    "workflow w:\n  entry: alpha\n  alpha -> beta\n  beta -> done\n"
)


def test_a_workflow_is_drawn_as_mermaid_text(tmp_path: Path) -> None:
    """interface.md 2."""
    (tmp_path / "main.bot").write_text(SOURCE)
    plain = pointsman(tmp_path, "diagram", str(tmp_path / "main.bot"))
    assert plain.code == 0
    assert plain.out.startswith("flowchart")
    assert "alpha" in plain.out
    assert "beta" in plain.out
    detailed = pointsman(tmp_path, "diagram", str(tmp_path / "main.bot"), "--detailed", "--json")
    assert "echo a" in detailed.document["mermaid"]


def test_a_workflow_with_errors_is_refused_with_the_first(tmp_path: Path) -> None:
    (tmp_path / "main.bot").write_text(SOURCE.replace("command: `echo b`", 'colour: "red"'))
    answer = pointsman(tmp_path, "diagram", str(tmp_path / "main.bot"))
    assert answer.code == 2
    assert "main.bot:5" in answer.err
    assert "validate" in answer.err
