from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from dispatcher import __version__
from dispatcher.cli.output import json_text
from dispatcher.cli.session import Session
from dispatcher.cli.shell import group, load_command
from dispatcher.cli.verbs import VERBS
from dispatcher.refusals import Refused
from tests.kit.cli import pointsman

HEAVY = (
    "sqlalchemy",
    "sqlmodel",
    "httpx",
    "apscheduler",
    "fastapi",
    "pydantic",
    "structlog",
    "rich",
    "ruamel",
    "jinja2",
)


@pytest.fixture
def scratch_verb(monkeypatch: pytest.MonkeyPatch) -> list[Session]:
    """A verb ``inspect`` that only notes its session, in the real group."""
    seen: list[Session] = []

    @click.command()
    @click.option("--code", type=int)
    @click.pass_obj
    def command(session: Session, code: int | None) -> int | None:
        seen.append(session)
        if code == 99:
            raise Refused("conflict", "It is taken", "Wait a little.")
        return code

    module = type(sys)("scratch_verb_module")
    module.command = command  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, VERBS["inspect"].module, module)
    monkeypatch.setattr(group, "commands", {})
    return seen


def process(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dispatcher.cli", *arguments]
    root = str(Path(__file__).parents[3])
    return subprocess.run(command, text=True, capture_output=True, env={**os.environ, "PYTHONPATH": root}, **options)  # type: ignore[call-overload, no-any-return]


def test_every_verb_lives_where_the_table_says() -> None:
    for name, verb in VERBS.items():
        assert isinstance(load_command(verb), click.Command), name


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_version_and_help_import_nothing_heavy(arguments: list[str]) -> None:
    """interface.md 1: heavy imports are lazy. Importing the door of the command line is free of them too."""
    code = (
        "import sys; sys.argv = ['pointsman', *" + repr(arguments) + "]\n"
        "from dispatcher.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"print(sorted(set(sys.modules) & set({HEAVY!r})), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert done.stderr.strip() == "[]"
    assert done.stdout


def test_version_does_not_even_import_click() -> None:
    code = (
        "import sys; sys.argv = ['pointsman', '--version']\n"
        "from dispatcher.cli.main import main\n"
        "try: main()\nexcept SystemExit as end: print(end.code, 'click' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert done.stdout.splitlines() == [f"pointsman {__version__}", "0 False"]


def test_help_lists_every_verb_of_the_table(tmp_path: Path) -> None:
    shown = pointsman(tmp_path, "--help")
    assert shown.code == 0


@pytest.mark.parametrize("before", [True, False])
def test_global_options_stand_before_or_after_the_verb(
    tmp_path: Path, scratch_verb: list[Session], before: bool
) -> None:
    (tmp_path / "c.yaml").write_text("name: from-file\n")
    options = ["--store-dir", "one", "--store-url", "sqlite:///x.db", "--config", "c.yaml", "--json"]
    options += ["--log-level", "debug", "--log-format", "json"]
    line = [*options, "inspect"] if before else ["inspect", *options]
    assert pointsman(tmp_path, *line).code == 0
    (session,) = scratch_verb
    assert session.json
    assert session.store_dir == tmp_path / "one"
    assert session.store_url == f"sqlite:///{tmp_path}/x.db"
    assert session.log_level == "debug"
    assert session.log_format == "json"
    assert session.config_path == tmp_path / "c.yaml"
    assert session.settings().name == "from-file"


def test_the_verbs_answer_is_the_exit_code(tmp_path: Path, scratch_verb: list[Session]) -> None:
    assert pointsman(tmp_path, "inspect").code == 0
    assert pointsman(tmp_path, "inspect", "--code", "3").code == 3


def test_a_refusal_is_two_sentences_and_with_json_one_document(tmp_path: Path, scratch_verb: list[Session]) -> None:
    plain = pointsman(tmp_path, "inspect", "--code", "99")
    assert (plain.code, plain.out, plain.err) == (5, "", "It is taken.\nWait a little.\n")
    told = pointsman(tmp_path, "inspect", "--code", "99", "--json")
    assert (told.code, told.err) == (5, plain.err)
    assert told.document == {"error": {"code": "conflict", "message": "It is taken.", "hint": "Wait a little."}}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["inspct"], "Did you mean inspect"),
        (["inspect", "--cod", "1"], "Did you mean --code? `pointsman inspect --help`"),
        (["inspect", "--code", "x"], "inspect --help"),
        (["inspect", "extra"], "inspect --help"),
        (["--bogus"], "--help"),
        (["--log-level", "loud", "inspect"], "debug"),
    ],
)
def test_bad_usage_exits_2_and_says_what_to_do(
    tmp_path: Path, scratch_verb: list[Session], arguments: list[str], said: str
) -> None:
    plain = pointsman(tmp_path, *arguments)
    assert plain.code == 2
    assert said in plain.err
    assert plain.err.lower().count("did you mean") <= 1
    assert plain.out == ""
    told = pointsman(tmp_path, *arguments, "--json")
    assert told.code == 2
    assert told.document["error"]["code"] == "usage"
    assert told.document["error"]["hint"]


def test_version_is_answered_after_a_verb_too(tmp_path: Path, scratch_verb: list[Session]) -> None:
    answer = pointsman(tmp_path, "inspect", "--version")
    assert (answer.code, answer.out) == (0, f"pointsman {__version__}\n")
    assert scratch_verb == []


def test_an_unexpected_exception_is_one_sentence_and_exit_1() -> None:
    code = (
        "import sys, dispatcher.cli.shell as shell\n"
        "shell._invoke = lambda arguments, session: 1 / 0\n"
        "sys.exit(shell.run_process(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code]
    root = Path(__file__).parents[3]
    plain = subprocess.run([*command, "inspect"], capture_output=True, text=True, cwd=root)
    assert plain.returncode == 1
    assert "Traceback" not in plain.stderr
    assert "ZeroDivisionError" in plain.stderr
    told = subprocess.run([*command, "inspect", "--json"], capture_output=True, text=True, cwd=root)
    assert told.returncode == 1
    assert json.loads(told.stdout)["error"]["code"] == "internal"


def test_a_closed_pipe_gives_no_traceback(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "dispatcher.cli", "config", "show"],
            stdout=writer,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_closed_standard_streams_are_no_trouble(tmp_path: Path) -> None:
    line = f'"{sys.executable}" -m dispatcher.cli config show >&- 2>&- <&-'
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    )
    assert done.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_told(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dispatcher.cli", "config", "schema"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "could not be written" in done.stderr


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ("engine.api, engine.store.store", {"sqlmodel", "sqlalchemy.orm"}),
        (
            "dispatcher.daemon.daemon",
            {"connectors.forge.records", "connectors.transport.client", "httpx", "github", "regex", "fastapi"},
        ),
    ],
    ids=["the engine: no table classes", "a daemon of native boards: nothing of forges, no server"],
)
def test_what_is_heavy_is_loaded_by_those_who_need_it(modules: str, heavy: set[str]) -> None:
    """interface.md 1: heavy imports are lazy; statements are built from names alone, a forge comes with its board."""
    code = f"import sys, {modules}; print(sorted(set(sys.modules) & {heavy!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert done.stdout.strip() == "[]", done.stderr


def test_a_document_stays_on_its_line_for_every_reader() -> None:
    """interface.md 3: JSON lines, also where a tool printed what ends a line for Python, JavaScript or an editor."""
    marks = {"result": "".join(map(chr, (0x0B, 0x0C, 0x1C, 0x85, 0x2028, 0x2029))), "é": "ü"}
    text = json_text(marks)
    assert text.splitlines() == [text]
    assert json.loads(text) == marks
    assert "é" in text


@pytest.mark.parametrize("words", [("run",), ("validate",), ("bundle", "pack"), ("restore", "--check"), ("fmt",)])
def test_a_path_that_cannot_be_looked_at_is_bad_input(words: tuple[str, ...], tmp_path: Path) -> None:
    """interface.md 1: a name that is too long, as a folder without rights, is no fault of the program."""
    said = pointsman(tmp_path, *words, "x" * 300)
    assert (said.code, "File name too long" in said.err) == (2, True)
    assert "Check the path" in said.err
