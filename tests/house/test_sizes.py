"""Rooms stay small enough to live in (AGENTS.md, second smell), and other things that one look at the text proves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tables import ROOT

PACKAGES = ("dispatcher", "engine", "connectors", "config")
LONGEST_FILE = 500
LONGEST_FUNCTION = 40
MOST_PARAMETERS = 5
FORBIDDEN_FILES = {"utils", "helpers", "common", "misc", "manager", "service"}
FORBIDDEN_CALLS = {
    "datetime.now": ("engine/ports.py",),
    "datetime.utcnow": (),
    "time.time": ("engine/ports.py", "connectors/fake_forge/clock.py"),
    "time.sleep": (),
    "os.environ": ("config/environment.py",),
    "os.getenv": (),
    "uuid4(": ("engine/ports.py",),
    "random.": ("engine/ports.py",),
}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError|not implemented yet)\b")
WORDS = {"current_run": "last_run", "zombie": "orphan", "ticket": "card", "stale job": "orphan"}
"""Words that another one of the house replaces, as far as a text search can tell."""


def modules() -> list[Path]:
    found = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [path for path in found if "migrations/versions" not in path.as_posix()]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    names = [argument.arg for argument in [*function.args.posonlyargs, *function.args.args]]
    return len([name for name in names if name not in ("self", "cls")])


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_room_is_small_finished_and_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_FILE
    assert path.stem not in FORBIDDEN_FILES
    assert not UNFINISHED.search(text)
    assert ast.get_docstring(ast.parse(text)), "a module docstring says what it is"
    for function in functions(path):
        length = (function.end_lineno or 0) - function.lineno + 1
        assert length <= LONGEST_FUNCTION, f"{function.name} has {length} lines"
        assert parameters(function) <= MOST_PARAMETERS or is_verb(function), f"{function.name} has many parameters"


def is_verb(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether click or the router calls it: each of its parameters is an option or a query key that a person knows."""
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    return any(part in decorator for decorator in decorators for part in ("click", ".command", "router."))


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_time_randomness_and_environment_have_one_door_each(path: Path) -> None:
    code = "\n".join(
        line.split("#")[0] for line in ast.unparse(without_docstrings(ast.parse(path.read_text("utf-8")))).splitlines()
    )
    for call, allowed in FORBIDDEN_CALLS.items():
        if name_of(path) not in allowed:
            assert not re.search(rf"(?<![\w.]){re.escape(call)}", code), call


def without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            node.body[0] = ast.Pass()
    return tree


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_broad_excepts_stand_in_two_places_only(path: Path) -> None:
    allowed = {"dispatcher/tick.py", "engine/runtime/executing.py"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ExceptHandler):
            caught = "bare" if node.type is None else ast.unparse(node.type)
            reraises = isinstance(node.body[-1], ast.Raise)
            broad = caught in ("bare", "Exception", "BaseException")
            assert not broad or reraises or name_of(path) in allowed, f"line {node.lineno}: except {caught}"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_words_of_the_house_are_used(path: Path) -> None:
    text = path.read_text(encoding="utf-8").lower()
    for word, ours in WORDS.items():
        assert not re.search(rf"\b{word}s?\b", text), f"say {ours}"


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("test_*.py")), ids=name_of)
def test_tests_wait_for_facts_and_patch_nothing_of_ours(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.name != Path(__file__).name:
        assert "time.sleep" not in text
        assert "mock.patch" not in text
    names = [function.name for function in functions(path) if function.name.startswith("test_")]
    assert names
    assert len(names) == len(set(names))
    short = [name for name in names if name.count("_") < 3]
    assert not short, "the name of a test is a sentence"


def test_the_median_room_is_small() -> None:
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in modules())
    assert lengths[len(lengths) // 2] <= 170
