from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from config.problems import ConfigError
from dispatcher.cli.session import Need, Session, absolute_url
from dispatcher.refusals import Refused
from tests.kit.cli import pointsman


def session(folder: Path, **environment: str) -> Session:
    return Session(environment, folder=folder)


def test_the_store_is_the_nearest_folder_upwards_else_here(tmp_path: Path) -> None:
    """interface.md 1."""
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert session(deep).store_dir == deep / ".pointsman"
    (tmp_path / ".pointsman").mkdir()
    assert session(deep).store_dir == tmp_path / ".pointsman"
    assert not (deep / ".pointsman").exists()


def test_option_beats_environment_beats_file_beats_search(tmp_path: Path) -> None:
    (tmp_path / ".pointsman").mkdir()
    (tmp_path / "pointsman.yaml").write_text("store: {dir: filed, url: 'sqlite:///filed.db'}\n")
    filed = session(tmp_path)
    assert filed.store_dir == tmp_path / "filed"
    assert filed.store_url == f"sqlite:///{tmp_path}/filed.db"
    named = session(tmp_path, POINTSMAN_STORE_DIR="named", POINTSMAN_STORE_URL="sqlite:////abs.db")
    assert named.store_dir == tmp_path / "named"
    assert named.store_url == "sqlite:////abs.db"
    named.given_store_dir = Path("given")
    named.given_store_url = "sqlite:///given.db"
    assert named.store_dir == tmp_path / "given"
    assert named.store_url == f"sqlite:///{tmp_path}/given.db"


def test_the_database_lies_in_the_store_unless_told_otherwise(tmp_path: Path) -> None:
    here = session(tmp_path)
    assert here.store_url == f"sqlite:///{tmp_path}/.pointsman/pointsman.db"
    assert not here.store_exists()
    (tmp_path / ".pointsman").mkdir()
    (tmp_path / ".pointsman" / "pointsman.db").touch()
    assert here.store_exists()


def test_a_store_is_found_where_it_was_made_whatever_its_folder_is_called(tmp_path: Path) -> None:
    """A `%` or `?` in a path is no escape and no option of an address."""
    (tmp_path / "50%20 done?" / ".pointsman").mkdir(parents=True)
    here = session(tmp_path / "50%20 done?")
    (here.store_dir / "pointsman.db").touch()
    assert here.store_exists()
    assert absolute_url(here.store_url, Path("/elsewhere")) == here.store_url


def test_a_store_that_cannot_be_looked_at_is_not_taken_for_absent(tmp_path: Path) -> None:
    """engine.md 2.3: opening it says what is wrong, as it does for a folder without rights."""
    said = pointsman(tmp_path, "inspect", "--store-dir", "y" * 300)
    assert (said.code, "cannot be made" in said.err) == (1, True)


def test_a_current_folder_that_is_gone_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(Refused, match="current folder is gone"):
        _ = Session({}).store_dir


def test_a_verb_that_only_looks_goes_on_without_a_broken_default_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pointsman.yaml").write_text("just text\n")
    looking = session(tmp_path)
    looking.need = Need.NOTHING
    assert looking.settings().name == "pointsman"
    assert "Of pointsman.yaml only the store is used" in capsys.readouterr().err
    working = session(tmp_path)
    with pytest.raises(ConfigError):
        working.settings()
    looking.use_config(tmp_path / "pointsman.yaml")
    with pytest.raises(ConfigError):
        looking.settings()


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("store: {dir: elsewhere}\nconcurency: {}\n", "elsewhere"),
        ("store: {dri: x}\n", ".pointsman"),
        ("a: [", ".pointsman"),
    ],
)
def test_looking_finds_the_store_that_a_broken_file_names(tmp_path: Path, text: str, folder: str) -> None:
    (tmp_path / "pointsman.yaml").write_text(text)
    looking = session(tmp_path)
    looking.need = Need.NOTHING
    assert looking.store_dir == tmp_path / folder


def test_only_the_daemon_minds_a_missing_bot(tmp_path: Path) -> None:
    (tmp_path / "pointsman.yaml").write_text("boards: [{name: a, bot: missing}]\n")
    assert session(tmp_path).settings().boards[0].bot == "missing"
    daemon = session(tmp_path)
    daemon.need = Need.BOTS
    with pytest.raises(ConfigError, match="missing"):
        daemon.settings()


def test_init_scaffolds_once_and_never_overwrites(tmp_path: Path) -> None:
    """interface.md 2."""
    (tmp_path / ".gitignore").write_text("mine")
    first = pointsman(tmp_path, "init", str(tmp_path), "--json")
    assert first.document["made"] == ["pointsman.yaml", "bots/hello.bot", ".gitignore"]
    assert (tmp_path / ".gitignore").read_text() == "mine\n.pointsman/\n"
    (tmp_path / "pointsman.yaml").write_text("# mine\n")
    second = pointsman(tmp_path, "init", str(tmp_path), "--json")
    assert (second.code, second.document["made"]) == (0, [])
    assert (tmp_path / "pointsman.yaml").read_text() == "# mine\n"
    assert (tmp_path / ".gitignore").read_text() == "mine\n.pointsman/\n"


def test_a_fresh_scaffold_is_a_right_configuration(tmp_path: Path) -> None:
    assert pointsman(tmp_path, "init", str(tmp_path)).code == 0
    checked = pointsman(tmp_path, "config", "check")
    assert (checked.code, checked.err) == (0, "")


def test_init_below_a_file_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    answer = pointsman(tmp_path, "init", str(tmp_path / "file" / "deeper"))
    assert answer.code == 2
    assert "file" in answer.err


def test_config_check_names_what_is_wrong_and_exits_2(tmp_path: Path) -> None:
    """D217."""
    (tmp_path / "pointsman.yaml").write_text("name: x\nconcurency: {max: 2}\n")
    plain = pointsman(tmp_path, "config", "check")
    assert plain.code == 2
    assert "pointsman.yaml:2: concurency" in plain.err
    assert "Did you mean concurrency?" in plain.err
    told = pointsman(tmp_path, "config", "check", "--json")
    assert told.document["error"]["code"] == "config_invalid"
    missing = pointsman(tmp_path, "--config", "nowhere.yaml", "config", "check")
    assert (missing.code, "nowhere.yaml" in missing.err) == (2, True)


def test_config_show_fills_in_the_environment(tmp_path: Path) -> None:
    (tmp_path / "pointsman.yaml").write_text("name: ${CONF_NAME:-by-default}\n")
    assert "by-default" in pointsman(tmp_path, "config", "show").out
    assert "from-env" in pointsman(tmp_path, "config", "show", environment={"CONF_NAME": "from-env"}).out
    assert pointsman(tmp_path, "config", "show", "--json").document["name"] == "by-default"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(tmp_path: Path, shell: str) -> None:
    answer = pointsman(tmp_path, "completion", shell)
    assert answer.code == 0
    assert "_POINTSMAN_COMPLETE" in answer.out


def test_a_command_dies_at_the_point_that_testing_names(tmp_path: Path) -> None:
    """connectors.md 9: the points of a remote change are those of every process, not of the daemon alone."""
    given = session(tmp_path, POINTSMAN_CRASH_AT="X3", POINTSMAN_TESTING="1")
    child = os.fork()
    if child == 0:
        given.wiring().passed("X2")
        given.wiring().passed("X3")
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def test_who_gives_a_command_has_a_name_without_an_environment(tmp_path: Path) -> None:
    """connectors.md 9: who settled a call is recorded, in a container as well."""
    assert session(tmp_path, USER="ann").who == "ann"
    assert session(tmp_path).who
