"""Source identity and tree equality (language.md 15, 16)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from engine.dsl.diff import affected_nodes, recorded_whole
from engine.dsl.digest import MOST_RECORDED, Part, Tag, digest, recorded
from engine.dsl.load import load
from engine.errors import SourceMissing

SOURCE = """\
# one
vars:
  n: int = 3
schema s:
  ok: bool
  text: string
prompt ask:
  Is it {{vars.n}}?
tool a:
  command: "echo a"
  output: s
tool b:
  command: `echo b`
  timeout: "5s"
human h:
  instructions: ask
workflow w:
  budget:
    max_iterations: 9
  entry: a
  a -> b when ok with { x: "{{outputs.a.text}}", y: 1 }
  a -> h else
  b -> a as again(3)
  b -> h
  h -> done
"""


def changed(folder: Path, old: str, new: str) -> dict[str, str]:
    """What an edit of ``SOURCE`` affects."""
    before, after = folder / "before", folder / "after"
    for place, text in ((before, SOURCE), (after, SOURCE.replace(old, new))):
        place.mkdir()
        (place / "main.bot").write_text(text)
    assert old == new or old in SOURCE
    return dict(affected_nodes(load(before / "main.bot").sources, after / "main.bot"))


def test_a_single_file_has_the_hash_of_its_bytes(tmp_path: Path) -> None:
    """language.md 15"""
    data = b"\xef\xbb\xbf" + SOURCE.replace("\n", "\r\n").encode()
    (tmp_path / "main.bot").write_bytes(data)
    assert load(tmp_path / "main.bot").digest == hashlib.sha256(data).hexdigest()


def test_parts_are_framed_and_ordered_by_tag_and_name() -> None:
    """language.md 15"""
    parts = [Part(Tag.INCLUDE, "t.md", b"4"), Part(Tag.IMPORT, "lib/b.bot", b"3"), Part(Tag.IMPORT, "lib/a.bot", b"2")]
    parts += [Part(Tag.PRESET, "p.md", b"1"), Part(Tag.PROMPT, "x.md", b"0"), Part(Tag.INCLUDE, "t.md", b"4")]
    framed = (
        b"main\0bundle.prompt:x.md\0001\0000" + b"\0bundle.preset:p.md\0001\0001" + b"\0unit.import:lib/a.bot\0001\0002"
        b"\0unit.import:lib/b.bot\0001\0003" + b"\0prompt.include:t.md\0001\0004"
    )
    assert digest(b"main", parts) == hashlib.sha256(framed).hexdigest()


def test_every_file_of_a_unit_counts(tmp_path: Path) -> None:
    """language.md 15"""
    files = {
        "main.bot": 'import "lib/x.bot"\nhuman a:\n  instructions: p\nworkflow w:\n  entry: a\n  a -> done\n',
        "lib/x.bot": 'prompt p:\n  {{include "t.md"}}\n',
        "lib/t.md": "text",
        "manifest.yaml": "schema_version: 1\n",
        "prompts/q.md": "q",
        "presets/r.md": "r",
        "skills/s.md": "s",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    first = load(tmp_path)
    assert [source.path for source in first.sources] == [
        "main.bot",
        "prompts/q.md",
        "presets/r.md",
        "lib/x.bot",
        "lib/t.md",
    ]
    for name, text in files.items():
        (tmp_path / name).write_text(text + " ")
        counts = name not in ("manifest.yaml", "skills/s.md")
        assert (load(tmp_path).digest != first.digest) == counts, name
        (tmp_path / name).write_text(text)


def test_the_digest_is_known_for_source_with_errors(tmp_path: Path) -> None:
    """language.md 1.2"""
    (tmp_path / "main.bot").write_text("nonsense")
    found = load(tmp_path / "main.bot")
    assert found.graph is None
    assert found.digest == hashlib.sha256(b"nonsense").hexdigest()


def test_a_large_unit_records_its_main_file_alone() -> None:
    """language.md 15"""
    sources = recorded("main.bot", b"m", [Part(Tag.IMPORT, "lib/a.bot", b"x" * MOST_RECORDED)])
    assert [source.path for source in sources] == ["main.bot"]
    assert not recorded_whole(sources, "other")
    assert recorded_whole(sources, hashlib.sha256(b"m").hexdigest())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# one\n", "\n\n# two\n"),
        ('"echo a"', "`echo a`"),
        ('  command: "echo a"\n  output: s\n', '  output: s\n  command: "echo a"\n'),
        ("tool b:", "\n\ntool b:"),
        ('{ x: "{{outputs.a.text}}", y: 1 }', '{\n y: "1"\n x: "{{outputs.a.text}}" }'),
        ("  b -> h\n  h -> done\n", "  h -> done\n  b -> h\n"),
        ("vars:\n  n: int = 3\n", ""),
    ],
)
def test_what_does_not_count(old: str, new: str, tmp_path: Path) -> None:
    """language.md 16"""
    text = SOURCE + "vars:\n  n: int = 3\n" if not new else SOURCE
    if new:
        assert changed(tmp_path, old, new) == {}
        return
    (tmp_path / "main.bot").write_text(text.replace(old, "", 1))
    (tmp_path / "old.bot").write_text(SOURCE)
    assert affected_nodes(load(tmp_path / "old.bot").sources, tmp_path / "main.bot") == {}


@pytest.mark.parametrize(
    ("old", "new", "nodes"),
    [
        ('"echo a"', '"echo A"', {"a"}),
        ('  timeout: "5s"\n', "", {"b"}),
        ("Is it", "Was it", {"h"}),
        ("  ok: bool\n  text: string\n", "  text: string\n  ok: bool\n", {"a"}),
        ("again(3)", "again(4)", {"b"}),
        ("y: 1", "y: 2", {"a"}),
        ("  b -> a as again(3)\n  b -> h\n", "  b -> h\n  b -> a as again(3)\n", {"b"}),
        ("  a -> h else\n", "", {"a", "h", "b"}),
        ("n: int = 3", "n: int = 4", {"a"}),
        ("max_iterations: 9", "max_iterations: 8", {"a"}),
        ("entry: a", "entry: b", {"b"}),
        ("human h:", 'tool c:\n  command: "c"\nhuman h:', {"c"}),
        ('tool b:\n  command: `echo b`\n  timeout: "5s"\n', 'compute b:\n  expr:\n    x: "1"\n', {"b"}),
    ],
)
def test_what_an_edit_affects(old: str, new: str, nodes: set[str], tmp_path: Path) -> None:
    """language.md 16"""
    found = set(changed(tmp_path, old, new))
    assert found <= nodes
    assert found


def test_the_order_of_edges_into_one_node_counts(tmp_path: Path) -> None:
    """language.md 16"""
    old, new = "  a -> h else\n  b -> a as again(3)\n  b -> h\n", "  b -> a as again(3)\n  b -> h\n  a -> h else\n"
    assert set(changed(tmp_path, old, new)) == {"a", "b"}


def test_a_group_affects_every_node_that_is_made_from_it(tmp_path: Path) -> None:
    """language.md 16"""
    text = "group g:\n  tool m:\n    command: `x`\n  tool n:\n    command: `y`\n  m -> n\nuse g as one\n"
    text += "workflow w:\n  entry: one.m\n  one.n -> done\n"
    (tmp_path / "old.bot").write_text(text)
    (tmp_path / "new.bot").write_text(text.replace("`y`", "`z`"))
    assert set(affected_nodes(load(tmp_path / "old.bot").sources, tmp_path / "new.bot")) == {"one.m", "one.n"}


def test_an_edited_include_and_a_bundle_prompt_affect_who_uses_them(tmp_path: Path) -> None:
    """language.md 15, 16"""
    main = 'human a:\n  instructions: p\nhuman b:\n  instructions: q\nprompt q:\n  {{include "t.md"}}\n'
    main += "workflow w:\n  entry: a\n  a -> b -> done\n"
    (tmp_path / "prompts").mkdir()
    for name, text in (
        ("main.bot", main),
        ("manifest.yaml", "schema_version: 1\n"),
        ("t.md", "t"),
        ("prompts/p.md", "p"),
    ):
        (tmp_path / name).write_text(text)
    sources = load(tmp_path).sources
    assert affected_nodes(sources, tmp_path) == {}
    (tmp_path / "t.md").write_text("T")
    assert set(affected_nodes(sources, tmp_path)) == {"b"}
    (tmp_path / "prompts/p.md").write_text("P")
    assert set(affected_nodes(sources, tmp_path)) == {"a", "b"}


def test_nothing_recorded_is_refused(tmp_path: Path) -> None:
    """language.md 15"""
    with pytest.raises(SourceMissing):
        affected_nodes((), tmp_path / "main.bot")
