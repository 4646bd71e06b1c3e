"""The digest over a whole closure, byte for byte, and the texts that a run keeps of it (language.md 15)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from engine.dsl.digest import MOST_RECORDED, Part, Tag, recorded
from engine.dsl.load import Loaded, load

MAIN = (
    'import "lib/b.bot"\nprompt own:\n  {{include "texts/a.md"}}\n'
    "human h:\n  instructions: own\nworkflow w:\n  entry: h\n  h -> done\n"
)
FILES = {
    "main.bot": MAIN,
    "lib/b.bot": 'import "sub/c.bot"\nprompt unused:\n  {{include "inside/d.md"}}\n',
    "lib/sub/c.bot": "schema s:\n  x: int\n",
    "lib/inside/d.md": "d",
    "texts/a.md": '{{include "more/e.md"}} {{include "more/e.md"}}',
    "texts/more/e.md": "é",
    "prompts/z.md": '{{include "part.md"}}',
    "prompts/Ä.MD": "upper",
    "prompts/part.md": "part",
    "prompts/deep/no.md": "not flat",
    "prompts/no.txt": "no Markdown",
    "presets/p.md": "---\nname: p\n---\nbody\n",
    "manifest.yaml": "schema_version: 1\n",
    "skills/s.md": "---\nname: s\ndescription: long enough to be found\n---\n",
    "attachments/x.txt": "x",
    "README.md": "r",
}
PARTS = [
    ("bundle.prompt", "part.md", "prompts/part.md"),
    ("bundle.prompt", "z.md", "prompts/z.md"),
    ("bundle.prompt", "Ä.MD", "prompts/Ä.MD"),
    ("bundle.preset", "p.md", "presets/p.md"),
    ("unit.import", "lib/b.bot", "lib/b.bot"),
    ("unit.import", "lib/sub/c.bot", "lib/sub/c.bot"),
    ("prompt.include", "lib/inside/d.md", "lib/inside/d.md"),
    ("prompt.include", "prompts/part.md", "prompts/part.md"),
    ("prompt.include", "texts/a.md", "texts/a.md"),
    ("prompt.include", "texts/more/e.md", "texts/more/e.md"),
]
"""tag, name, file: in the order of the digest; names go by their UTF-8 bytes, so ``Ä`` comes last."""


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def framed(main: bytes, parts: list[tuple[str, str, bytes]]) -> str:
    """The definition, written out."""
    data = main
    for tag, name, content in parts:
        data += b"\x00" + tag.encode() + b":" + name.encode() + b"\x00" + b"%d" % len(content) + b"\x00" + content
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def whole(tmp_path: Path) -> Loaded:
    """A bundle with imports of imports, includes of includes, prompts and presets."""
    put(tmp_path, FILES)
    loaded = load(tmp_path)
    assert loaded.errors == ()
    return loaded


def test_every_file_of_the_closure_is_framed_in_its_place(whole: Loaded) -> None:
    parts = [(tag, name, FILES[file].encode()) for tag, name, file in PARTS]
    assert whole.digest == framed(MAIN.encode(), parts)
    assert whole.graph is not None
    assert whole.graph.digest == whole.digest


def test_the_texts_behind_the_digest_are_kept_main_file_first(whole: Loaded) -> None:
    names = [file for _, _, file in PARTS]
    assert [source.path for source in whole.sources] == ["main.bot", *dict.fromkeys(names)]
    assert all(source.text == FILES[source.path] for source in whole.sources)


def test_opening_folder_main_file_or_a_pack_gives_one_digest(whole: Loaded, tmp_path: Path) -> None:
    from engine.dsl.pack import pack

    pack(tmp_path, tmp_path.parent / f"{tmp_path.name}.botz")
    packed = load(tmp_path.parent / f"{tmp_path.name}.botz", cache=tmp_path.parent / f"{tmp_path.name}-cache")
    assert {load(tmp_path / "main.bot").digest, packed.digest} == {whole.digest}


@pytest.mark.parametrize("name", FILES)
def test_exactly_the_files_of_the_closure_count(name: str, whole: Loaded, tmp_path: Path) -> None:
    counts = name == "main.bot" or name in {file for _, _, file in PARTS}
    with (tmp_path / name).open("ab") as stream:
        stream.write(b"\n")
    assert (load(tmp_path).digest != whole.digest) == counts


def test_line_ends_and_marks_of_the_main_file_are_part_of_its_bytes(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + MAIN.replace('import "lib/b.bot"\n', "").replace("\n", "\r\n").encode()
    (tmp_path / "x.bot").write_bytes(data)
    put(tmp_path, {"texts/a.md": "a\r\n"})
    assert load(tmp_path / "x.bot").digest == framed(data, [("prompt.include", "texts/a.md", b"a\r\n")])


def test_an_include_of_a_group_that_nobody_uses_counts(tmp_path: Path) -> None:
    text = 'prompt p:\n  {{params.x}} {{include "t.md"}}\ngroup g(x):\n  agent a:\n    system: p\n'
    text += 'compute c:\n  expr:\n    v: "1"\nworkflow w:\n  entry: c\n  c -> done\n'
    put(tmp_path, {"x.bot": text, "t.md": "t"})
    assert load(tmp_path / "x.bot").digest == framed(text.encode(), [("prompt.include", "t.md", b"t")])


def test_a_file_counts_once_in_the_size_that_is_kept() -> None:
    half = b"x" * (MOST_RECORDED // 2)
    parts = [Part(Tag.PROMPT, "a.md", half), Part(Tag.INCLUDE, "prompts/a.md", half)]
    assert [source.path for source in recorded("main.bot", b"m", parts)] == ["main.bot", "prompts/a.md"]
    assert len(recorded("main.bot", half + b"m", parts)) == 1
