"""Lexical structure and grammar: what a source text is read as (language.md 2, 3, 18)."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.dsl.ast import Declaration, EdgeLine, File, ListValue, MapValue, Property, Scalar, Style, TypeValue, Use
from engine.dsl.diagnostics import Diagnostics
from engine.dsl.load import load
from engine.dsl.parser import parse


def tree(text: str) -> File:
    """The tree of a text without mistakes."""
    found = Diagnostics()
    read = parse(text, "x.bot", found)
    assert not list(found), [(one.code, one.line, one.message) for one in found]
    return read


def findings(text: str) -> list[tuple[str, int]]:
    """Code and line of every mistake that reading finds."""
    found = Diagnostics()
    parse(text, "x.bot", found)
    return [(one.code, one.line) for one in found.ordered(["x.bot"])]


def first(text: str) -> Declaration:
    """The first declaration."""
    declaration = tree(text).declarations[0]
    assert isinstance(declaration, Declaration)
    return declaration


def value(line: str) -> object:
    """The value of a property ``x``."""
    block = first(f"tool a:\n  x: {line}\n").block
    assert block is not None
    entry = block.entries[0]
    assert isinstance(entry, Property)
    return entry.value


def text_of(line: str) -> str:
    """The text of a property ``x``."""
    found = value(line)
    assert isinstance(found, Scalar)
    return found.text


def edge(line: str) -> EdgeLine:
    """One edge of a workflow."""
    block = first(f"workflow w:\n  {line}\n").block
    assert block is not None
    entry = block.entries[0]
    assert isinstance(entry, EdgeLine)
    return entry


def prompt(text: str) -> str:
    """The body of the first prompt."""
    body = first(text).text
    assert body is not None
    return body.value


BODY = 'key: value\n```js\nlet x = `a`;\n```\na -> b\n| table |\n{"json": [1]}\n## heading\nentry: x'


def indented(text: str, margin: str = "  ") -> str:
    """Text below a header."""
    return "".join(f"{margin}{row}\n" if row else "\n" for row in text.split("\n"))


def test_a_prompt_body_holds_anything() -> None:
    """language.md 18.1"""
    assert prompt("prompt p:\n" + indented(BODY)) == BODY
    assert prompt("prompt tool:\n" + indented(BODY)) == BODY
    assert prompt("prompt p: # a comment\n" + indented(BODY, "        ")) == BODY


@pytest.mark.parametrize("name", ["workflow", "prompt", "schema", "when", "entry"])
def test_a_prompt_may_be_called_like_a_keyword(name: str) -> None:
    """language.md 18.1"""
    assert first(f"prompt {name}:\n  text\n").name == name


def test_the_first_line_of_a_body_may_look_like_a_comment() -> None:
    """language.md 18.2, 2.2"""
    assert prompt("prompt p:\n  # Ship it?\n  Pick one.\n") == "# Ship it?\nPick one."


def test_a_comment_in_column_1_ends_a_body_and_blank_lines_never_do() -> None:
    """language.md 18.2"""
    read = tree("prompt p:\n  one\n\n  two\n## comment\ntool a:\n  command: `x`\n")
    assert prompt("prompt p:\n  one\n\n  two\n## comment\n") == "one\ntwo"
    assert len(read.declarations) == 2


def test_profile_2_keeps_blank_lines_inside_a_body_only() -> None:
    """language.md 2.1, 4.4"""
    assert prompt("dsl: 2\nprompt p:\n\n  one\n\n\n  two\n\n") == "one\n\n\ntwo"


def test_a_body_line_between_header_and_base_is_an_error() -> None:
    """language.md 4.4"""
    assert findings("prompt p:\n    one\n  two\ntool a:\n  command: `x`\n") == [("E003", 3)]


def test_a_body_keeps_what_is_deeper_than_its_base() -> None:
    """language.md 4.4"""
    assert prompt("prompt p:\n  a\n    b\n  c  \n") == "a\n  b\nc  "


def test_a_raw_string_spans_lines_without_moving_the_indentation() -> None:
    """language.md 18.3"""
    raw = 'one {{vars.x}} "q" # no comment\n| pipe\n: colon\nkey: v\n      deep'
    read = first(f"tool a:\n  command: `{raw}` # comment\n  readonly: true\n")
    assert read.block is not None
    assert [entry.key for entry in read.block.properties()] == ["command", "readonly"]
    assert text_of(f"`{raw}`") == raw


def test_profile_1_keeps_backslashes_and_an_escaped_quote_does_not_end_the_string() -> None:
    """language.md 18.4"""
    assert text_of('"printf \'{\\"a\\":1}\'"') == "printf '{\\\"a\\\":1}'"


@pytest.mark.parametrize(
    "head", ["dsl: 2\n", "# strict-escape: on\n", "##strict-escape:on\n", "# strict-escape = on\n"]
)
def test_escapes_are_decoded_by_profile_2_and_by_the_directive(head: str) -> None:
    """language.md 2.1"""
    block = first(head + 'tool a:\n  x: "a\\n\\t\\"\\\\\\0"\n').block
    assert block is not None
    entry = block.properties()[0]
    assert isinstance(entry.value, Scalar)
    assert entry.value.text == 'a\n\t"\\\0'


def test_a_with_map_takes_colons_commas_braces_and_several_lines() -> None:
    """language.md 18.5"""
    line = 'a -> b with {\n x: "a: {b}, c", y: 1 # comment }\n      _z: true\nw: `}`\n    }'
    found = edge(line).mapping
    assert found is not None
    assert [(entry.key, entry.value.text) for entry in found.entries] == [
        ("x", "a: {b}, c"),
        ("y", "1"),
        ("_z", "true"),
        ("w", "}"),
    ]
    assert edge("a -> b with {}").mapping == MapValue((), edge("a -> b with {}").nodes[0].span)


def test_arrows_may_be_aligned_and_names_may_be_keywords() -> None:
    """language.md 18.6"""
    found = edge("judge      ->   done   when   approved")
    assert [node.name for node in found.nodes] == ["judge", "done"]
    assert found.when is not None
    assert found.when.field == "approved"
    assert [node.name for node in edge("entry -> a").nodes] == ["entry", "a"]


def test_comments_stand_anywhere_between_lines() -> None:
    """language.md 18.7"""
    text = "vars:\n        # deep\n  x: int = 1\n# left\n  y: int\n"
    text += 'compute a:\n  expr:\n      # deep\n    # here\n    k: "1"\n'
    assert len(tree(text).declarations) == 2


def test_types_constraints_and_defaults() -> None:
    """language.md 18.8"""
    plain, listed = value("string"), value("string[] = `[]`")
    assert isinstance(plain, Scalar)
    assert isinstance(listed, TypeValue)
    assert listed.name == "string[]"
    found = value('string [enum: "a", "b"] [matching: "x"] = "a"')
    assert isinstance(found, TypeValue)
    assert [(one.name, one.values) for one in found.constraints] == [("enum", ("a", "b")), ("matching", ("x",))]
    assert found.default is not None


def test_a_block_scalar_ends_two_levels_up_and_keeps_its_shape() -> None:
    """language.md 18.9, 2.4"""
    script = "\n      if (x) { # no comment\n        `${y}`\n\n      }\n\n"
    text = "tool a:\n  sandbox:\n    post_create: |\n" + script + "  language: js\n"
    block = first(text).block
    assert block is not None
    assert [entry.key for entry in block.properties()] == ["sandbox", "language"]
    inner = block.properties()[0].block
    assert inner is not None
    scalar = inner.properties()[0].value
    assert isinstance(scalar, Scalar)
    assert scalar.text == "if (x) { # no comment\n  `${y}`\n\n}\n\n"


def test_a_string_may_be_quoted_raw_block_or_one_bare_word() -> None:
    """language.md 2.4"""
    styles = [value('"x"'), value("`x`"), value("x")]
    assert [found.style for found in styles if isinstance(found, Scalar)] == [Style.QUOTED, Style.RAW, Style.BARE]
    assert styles[0] == styles[1] == styles[2]


@pytest.mark.parametrize("word", ["claude-code", "a/b", "4x", "x.5"])
def test_a_word_that_needs_quotes_is_said_to_need_them(word: str) -> None:
    """language.md 2.4"""
    found = Diagnostics()
    parse(f"agent a:\n  backend: {word}\n", "x.bot", found)
    hits = list(found)
    assert [hit.code for hit in hits] == ["E001"]
    assert "quotes" in hits[0].hint


@pytest.mark.parametrize(
    ("clause", "field", "negated"),
    [
        ("when not", "not", False),
        ("when not with { a: 1 }", "not", False),
        ("when not as l(3)", "not", False),
        ("when not else", "not", False),
        ("when not ok", "ok", True),
        ("when not not", "not", True),
        ("when with", "with", False),
    ],
)
def test_a_field_may_be_called_not(clause: str, field: str, negated: bool) -> None:
    """language.md 3"""
    found = Diagnostics()
    read = parse(f"workflow w:\n  a -> b {clause}\n", "x.bot", found)
    declaration = read.declarations[0]
    assert isinstance(declaration, Declaration)
    assert declaration.block is not None
    entry = declaration.block.entries[0]
    assert isinstance(entry, EdgeLine)
    assert entry.when is not None
    assert (entry.when.field, entry.when.negated) == (field, negated)


def test_a_loop_may_be_called_foreach() -> None:
    """language.md 3, 18.12"""
    named, real = edge("a -> b as foreach(3)"), edge('a -> b as foreach l(x in "{{outputs.a.items}}")')
    assert named.loop is not None
    assert named.loop.name == "foreach"
    assert real.foreach is not None
    assert (real.foreach.name, real.foreach.element) == ("l", "x")


@pytest.mark.parametrize("cap", ["3", '"{{vars.n}}"', '"vars.n + 1"', "unbounded", "unbounded 200"])
def test_caps_of_loops(cap: str) -> None:
    """language.md 7.4"""
    found = edge(f"a -> b as l({cap})").loop
    assert found is not None
    assert found.unbounded == cap.startswith("unbounded")
    assert (found.cap is None) == (cap == "unbounded")


def test_clauses_come_in_any_order_and_belong_to_the_last_arrow() -> None:
    """language.md 7.1"""
    found = edge("a -> b -> c with { x: 1 } as l(2) when ok")
    assert [node.name for node in found.nodes] == ["a", "b", "c"]
    assert found.loop is not None
    assert found.when is not None
    assert found.mapping is not None


def test_lists_in_brackets_and_dashes_say_the_same() -> None:
    """language.md 2.5, 16"""
    inline = value('[a.b, "c", d.*,]')
    dashes = value('\n    # first\n    - a.b\n    - "c" # second\n    - d.*')
    assert isinstance(inline, ListValue)
    assert inline == dashes
    assert [item.text for item in inline.items] == ["a.b", "c", "d.*"]
    assert value("[]") == value("[ ]")


@pytest.mark.parametrize("kind", ["prompt", "schema", "cursor", "contract", "workflow", "group"])
def test_a_header_without_body_wants_a_blank_line_or_the_end(kind: str) -> None:
    """language.md 3"""
    assert findings(f"{kind} x:\n") == []
    assert findings(f"{kind} x:\n\ntool a:\n  command: `x`\n") == []
    assert findings(f"{kind} x:\ntool a:\n  command: `x`\n") == [("E002", 1)]


def test_a_node_needs_a_body_and_a_nested_header_does_not() -> None:
    """language.md 3"""
    assert findings("tool a:\n\n") == [("E002", 1)]
    assert findings("workflow w:\n  budget:\n  entry: a\n") == []


def test_groups_and_uses_are_read() -> None:
    """language.md 11"""
    read = tree('group g(p, q):\n  tool m:\n    command: `x`\n  m -> m as l(2)\nuse g as one with { p: "1", q: 2 }\n')
    group, use = read.declarations
    assert isinstance(group, Declaration)
    assert isinstance(use, Use)
    assert (group.parameters, use.group, use.prefix) == (("p", "q"), "g", "one")


def test_comments_stay_with_what_they_belong_to() -> None:
    """language.md 2.2; the formatter needs them"""
    read = tree("# head\n\n# above\ntool a: # beside\n  # inner\n  command: `x` # end\n# last\n")
    tool = read.declarations[0]
    assert isinstance(tool, Declaration)
    assert tool.trivia is not None
    assert [comment.text for comment in tool.trivia.before] == ["# head", "# above"]
    assert [comment.text for comment in tool.trivia.trailing] == ["# beside"]
    assert [comment.text for comment in read.comments] == ["# last"]


def test_several_mistakes_are_found_in_one_pass_and_none_twice() -> None:
    """language.md 1.2"""
    text = (
        'tol x:\n  command: `x`\ntool a:\n  command: "open\n  readonly true\n  timeout: 30s\n'
        "workflow w:\n  entry: a\n  a => done\n  a -> \n  a -> done\n"
    )
    assert findings(text) == [("E001", 1), ("E004", 4), ("E001", 5), ("E001", 6), ("E001", 9), ("E002", 10)]


def test_tabs_are_reported_once_and_the_file_is_still_understood() -> None:
    """language.md 2.2"""
    text = "tool a:\n\tcommand: `x`\n\treadonly: true\nworkflow w:\n\tentry: a\n\ta -> done\n"
    assert findings(text) == [("E003", 2)]


def test_an_unclosed_brace_ends_at_the_next_declaration() -> None:
    """language.md 14: no cascades"""
    text = "workflow w:\n  entry: a\n  a -> done with { x: 1\ntool a:\n  command: `x`\n"
    assert findings(text) == [("E002", 3)]


def test_an_unclosed_raw_string_ends_at_the_next_declaration() -> None:
    """language.md 14: no cascades"""
    text = "tool a:\n  command: `x\n  readonly: true\nworkflow w:\n  entry: a\n  a -> done\n"
    assert findings(text) == [("E004", 2)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("tool a:\n  x: 9223372036854775808\n", "E020"),
        ("tool a:\n  x: " + "9" * 5000 + "\n", "E020"),
        ("tool a:\n  x: “smart”\n", "E001"),
        ("tool a:\n  x: a\u00a0b\n", "E001"),
        ("tool a:\n  x: 1\n    y: 2\n", None),
        ("  tool a:\n    x: 1\n", "E001"),
        ("42\n", "E001"),
        ("tool\n", "E002"),
        ("use g\n", "E002"),
        ("group g(:\n  x: 1\n", "E001"),
        ("workflow w:\n  a -> b as l(-1)\n", "E001"),
        ("vars:\n  x: string [enum]\n", "E001"),
        ("vars:\n  x: string [enum: a]\n", "E001"),
        ('vars:\n  x: string [nope: "a"]\n', None),
        ("tool a:\n  x: |\ntool b:\n  x: 1\n", "E002"),
    ],
)
def test_malformed_text_is_named(text: str, code: str | None) -> None:
    """language.md 2, 3"""
    assert [found[0] for found in findings(text)] == ([code] if code else [])


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    """language.md 2.1"""
    text = "tool a:\n  command: `x\ny`\nworkflow w:\n  entry: a\n  a -> done\n"
    main = tmp_path / "x.bot"
    main.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    loaded = load(main)
    assert loaded.diagnostics == ()
    assert loaded.graph is not None


def test_names_may_have_any_letters(tmp_path: Path) -> None:
    """language.md 2.3"""
    main = tmp_path / "x.bot"
    main.write_text("tool prüfen:\n  command: `x`\nworkflow größe:\n  entry: prüfen\n  prüfen -> done\n")
    assert load(main).diagnostics == ()


def test_a_hundred_levels_are_read_and_more_are_a_finding() -> None:
    """language.md 17"""

    def nested(levels: int) -> str:
        return "contract c:\n" + "".join(" " * place + f"k{place}:\n" for place in range(1, levels + 1))

    assert findings(nested(100)) == []
    assert ("E003", 102) in findings(nested(150))
