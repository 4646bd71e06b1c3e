"""What a packed bundle may not do (language.md 13): every refusal leaves the disk as it was."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from engine.dsl import pack as packing
from engine.dsl.pack import content_id, pack, packed_bytes, read_folder
from engine.dsl.unpack import read_pack, unpack
from engine.errors import SourceInvalid

MAIN = b"workflow w:\n  entry: done\n"
Files = Sequence[tuple[str, bytes]]


def zipped(path: Path, files: Files, mode: int = 0) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def tarred(path: Path, files: Files, kind: bytes = tarfile.REGTYPE) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.type = kind
            entry.size = len(data) if kind == tarfile.REGTYPE else 0
            entry.linkname = "/etc/passwd"
            archive.addfile(entry, io.BytesIO(data))


def refused(path: Path, folder: Path) -> str:
    """Why ``path`` is refused; whatever it tried, nothing but the pack lies in ``folder`` afterwards."""
    with pytest.raises(SourceInvalid) as caught:
        unpack(path, folder / "cache")
    left = {found for found in folder.rglob("*") if found.is_file() or found.is_symlink()}
    assert left == {path}
    assert caught.value.hint
    return caught.value.message


ESCAPES = ["../out", "a/../../out", "/etc/out", "..", "c:/out", "C:out", "a\\..\\out", "\\\\host\\out", "lib/.."]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ESCAPES)
@pytest.mark.parametrize("write", [zipped, tarred])
def test_a_path_that_leaves_the_bundle_is_refused(name: str, write: Callable[..., None], tmp_path: Path) -> None:
    write(tmp_path / "a.botz", [("main.bot", MAIN), (name, b"x")])
    assert "leaves it" in refused(tmp_path / "a.botz", tmp_path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "names",
    [
        ("lib/a.bot", "lib/a.bot"),
        ("lib/a.bot", "lib//a.bot"),
        ("lib/a.bot", "lib/A.bot"),
        ("lib/a.bot", "LIB/b.bot"),
        ("lib/a.bot", "lib"),
        ("stra\u00dfe.md", "STRASSE.md"),
        ("caf\u00e9.md", "cafe\u0301.md"),
    ],
)
@pytest.mark.parametrize("write", [zipped, tarred])
def test_names_that_collide_are_refused(names: Sequence[str], write: Callable[..., None], tmp_path: Path) -> None:
    write(tmp_path / "a.botz", [("main.bot", MAIN), *((name, b"x") for name in names)])
    assert "holds" in refused(tmp_path / "a.botz", tmp_path)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_links_and_special_files_in_a_zip_are_refused(kind: int, tmp_path: Path) -> None:
    zipped(tmp_path / "a.botz", [("main.bot", b"/etc/passwd")], kind | 0o777)
    assert "link or special" in refused(tmp_path / "a.botz", tmp_path)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE])
def test_links_and_special_files_in_a_tar_are_refused(kind: bytes, tmp_path: Path) -> None:
    tarred(tmp_path / "a.botz", [("main.bot", b"")], kind)
    assert "link or special" in refused(tmp_path / "a.botz", tmp_path)


@pytest.mark.parametrize("write", [zipped, tarred])
def test_a_bomb_is_refused_by_its_ratio(write: Callable[..., None], tmp_path: Path) -> None:
    write(tmp_path / "a.botz", [("main.bot", MAIN), ("zeros", bytes(packing.FREE_OF_RATIO + 1))])
    assert "times its size" in refused(tmp_path / "a.botz", tmp_path)


@pytest.mark.parametrize("write", [zipped, tarred])
def test_too_many_files_are_refused(write: Callable[..., None], tmp_path: Path) -> None:
    write(tmp_path / "a.botz", [("main.bot", MAIN), *((f"n{number}", b"") for number in range(packing.MOST_FILES))])
    assert str(packing.MOST_FILES) in refused(tmp_path / "a.botz", tmp_path)


def test_a_size_that_is_only_promised_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.botz", "wb") as stream:
        entry = tarfile.TarInfo("main.bot")
        entry.size = packing.MOST_BYTES + 1
        stream.write(entry.tobuf())
    assert "larger than" in refused(tmp_path / "a.botz", tmp_path)


def test_a_header_of_a_tar_is_no_way_around_the_limits(tmp_path: Path) -> None:
    entry = tarfile.TarInfo("././@LongLink")
    entry.type = tarfile.GNUTYPE_LONGNAME
    entry.size = 8 * packing.MOST_BYTES
    with gzip.open(tmp_path / "a.botz", "wb", compresslevel=1) as stream:
        stream.write(entry.tobuf(tarfile.GNU_FORMAT))
        for _ in range(21):
            stream.write(b"a" * (16 * 1024 * 1024))
    assert "larger than" in refused(tmp_path / "a.botz", tmp_path)


def test_a_zip_that_lies_about_a_size_is_refused(tmp_path: Path) -> None:
    data = packed_bytes([packing.Packed("main.bot", MAIN * 100)])
    lie = data.replace(len(MAIN * 100).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lie != data
    (tmp_path / "a.botz").write_bytes(lie)
    assert "no bundle" in refused(tmp_path / "a.botz", tmp_path)


def test_an_encrypted_or_broken_archive_is_refused_in_words(tmp_path: Path) -> None:
    data = bytearray(packed_bytes([packing.Packed("main.bot", MAIN)]))
    for place in (data.index(b"PK\x03\x04") + 6, data.index(b"PK\x01\x02") + 8):
        data[place] |= 1
    (tmp_path / "a.botz").write_bytes(bytes(data))
    assert "no bundle" in refused(tmp_path / "a.botz", tmp_path)
    for cut in range(1, len(data), 7):
        (tmp_path / "a.botz").write_bytes(bytes(data[:cut]))
        refused(tmp_path / "a.botz", tmp_path)


def test_a_tar_of_the_current_folder_is_read(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.botz", "w:gz") as archive:
        for name in (".", "./lib"):
            entry = tarfile.TarInfo(name)
            entry.type = tarfile.DIRTYPE
            archive.addfile(entry)
        entry = tarfile.TarInfo("./main.bot")
        entry.size = len(MAIN)
        archive.addfile(entry, io.BytesIO(MAIN))
    assert [file.name for file in read_pack(tmp_path / "a.botz")] == ["main.bot"]


def test_the_content_id_is_the_framed_hash_of_all_files(tmp_path: Path) -> None:
    """language.md 13, 15"""
    for name, data in (("main.bot", MAIN), ("B.md", b"b"), ("a/x", b""), ("a.md", b"a")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    framed = b"\0bundle.file:B.md\0001\0b" + b"\0bundle.file:a.md\0001\0a" + b"\0bundle.file:a/x\0000\0"
    framed += b"\0bundle.file:main.bot\0" + str(len(MAIN)).encode() + b"\0" + MAIN
    assert content_id(read_folder(tmp_path)) == hashlib.sha256(framed).hexdigest()


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A pack with a prompt."""
    folder = tmp_path / "bot"
    (folder / "prompts").mkdir(parents=True)
    (folder / "main.bot").write_bytes(MAIN)
    (folder / "prompts/p.md").write_text("p")
    pack(folder, tmp_path / "a.botz")
    return tmp_path / "a.botz"


def test_a_second_unpacking_uses_the_first(packed: Path, tmp_path: Path) -> None:
    folder = unpack(packed, tmp_path / "cache")
    before = (folder / "main.bot").stat().st_ino
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/x.pyc").write_bytes(b"left by a run")
    assert unpack(packed, tmp_path / "cache") == folder
    assert (folder / "main.bot").stat().st_ino == before
    assert folder.name == content_id(read_pack(packed))
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("harm", ["changed", "extra", "gone"])
def test_a_damaged_folder_of_the_cache_is_made_anew(harm: str, packed: Path, tmp_path: Path) -> None:
    folder = unpack(packed, tmp_path / "cache")
    if harm == "changed":
        (folder / "prompts/p.md").write_text("other")
    elif harm == "extra":
        (folder / "prompts/q.md").write_text("q")
    else:
        (folder / "main.bot").unlink()
    assert unpack(packed, tmp_path / "cache") == folder
    assert (folder / "prompts/p.md").read_text() == "p"
    assert (folder / "main.bot").read_bytes() == MAIN
    assert [found.name for found in (tmp_path / "cache").iterdir()] == [folder.name]
    assert not (folder / "prompts/q.md").exists()


def test_what_cannot_be_unpacked_everywhere_cannot_be_packed(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "bot/PROMPTS").mkdir()
    (tmp_path / "bot/PROMPTS/q.md").write_text("q")
    with pytest.raises(SourceInvalid, match="PROMPTS"):
        pack(tmp_path / "bot", tmp_path / "b.botz")
    os.mkfifo(tmp_path / "bot/pipe")
    with pytest.raises(SourceInvalid, match="special"):
        pack(tmp_path / "bot", tmp_path / "b.botz")
    assert not (tmp_path / "b.botz").exists()
