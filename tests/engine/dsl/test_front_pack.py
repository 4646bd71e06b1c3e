"""Packed bundles (language.md 13)."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from engine.dsl.load import load
from engine.dsl.pack import content_id, pack, read_folder
from engine.dsl.unpack import read_pack, unpack
from engine.errors import SourceInvalid, SourceMissing
from engine.runtime.program import bundle_of

FILES = {
    "main.bot": "human a:\n  instructions: ask\nworkflow bundled:\n  entry: a\n  a -> done\n",
    "manifest.yaml": "schema_version: 1\nname: demo\n",
    "prompts/ask.md": "Good?\n",
    "lib/x.bot": "schema s:\n  x: int\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder bundle with things that do not belong into a pack."""
    bot = tmp_path / "bot"
    for name, text in {
        **FILES,
        ".git/config": "x",
        "a.pyc": "x",
        "old.botz": "x",
        "x.bot.yaml": "x",
        "n~": "x",
    }.items():
        (bot / name).parent.mkdir(parents=True, exist_ok=True)
        (bot / name).write_text(text)
    return bot


def test_what_is_no_file_is_never_replaced_by_a_pack(folder: Path, tmp_path: Path) -> None:
    """`-o /dev/null` by root took the device away from everybody."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceInvalid, match="no file"):
        pack(folder, tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_a_pack_holds_the_source_alone_sorted_and_without_times(folder: Path, tmp_path: Path) -> None:
    """language.md 13"""
    first = pack(folder, tmp_path / "a.botz")
    os.utime(folder / "main.bot", (1, 1))
    second = pack(folder, tmp_path / "b.botz")
    assert first == second == content_id(read_folder(folder))
    assert (tmp_path / "a.botz").read_bytes() == (tmp_path / "b.botz").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.botz") as archive:
        assert archive.namelist() == sorted(FILES)
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_packed_bundle_loads_like_its_folder(folder: Path, tmp_path: Path) -> None:
    """language.md 13, 15"""
    pack(folder, tmp_path / "a.botz")
    packed, plain = load(tmp_path / "a.botz", cache=tmp_path / "cache"), load(folder)
    assert packed.diagnostics == ()
    assert packed.digest == plain.digest
    assert packed.graph is not None
    assert packed.graph.workflow == "bundled"
    assert unpack(tmp_path / "a.botz", tmp_path / "cache") == Path(packed.graph.folder)


def test_a_gzipped_tar_is_read_too(folder: Path, tmp_path: Path) -> None:
    """language.md 13"""
    with tarfile.open(tmp_path / "a.botz", "w:gz") as archive:
        for name in FILES:
            archive.add(folder / name, name)
    assert {file.name for file in read_pack(tmp_path / "a.botz")} == set(FILES)


def test_modes_are_kept_as_plain_or_executable(folder: Path, tmp_path: Path) -> None:
    """language.md 13"""
    (folder / "lib/x.bot").chmod(0o700)
    pack(folder, tmp_path / "a.botz")
    inside = unpack(tmp_path / "a.botz", tmp_path / "cache")
    assert (inside / "lib/x.bot").stat().st_mode & 0o777 == 0o755
    assert (inside / "main.bot").stat().st_mode & 0o777 == 0o644


def test_links_are_refused(folder: Path, tmp_path: Path) -> None:
    """language.md 13"""
    (folder / "link.md").symlink_to(folder / "main.bot")
    with pytest.raises(SourceInvalid):
        pack(folder, tmp_path / "a.botz")


@pytest.mark.parametrize("name", ["../out", "/abs", "a/../../b", "c:\\x"])
def test_paths_that_leave_the_cache_are_refused(name: str, tmp_path: Path) -> None:
    """language.md 13"""
    with zipfile.ZipFile(tmp_path / "a.botz", "w") as archive:
        archive.writestr("main.bot", FILES["main.bot"])
        archive.writestr(name, "x")
    with pytest.raises(SourceInvalid):
        unpack(tmp_path / "a.botz", tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_link_inside_a_pack_is_refused(tmp_path: Path) -> None:
    """language.md 13"""
    with tarfile.open(tmp_path / "a.botz", "w:gz") as archive:
        entry = tarfile.TarInfo("main.bot")
        entry.type = tarfile.SYMTYPE
        entry.linkname = "/etc/passwd"
        archive.addfile(entry, io.BytesIO())
    with pytest.raises(SourceInvalid):
        read_pack(tmp_path / "a.botz")


def test_what_is_no_bundle_is_refused_in_words(tmp_path: Path) -> None:
    """language.md 13"""
    (tmp_path / "a.botz").write_bytes(b"nonsense")
    with pytest.raises(SourceInvalid):
        load(tmp_path / "a.botz", cache=tmp_path / "cache")
    with pytest.raises(SourceMissing):
        load(tmp_path / "gone.botz")
    with pytest.raises(SourceInvalid):
        read_folder(tmp_path)


def test_folder_main_file_and_pack_are_one_bundle_and_a_plain_file_is_none(folder: Path, tmp_path: Path) -> None:
    """language.md 1.3"""
    pack(folder, tmp_path / "a.botz")
    (tmp_path / "plain.bot").write_text("")
    assert bundle_of(folder) == bundle_of(folder / "main.bot") == str(folder)
    assert bundle_of(tmp_path / "a.botz") == str(tmp_path / "a.botz")
    assert bundle_of(tmp_path / "plain.bot") == ""
