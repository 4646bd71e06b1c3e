"""One dispatcher per store folder and root; daemons of one shared store may have one root (dispatcher.md 31)."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatcher.instance import InstanceLocks
from dispatcher.refusals import Refused
from engine.run import Owner

OWNER = Owner("i", "host", "boot", 1, 1)


def locks(folder: Path, store: str, shared: str = "") -> InstanceLocks:
    """The locks of a daemon with that store folder and the common workspace root."""
    return InstanceLocks(folder / store, folder / "root", OWNER, "now", shared)


def test_daemons_of_one_shared_store_have_one_root_and_keep_everybody_else_out(tmp_path: Path) -> None:
    first, second = locks(tmp_path, "a", "pg one"), locks(tmp_path, "b", "pg one")
    first.acquire()
    second.acquire()
    for stranger in (locks(tmp_path, "c"), locks(tmp_path, "c", "pg two")):
        with pytest.raises(Refused, match=r"another dispatcher holds .*root"):
            stranger.acquire()
    with pytest.raises(Refused, match=r"another dispatcher holds .*/a/"):
        locks(tmp_path, "a", "pg one").acquire()
    first.release()
    assert second.keep()
    second.release()
    alone = locks(tmp_path, "c")
    alone.acquire()
    with pytest.raises(Refused):
        locks(tmp_path, "a", "pg one").acquire()
    alone.release()


def test_the_text_of_a_daemon_that_has_ended_keeps_nobody_out(tmp_path: Path) -> None:
    for store in ("pg one", "pg two", ""):
        again = locks(tmp_path, "a", store)
        again.acquire()
        again.release()


def test_a_workspace_root_that_cannot_be_used_is_named_with_its_key(tmp_path: Path) -> None:
    """As with the unit of systemd, for which the configuration's folder is read-only."""
    (tmp_path / "root").write_text("a file")
    with pytest.raises(Refused, match=r"The workspace root .*root cannot be made") as refused:
        locks(tmp_path, "a").acquire()
    assert "workspace.root" in refused.value.hint
