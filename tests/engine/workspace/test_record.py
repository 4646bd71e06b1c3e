"""Looking at a workspace: what changed, what is kept, what is refused, what is remembered."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.checkpoint import MarkFile
from engine.errors import WorkspaceUnrecorded
from engine.workspace.pool import Pool
from engine.workspace.record import Record
from engine.workspace.scan import Limits


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def record(work: Path) -> Iterator[Record]:
    made = opened(work)
    yield made
    made.close()


def opened(work: Path, **limits: int) -> Record:
    record = Record(work, work / ".pointsman", Limits(**limits))
    record.open()
    return record


def names(changed: tuple[MarkFile, ...]) -> set[str]:
    return {each.path for each in changed}


def test_a_look_tells_what_is_new_what_changed_and_what_is_gone(record: Record, work: Path) -> None:
    write(work / "a", "1")
    write(work / "sub/b", "2")
    assert names(record.look()) == {"a", "sub/b"}
    assert record.look() == ()
    write(work / "a", "9")
    (work / "sub/b").unlink()
    changed = {each.path: each for each in record.look()}
    assert record.pool.get(changed["a"].hash) == b"9"
    assert changed["sub/b"].gone


def test_a_change_of_the_same_size_within_one_stamp_is_seen(record: Record, work: Path) -> None:
    write(work / "a", "1")
    record.look()
    stamps = (work / "a").stat()
    write(work / "a", "2")
    os.utime(work / "a", ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    assert names(record.look()) == {"a"}


def test_only_the_executable_bit_is_a_change_too(record: Record, work: Path) -> None:
    """R290: a change of mode alone is a change."""
    write(work / "a", "1")
    record.look()
    (work / "a").chmod(0o755)
    assert [each.mode for each in record.look()] == [0o755]


def test_links_the_store_and_ignored_files_are_not_captured(record: Record, work: Path) -> None:
    write(work / ".pointsman/pointsman.db", "x")
    write(work / ".gitignore", "*.log\n")
    write(work / "x.log", "x")
    write(work / ".git/HEAD", "x")
    (work / "link").symlink_to("/etc/passwd")
    assert names(record.look()) == {".gitignore"}


def test_a_name_that_is_no_text_is_passed_over(record: Record, work: Path) -> None:
    write(work / "gr\u00fcn", "1")
    (work / os.fsdecode(b"\xff\xfe")).write_text("1")
    assert names(record.look()) == {"gr\u00fcn"}


def test_a_file_above_the_limit_is_recorded_as_skipped(work: Path) -> None:
    """R280: an oversized file is known, and its content is not kept."""
    record = opened(work, max_file=3)
    write(work / "big", "1234")
    (big,) = record.look()
    assert (big.hash, big.gone) == ("", False)
    assert "too large" in big.skipped
    record.close()


@pytest.mark.parametrize("limits", [{"max_files": 2}, {"max_bytes": 4}])
def test_a_workspace_outside_the_limits_is_refused_before_any_content_is_read(
    work: Path, limits: dict[str, int]
) -> None:
    record = opened(work, **limits)
    for name in "abc":
        write(work / name, "12")
    with pytest.raises(WorkspaceUnrecorded, match="holds more than"):
        record.look()
    assert not [*record.pool.root.glob("??/*")]
    record.close()


def test_the_next_run_in_the_workspace_reads_nothing_that_it_knows(work: Path) -> None:
    write(work / "a", "1")
    first = opened(work)
    while first.pool.now_ns() < (work / "a").stat().st_ctime_ns + 30_000_000:
        pass
    first.look()
    first.close()
    (kept,) = first.pool.root.glob("[0-9a-f][0-9a-f]/*")
    kept.unlink()
    again = opened(work)
    assert names(again.look()) == {"a"}
    assert not kept.exists(), "its content was not read again"
    again.close()


def test_a_workspace_that_is_the_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceUnrecorded):
        Record(tmp_path, tmp_path, Limits()).open()


def test_damaged_content_reads_as_gone(tmp_path: Path) -> None:
    with Pool(tmp_path) as pool:
        name = pool.put(b"good")
        assert pool.get(name) == b"good"
        (pool.root / name[:2] / name[2:]).write_bytes(b"bad")
        assert pool.get(name) is None
        assert pool.get("00" * 32) is None


def test_pruning_removes_what_nothing_names_and_waits_for_nobody(tmp_path: Path) -> None:
    with Pool(tmp_path) as busy:
        kept, spare = busy.put(b"kept"), busy.put(b"spare")
        assert Pool(tmp_path).prune(lambda: {kept}) == 0, "somebody adds objects"
    assert Pool(tmp_path).prune(lambda: None) == 0, "what is wanted cannot be told"
    assert Pool(tmp_path).prune(lambda: {kept}) == 1
    assert (Pool(tmp_path).get(kept), Pool(tmp_path).get(spare)) == (b"kept", None)
    assert Pool(tmp_path).prune(set, every=3600.0) == 0, "it was pruned just now"
