from __future__ import annotations

from pathlib import Path

import pytest

from config.load import load
from config.problems import ConfigError
from dispatcher.preflight import load_checked, undeclared_vars

BOT = "vars:\n  title: string\n\ntool a:\n  command: `echo a`\n\nworkflow w:\n  entry: a\n  a -> done\n"


def project(folder: Path, board: str) -> Path:
    bots = folder / "bots"
    bots.mkdir()
    (bots / "one.bot").write_text(BOT)
    (bots / "two.bot").write_text(BOT.replace("title", "prompt"))
    (bots / "broken.bot").write_text("tool a:\n  colour: 1\n")
    path = folder / "pointsman.yaml"
    path.write_text(f"boards:\n  - {board}\n")
    return path


@pytest.mark.parametrize(
    ("board", "key", "hint"),
    [
        ("{name: a, bot: one, vars: {titel: x}}", "boards[0].vars.titel", "title"),
        ("{name: a, routes: {joe: two}, route_vars: {joe: {title: x}}}", "boards[0].route_vars.joe.title", "prompt"),
        ("{name: a, bot: one, routes: {joe: two}, vars: {title: x}}", "boards[0].vars.title", "prompt"),
    ],
)
def test_a_var_that_its_bot_does_not_declare_is_refused(tmp_path: Path, board: str, key: str, hint: str) -> None:
    """dispatcher.md 20."""
    with pytest.raises(ConfigError) as caught:
        load_checked(project(tmp_path, board), {})
    (problem,) = caught.value.problems
    assert (problem.key, problem.line) == (key, 2)
    assert hint in problem.hint


@pytest.mark.parametrize(
    "board",
    [
        "{name: a, bot: one, vars: {title: x}}",
        "{name: a, bot: one, routes: {joe: two}, vars: {title: x}, route_vars: {joe: {prompt: y}}}",
        "{name: a, bot: broken, vars: {whatever: x}}",
        "{name: a, vars: {nobody: x}}",
    ],
)
def test_declared_vars_and_bots_with_errors_are_no_fault_of_the_configuration(tmp_path: Path, board: str) -> None:
    path = project(tmp_path, board)
    assert load_checked(path, {}).boards[0].name == "a"
    assert not [*undeclared_vars(load(path, {}))]
