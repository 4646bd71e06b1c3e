"""Hooks as real processes: limit, group, environment, output (dispatcher.md 22)."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from config.settings import HookSettings
from connectors.card import Card, MoverKind
from dispatcher.hooks import Call, HookEnd, run_hook
from engine.ports import SystemClock

NOW = datetime(2026, 11, 1, tzinfo=UTC)
CARD = Card("native", "c1", 7, "it's $(touch x)\nnew", "ready", NOW, NOW, NOW, MoverKind.PERSON)
BASE = {"PATH": "/usr/bin:/bin", "HOME": "/home/x", "FORGE_TOKEN": "secret", "POINTSMAN_STORE_URL": "s", "TZ": "UTC"}


def hook(folder: Path, script: str, timeout: float = 30.0, **call: str) -> HookEnd:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    settings = HookSettings.model_validate({"script": script, "timeout": f"{timeout}s"})
    return run_hook(settings, Call(CARD, "r1", 2, work, folder / "store", {"id": "c1"}, **call), BASE, SystemClock())


def test_an_endless_hook_is_killed_with_its_children_within_its_limit(tmp_path: Path) -> None:
    """D175."""
    began = time.monotonic()
    end = hook(tmp_path, "(sleep 60; touch late) & sleep 60", timeout=0.3)
    assert (end.ok, "limit" in end.why) == (False, True)
    assert time.monotonic() - began < 15
    assert not (tmp_path / "work" / "late").exists()


def test_the_environment_is_made_from_nothing(tmp_path: Path) -> None:
    """D177."""
    assert hook(tmp_path, "env -0 > env", status="finished").ok
    given = dict(each.split("=", 1) for each in (tmp_path / "work" / "env").read_text().split("\0") if "=" in each)
    names = {name.removeprefix("POINTSMAN_") for name in given if name.startswith("POINTSMAN_")}
    assert names == {
        *("CARD_ID", "CARD_NUMBER", "CARD_TITLE", "BOARD", "COLUMN", "RUN_ID", "ATTEMPT", "WORKSPACE", "STORE_DIR"),
        *("CARD_FILE", "RUN_STATUS", "FAILURE_CODE"),
    }
    assert given["POINTSMAN_CARD_TITLE"] == CARD.title
    assert "secret" not in given.values()
    assert {name for name in given if not name.startswith("POINTSMAN_")} <= {"PATH", "HOME", "TZ", "PWD", "SHLVL", "_"}


def test_the_card_file_is_the_document_and_private(tmp_path: Path) -> None:
    assert hook(tmp_path, 'cat "$POINTSMAN_CARD_FILE" > copy').ok
    assert (tmp_path / "work" / "copy").read_text() == '{"id": "c1"}'
    assert (tmp_path / "store" / "runs" / "r1" / "card.json").stat().st_mode & 0o077 == 0


def test_card_text_never_becomes_a_command(tmp_path: Path) -> None:
    """dispatcher.md 35, fault 22."""
    assert hook(tmp_path, 'echo "$POINTSMAN_CARD_TITLE" > told').ok
    assert not (tmp_path / "work" / "x").exists()


@pytest.mark.parametrize(
    ("script", "why"), [("echo no >&2; exit 3", "it ended with 3: no"), ("exit 1", "it ended with 1")]
)
def test_a_failing_hook_says_how(tmp_path: Path, script: str, why: str) -> None:
    """D176."""
    assert hook(tmp_path, script).why == why


def test_a_hook_file_that_is_not_there_fails_and_raises_nothing(tmp_path: Path) -> None:
    settings = HookSettings(path=tmp_path / "nowhere")
    call = Call(CARD, "r1", 1, tmp_path, tmp_path / "store", {})
    assert not run_hook(settings, call, BASE, SystemClock()).ok
