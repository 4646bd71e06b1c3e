from __future__ import annotations

from pathlib import Path

import pytest

from config.catalogue import bots_in, find_bot
from config.load import load, load_complete
from config.problems import ConfigError
from config.settings import Settings, defaults
from config.show import document_of, schema, yaml_of

BOARD = "boards:\n  - {name: native, kind: native, bot: work}\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "pointsman.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str, **environment: str) -> Settings:
    return load(write(folder, text), environment)


def refused(folder: Path, text: str, **environment: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_complete(write(folder, text), environment)
    return caught.value


@pytest.mark.parametrize(("kind", "fits"), [("github", True), ("gitlab", False), ("forgejo", False)])
def test_claims_by_ref_are_refused_where_a_forge_makes_no_refs(tmp_path: Path, kind: str, fits: bool) -> None:
    """C156: GitHub alone; elsewhere the message says what to write."""
    board = f"{{name: web, kind: {kind}, url: 'https://f.example', repo: a/b, token: $T, shared: true, columns: {{}}}}"
    text = f"name: x\nboards: [{board}]\nclaims: {{arbitration: ref}}\n"
    if fits:
        assert read(tmp_path, text, T="a-token-of-8").claims.arbitration == "ref"
        return
    problem = refused(tmp_path, text, T="a-token-of-8").problems[0]
    assert (problem.key, problem.hint) == ("boards[0].shared", "Write claims.arbitration: comment.")
    assert f"{kind} makes no refs" in problem.text


@pytest.mark.parametrize(
    ("line", "key", "said"),
    [
        ("concurency: {max: 2}", "concurency", "concurrency"),
        ("tick: {intervall: 1s}", "tick.intervall", "interval"),
        ("tick: {interval: soon}", "tick.interval", "soon"),
        ("tick: {interval: 15}", "tick.interval", "no unit"),
        ("concurrency: {max: -1}", "concurrency.max", "-1"),
        ("concurrency: {max: many}", "concurrency.max", "many"),
        ("hooks: {before_run: {scrpt: x}}", "hooks.before_run.scrpt", "script"),
        ("hooks: {before_run: {}}", "hooks.before_run", "script or path"),
        ("server: {host: 0.0.0.0}", "server", "server.token"),
        ("server: {port: 70000}", "server.port", "65535"),
        ("columns: {cancelled: ready}", "columns.cancelled", "ready"),
        ("columns: {cancelled: null}", "columns.cancelled", "string"),
        ("claims: {lease: 30s, heartbeat: 20s}", "claims", "claims.heartbeat"),
        ("connections: {native: {kind: gitlab, repo: a/b, token: $T}}", "boards[0].name", "twice"),
        ("connections: {x: {kind: gitlab, repo: a/b}}", "connections.x", "token"),
        ("connections: {x: {kind: forgejo, repo: a/b, token: $T}}", "connections.x", "url"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key_and_line(tmp_path: Path, line: str, key: str, said: str) -> None:
    """D217, D086, R483: sentence with key and line; the nearest known name for an unknown key."""
    problem = refused(tmp_path, f"name: x\nboards: [{{name: native}}]\n{line}\n", T="a-token-of-8").problems[0]
    assert problem.key == key
    assert problem.line in (2, 3)
    assert said in problem.text + problem.hint
    assert problem.hint
    assert problem.file.endswith("pointsman.yaml")


@pytest.mark.parametrize(
    ("board", "key", "said"),
    [
        ("{name: a, rout: {}}", "boards[0].rout", "routes"),
        ("{name: a, kind: trello}", "boards[0].kind", "trello"),
        ("{name: a, bot: bots/missing.bot}", "boards[0].bot", "missing"),
        ("{name: a, routes: {joe: missing}}", "boards[0].routes.joe", "missing"),
        ('{name: a, vars: {t: "{{card.titel}}"}}', "boards[0].vars.t", "card.title"),
        ('{name: a, route_vars: {joe: {t: "{{nope.x}}"}}}', "boards[0].route_vars.joe.t", "nope.x"),
        ("{name: a, columns: {ready: {label: x, closed: true}}}", "boards[0].columns.ready", "exactly one"),
        ("{name: a, trust: {who: 3}}", "boards[0].trust.who", "3"),
        ("{kind: native}", "boards[0].name", "missing"),
        ("{name: a, kind: github, repo: a/b}", "boards[0]", "token"),
    ],
)
def test_a_wrong_board_is_refused_with_its_key(tmp_path: Path, board: str, key: str, said: str) -> None:
    """D169."""
    problem = refused(tmp_path, f"boards:\n  - {board}\n").problems[0]
    assert problem.key == key
    assert problem.line == 2
    assert said in problem.text + problem.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("just text\n", "mapping"),
        ("tick: [", "YAML"),
        ("a: 1\na: 2\n", "twice"),
        ("a: *hunter2\n", "alias"),
        ("- a\n", "mapping"),
        ("name: !!python/object:os.system x\n", "tag"),
        ("boards: []\n", "no board"),
        ("working_hours: {zone: UTC, open: []}\n", "at least 1"),
        ("working_hours: {zone: UTC, open: mon 08:00-10:00}\n", "be a list"),
        ("working_hours: {zone: UTC, open: [mon 08:00-10:00], closed: [2026-02-30]}\n", "a date"),
        ("name: " + "x" * (2 << 20), "larger"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, text: str, said: str) -> None:
    error = refused(tmp_path, text)
    assert error.code == "config_invalid"
    assert said in error.message
    assert "pointsman.yaml" in error.message


@pytest.mark.parametrize(
    "text",
    ["server: {token: hunter2}\nserver: {token: hunter2}\n", "server: {token: *hunter2}\n", "- {token: hunter2}\na"],
)
def test_a_file_that_cannot_be_parsed_is_told_without_what_may_be_a_secret(tmp_path: Path, text: str) -> None:
    """D179 with dispatcher.md 35: the text reaches log, STATUS and state document."""
    (tmp_path / "pointsman.yaml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        load(tmp_path / "pointsman.yaml", {})
    assert "hunter2" not in f"{refused.value.message} {refused.value.hint}"


def test_every_problem_is_listed_at_once(tmp_path: Path) -> None:
    error = refused(tmp_path, "nam: x\ntick: {interval: soon}\nconcurrency: {max: -1}\nserver: {token: plain}\n")
    assert {problem.line for problem in error.problems} == {1, 2, 3, 4}
    assert all(problem.key in error.message for problem in error.problems)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "nowhere.yaml", {})
    assert caught.value.code == "config_missing"
    assert "nowhere.yaml" in caught.value.message


def test_an_empty_file_means_the_defaults(tmp_path: Path) -> None:
    assert document_of(read(tmp_path, "# nothing\n")) == document_of(defaults(tmp_path, {}))


def test_a_section_merges_with_its_defaults_key_by_key(tmp_path: Path) -> None:
    found = read(tmp_path, "columns: {completed: done}\nretry: {cap: 1h}\nruns: {orphan_grace: 1s}\n")
    assert (found.columns.completed, found.columns.failed) == ("done", "blocked")
    assert (found.retry.cap, found.retry.base) == (3600, 10)
    assert (found.runs.orphan_grace, found.runs.stall_timeout) == (1, 600)


def test_yaml_words_stay_text(tmp_path: Path) -> None:
    found = read(tmp_path, "name: on\nboards: [{name: a, vars: {x: NO, y: 12:30, z: true, day: 2026-01-02}}]\n")
    assert found.name == "on"
    assert found.boards[0].vars == {"x": "NO", "y": "12:30", "z": True, "day": "2026-01-02"}


def test_references_are_filled_from_environment_and_credential_files(tmp_path: Path) -> None:
    """dispatcher.md 32: $NAME from the environment, then from $CREDENTIALS_DIRECTORY, one trailing newline dropped."""
    (tmp_path / "SECRET").write_text("s3cret\n\n")
    text = "name: ${WHO:-nobody}\nserver: {token: $SECRET, port: $PORT}\nboards: [{name: a, vars: {x: $GONE}}]\n"
    found = read(tmp_path, text, CREDENTIALS_DIRECTORY=str(tmp_path), PORT="8080")
    assert found.name == "nobody"
    assert found.server.port == 8080
    assert found.server.token is not None
    assert found.server.token.get_secret_value() == "s3cret\n"
    assert found.boards[0].vars == {"x": ""}
    assert found.origin.unset_names == {"GONE"}


def test_secrets_come_by_reference_only_and_their_names_are_known(tmp_path: Path) -> None:
    assert "reference" in refused(tmp_path, "server: {token: abc}\n").message
    missing = refused(tmp_path, "server: {token: $NOT_THERE}\n")
    assert "$NOT_THERE is not set" in missing.message
    text = (
        "server: {token: $A}\nboards: [{name: g, kind: github, repo: a/b, token: '${B:-$C}', webhook_secret: $D}]\n"
        "connections: {x: {kind: gitlab, repo: a/b, app: {id: 1, installation: 2, key: $E}}}\nname: $PLAIN\n"
    )
    found = read(tmp_path, text, A="1", C="3" * 8, D="4" * 8, E="5" * 8, PLAIN="p")
    assert found.secret_names == {"A", "B", "C", "D", "E"}


def test_a_shown_configuration_masks_secrets(tmp_path: Path) -> None:
    found = read(tmp_path, "server: {token: $A}\nstore: {dir: x}\n", A="do-not-show")
    shown = yaml_of(document_of(found))
    assert "do-not-show" not in shown
    assert "do-not-show" not in repr(found)
    assert str(tmp_path / "x") in shown


def test_a_hooks_script_belongs_to_its_shell(tmp_path: Path) -> None:
    found = read(tmp_path, 'hooks: {before_run: {script: "echo $HOME ${X:-y}", timeout: 5s}}\n', HOME="/h")
    assert found.hooks.before_run is not None
    assert found.hooks.before_run.script == "echo $HOME ${X:-y}"


def test_relative_paths_start_at_the_files_folder(tmp_path: Path) -> None:
    text = "store: {dir: s}\nworkspace: {root: w}\nbots: {paths: [b, /abs]}\nhooks: {after_run: {path: h.sh}}\n"
    found = read(tmp_path, text)
    assert found.store.dir == tmp_path / "s"
    assert found.workspace.root == tmp_path / "w"
    assert found.bots.paths == (tmp_path / "b", Path("/abs"))
    assert found.hooks.after_run is not None
    assert found.hooks.after_run.path == tmp_path / "h.sh"
    assert found.origin.folder == tmp_path


def test_bots_are_found_by_catalogue_name_then_by_path(tmp_path: Path) -> None:
    bots = tmp_path / "bots"
    (bots / "bundle").mkdir(parents=True)
    (bots / "bundle" / "main.bot").touch()
    for name in ("one.bot", "one.iter", "two.iter", "three.botz", "note.txt"):
        (bots / name).touch()
    assert set(bots_in((bots,))) == {"one", "two", "three", "bundle"}
    assert find_bot("one", (bots,), tmp_path) == bots / "one.bot"
    assert find_bot("bundle", (bots,), tmp_path) == bots / "bundle"
    assert find_bot("bots/two", (), tmp_path) == bots / "two.iter"
    assert find_bot("bots/one.iter", (), tmp_path) == bots / "one.iter"
    assert find_bot("One", (bots,), tmp_path) is None
    assert find_bot("bots/note.txt", (), tmp_path) is None


def test_a_reload_sees_whether_anything_changed(tmp_path: Path) -> None:
    first = read(tmp_path, "name: $A\n", A="1").origin.digest
    assert first == read(tmp_path, "name: $A # same\n", A="1").origin.digest
    assert first != read(tmp_path, "name: $A\n", A="2").origin.digest


def test_the_schema_describes_every_section_with_writable_durations() -> None:
    found = schema()
    assert set(found["properties"]) == set(Settings.model_fields)
    assert found["$defs"]["TickSettings"]["properties"]["interval"]["type"] == "string"
    assert found["additionalProperties"] is False


def test_the_example_configuration_is_right_and_names_every_key() -> None:
    path = Path(__file__).parents[2] / "config" / "pointsman.example.yaml"
    environment = {
        "GITHUB_TOKEN": "t" * 8,
        "WEBHOOK_SECRET": "w" * 8,
        "DOCS_TOKEN": "d" * 8,
        "POINTSMAN_SERVER_TOKEN": "s",
    }
    load(path, environment)
    text = path.read_text(encoding="utf-8")
    for name, field in Settings.model_fields.items():
        assert f"{name}:" in text
        inner = getattr(field.annotation, "model_fields", {})
        for key in inner:
            assert f"{key}:" in text, f"{name}.{key}"


@pytest.mark.parametrize(
    ("board", "said"),
    [
        ("kind: gitlab, token: $T", "needs repo"),
        ("kind: gitlab, repo: a/b", "needs token or app"),
        ("kind: gitlab, repo: a/b, token: $T, columns: {a: {label: l}, b: {label: l}}", "mapped by the same"),
    ],
)
def test_a_board_of_a_forge_says_what_it_lacks(tmp_path: Path, board: str, said: str) -> None:
    problem = refused(tmp_path, f"boards: [{{name: x, {board}}}]\n", T="a-token-of-8").problems[0]
    assert problem.key == "boards[0]"
    assert said in problem.text


@pytest.mark.parametrize(
    "key", ["token: $T", "token: $LONG, webhook_secret: $T", "app: {id: 1, installation: 2, key: $T}"]
)
def test_a_secret_of_five_characters_is_refused_without_being_shown(tmp_path: Path, key: str) -> None:
    """C144: the command line answers with exit 2."""
    text = f"boards: [{{name: x, kind: github, repo: a/b, {key}}}]\n"
    error = refused(tmp_path, text, T="12345", LONG="long-enough")
    assert "at least 8 characters" in error.problems[0].text
    assert "12345" not in error.message


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("url: 'http://f.example', repo: a/b", "http, which is for hosts that allow_private covers"),
        ("url: 'ftp://f.example', repo: a/b", "an address like https://"),
        ("url: f.example, repo: a/b", "an address like https://"),
        ("url: 'https://ann:pw@f.example', repo: a/b", "without user"),
        ("url: 'https://f.example:x', repo: a/b", "an address like https://"),
        ("url: 'https://f.example', repo: 'https://f.example/a/b'", "like octo/web"),
        ("url: 'https://f.example', repo: 'a/../b'", "like octo/web"),
        ("repo: a/b, columns: {ready: {label: todo}, review: {label: Todo}}", 'mapped by the same label "Todo"'),
        ("repo: a/b, columns: {ready: {status: Todo}}", "the board has no project"),
    ],
)
def test_a_board_that_could_never_be_reached_is_refused_when_it_is_read(tmp_path: Path, keys: str, told: str) -> None:
    """connectors.md 4, 16: not by the daemon's first call."""
    text = f"name: x\nboards: [{{name: web, kind: github, token: $T, {keys}}}]\n"
    assert told in refused(tmp_path, text, T="a-token-of-8").message


def test_labels_of_two_cases_are_two_columns_where_the_forge_tells_them_apart(tmp_path: Path) -> None:
    """connectors.md 4."""
    columns = "columns: {ready: {label: todo}, review: {label: Todo}}"
    board = (
        f"{{name: web, kind: gitlab, url: 'http://f.example', allow_private: true, repo: a/b/c, token: $T, {columns}}}"
    )
    assert set(read(tmp_path, f"name: x\nboards: [{board}]\n", T="a-token-of-8").boards[0].columns) == {
        "ready",
        "review",
    }
