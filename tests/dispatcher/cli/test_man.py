"""Manual pages say what the help says, and ``man`` itself reads them without a complaint."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from dispatcher.cli.manual import EXIT_CODES, pages
from dispatcher.cli.shell import load_command
from dispatcher.cli.verbs import VERBS
from tests.kit.cli import pointsman


def shown(page: Path) -> str:
    """The page as a person reads it."""
    given = {**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["man", "--warnings=w", "-l", str(page)], capture_output=True, text=True, env=given)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.replace("\u2010", "-").replace("\u2212", "-")


def options_of(command: click.Command) -> set[str]:
    """Every option that the help of the command, or of one below it, shows."""
    own = {name for each in command.params if not getattr(each, "hidden", True) for name in each.opts}
    below = command.commands.values() if isinstance(command, click.Group) else ()
    return own.union(*(options_of(each) for each in below))


def test_every_verb_has_a_page_and_every_option_stands_on_it() -> None:
    made = pages()
    assert set(made) == {"pointsman.1", *(f"pointsman-{name}.1" for name in VERBS)}
    for name, verb in VERBS.items():
        page = made[f"pointsman-{name}.1"].replace("\\-", "-")
        assert verb.help in page
        for option in options_of(load_command(verb)):
            assert option in page, f"{name}: {option}"
    for name, verb in VERBS.items():
        assert verb.help.replace("-", "\\-") in made["pointsman.1"], name
    assert all(f"\\fB{code}\\fR" in made["pointsman.1"] for code in EXIT_CODES)


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed: the pages were NOT rendered")
def test_man_reads_the_installed_pages_without_a_warning(tmp_path: Path) -> None:
    answer = pointsman(tmp_path, "man", "--install", "share/man/man1", "--json")
    assert answer.code == 0
    folder = tmp_path / "share" / "man" / "man1"
    assert sorted(each.name for each in folder.iterdir()) == answer.document["pages"]
    assert "pointsman-rewind(1)" in shown(folder / "pointsman.1")
    assert "--until-idle" in shown(folder / "pointsman-dispatch.1")
    assert "pointsman board columns rename" in shown(folder / "pointsman-board.1")
    shown(folder / "pointsman-card.1")


def test_a_page_is_printed_and_an_unknown_verb_is_refused_with_the_nearest(tmp_path: Path) -> None:
    assert pointsman(tmp_path, "man").out.startswith('.TH "POINTSMAN" "1"')
    assert pointsman(tmp_path, "man", "run").out.startswith('.TH "POINTSMAN-RUN" "1"')
    answer = pointsman(tmp_path, "man", "dispach")
    assert (answer.code, "pointsman-dispatch" in answer.err) == (2, True)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    assert pointsman(tmp_path, "man", "--install", "file/below").code == 2
