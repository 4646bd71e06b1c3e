"""Hover, definition and completion at a place of a text; the place is where ``¦`` stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.dsl.catalogue import Operation, Parameter
from engine.dsl.editor.analysis import Analysis, analyse
from engine.dsl.editor.completion import complete
from engine.dsl.editor.hover import hover
from engine.dsl.editor.spot import Lines, Spot
from engine.dsl.editor.targets import definition
from engine.dsl.surroundings import Surroundings

SOURCE = """\
vars:
  who: string [enum: "a", "b"] = "a"
schema verdict:
  ok: bool
  reason: string
prompt ask:
  Judge {{vars.who}} and {{input.work}}.
agent writer:
  description: "writes it"
  backend: scripted
  system: ask
  publish: draft
tool check:
  command: `test {{outputs.writer.text}}`
  output: verdict
compute count:
  expr:
    n: "length(outputs.writer.text) + loop.again.iteration"
group pair(label):
  tool left:
    command: `echo {{params.label}}`
  tool right:
    command: `echo {{outputs.left.result}}`
  left -> right
use pair as one with { label: "x" }
workflow w:
  entry: writer
  writer -> check with { work: "{{input.text}}" }
  check -> count when ok
  check -> writer as again(3)
  check -> fail
  count -> one.left
  one.right -> done
"""
AROUND = Surroundings(
    catalogue={"github.issue.comment": Operation("github.issue.comment", (Parameter("body", required=True),))},
    connections={"web": "github"},
)


class At:
    """An opened text and the place of its ``¦``."""

    def __init__(self, text: str, folder: Path, name: str = "main.bot") -> None:
        before, mark, after = text.partition("¦")
        assert mark
        self.text = before + after
        self.row = before.count("\n") + 1
        self.column = len(before) - (before.rfind("\n") + 1)
        path = folder / name
        self.analysis: Analysis = analyse(path, {path: self.text.encode()}, AROUND)
        self.lines = Lines(self.text)

    @property
    def spot(self) -> Spot:
        return self.lines.spot(self.row, self.column)

    @property
    def hover(self) -> str:
        return hover(self.analysis, self.lines, self.row, self.column)

    @property
    def words(self) -> list[str]:
        return [each.label for each in complete(self.analysis, self.lines, self.row, self.column)]

    @property
    def defined(self) -> list[str]:
        """The source lines where the thing under the cursor is declared."""
        rows = self.text.split("\n")
        return [rows[span.line - 1].strip() for span in definition(self.analysis, self.spot)]


def at(folder: Path, old: str, new: str) -> At:
    assert SOURCE.count(old) >= 1
    return At(SOURCE.replace(old, new, 1), folder)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("agent writer", "ag¦ent writer", "Asks a model"),
        ("agent writer", "agent wri¦ter", "writes it"),
        ("backend: scripted", "back¦end: scripted", "What runs the model"),
        ("system: ask", "system: as¦k", "Judge {{vars.who}}"),
        ("output: verdict", "output: ver¦dict", "- `ok`: bool"),
        ("publish: draft", "publish: dra¦ft", "published by agent `writer`"),
        ("{{vars.who}}", "{{vars.wh¦o}}", "one of `a`, `b`"),
        ("{{vars.who}}", "{{va¦rs.who}}", "Launch values"),
        ("{{outputs.writer.text}}`", "{{outputs.wri¦ter.text}}`", "**agent** `writer`"),
        ("length(", "len¦gth(", "elements of a list"),
        ("loop.again.iteration", "loop.aga¦in.iteration", "cap 3"),
        ("check -> count when ok", "che¦ck -> count when ok", "output `verdict`"),
        ("check -> count when ok", "check -> count when o¦k", "bool"),
        ("check -> fail", "check -> fa¦il", "ends the run as failed"),
        ("count -> one.left", "count -> one.le¦ft", "**tool** `one.left`"),
        ("use pair", "use pa¦ir", "pair(label)"),
        ("workflow w", "workflow ¦w", "nodes"),
        ("  who: string", "  w¦ho: string", "default"),
        ("  ok: bool", "  o¦k: bool", "of schema `verdict`"),
        ("as again(3)", "as aga¦in(3)", "`check -> writer`"),
        ("check -> fail\n", "check -> fail # see C0¦12\n", "**C012**"),
        ("output: verdict", "outputt¦: verdict", "**E012**"),
    ],
)
def test_hover_tells_what_a_word_is(old: str, new: str, shown: str, tmp_path: Path) -> None:
    assert shown in at(tmp_path, old, new).hover


@pytest.mark.parametrize(
    ("old", "new"), [("agent writer:", "agent writer:  # a co¦mment"), ("Judge", "Ju¦dge"), ("with {", "with ¦{")]
)
def test_hover_is_silent_where_nothing_is_named(old: str, new: str, tmp_path: Path) -> None:
    assert at(tmp_path, old, new).hover == ""


@pytest.mark.parametrize(
    ("old", "new", "declared"),
    [
        ("system: ask", "system: a¦sk", ["prompt ask:"]),
        ("output: verdict", "output: ¦verdict", ["schema verdict:"]),
        ("entry: writer", "entry: wri¦ter", ["agent writer:"]),
        ("{{vars.who}}", "{{vars.¦who}}", ['who: string [enum: "a", "b"] = "a"']),
        ("outputs.writer.text) +", "outputs.wri¦ter.text) +", ["agent writer:"]),
        ("loop.again.iteration", "loop.a¦gain.iteration", ["check -> writer as again(3)"]),
        ("when ok", "when ¦ok", ["ok: bool"]),
        ("one.right -> done", "one.ri¦ght -> done", ["tool right:"]),
        ("left -> right", "le¦ft -> right", ["tool left:"]),
        ("{{outputs.left.result}}", "{{outputs.le¦ft.result}}", ["tool left:"]),
        ("use pair", "use ¦pair", ["group pair(label):"]),
        ("-> done", "-> do¦ne", []),
    ],
)
def test_a_definition_is_where_the_thing_is_declared(old: str, new: str, declared: list[str], tmp_path: Path) -> None:
    assert at(tmp_path, old, new).defined == declared


@pytest.mark.parametrize(
    ("old", "new", "expected", "never"),
    [
        ("vars:\n", "¦\nvars:\n", {"agent", "workflow", "prompt", "import"}, {"model", "done"}),
        ("  publish: draft", "  publish: draft\n  ¦", {"model", "tools", "interaction"}, {"system", "script"}),
        ("  output: verdict", "  ou¦", {"output", "script"}, {"command", "expr"}),
        ("system: ask", "system: ¦", {"ask"}, {"verdict"}),
        ("output: verdict", "output: ¦", {"verdict"}, {"ask"}),
        ("  publish: draft", "  session: ¦", {"fresh", "inherit", "fork"}, {"ask"}),
        ("  publish: draft", "  readonly: t¦", {"true", "false"}, {"ask"}),
        ("entry: writer", "entry: ¦", {"writer", "one.left"}, {"verdict"}),
        ("check -> fail", "check -> ¦", {"writer", "done", "fail", "one.left"}, {"left", "when"}),
        ("check -> fail", "check -> fail ¦", {"when", "else", "as", "with"}, {"writer"}),
        ("when ok", "when ¦", {"ok", "reason", "not"}, {"n"}),
        ("check -> fail", "check -> fail as ¦", {"again", "foreach"}, {"writer"}),
        ("entry: writer", "entry: writer\n  ¦", {"budget", "worktree", "writer"}, {"entry", "model"}),
        ("entry: writer", "entry: writer\n  budget:\n    ¦", {"max_cost_usd", "on_exceeded"}, {"entry"}),
        ("{{vars.who}}", "{{¦}}", {"vars", "input", "outputs", "run"}, {"length", "params"}),
        ("{{vars.who}}", "{{vars.¦}}", {"who"}, {"input"}),
        ("{{input.work}}", "{{input.¦}}", {"who"}, {"work"}),
        ("{{outputs.writer.text}}`", "{{input.¦}}`", {"work"}, {"who"}),
        ("{{outputs.writer.text}}`", "{{outputs.¦}}`", {"writer", "check", "one.left"}, {"left"}),
        ("{{outputs.writer.text}}`", "{{outputs.check.¦}}`", {"ok", "reason", "history"}, {"writer"}),
        ("{{outputs.writer.text}}`", "{{outputs.one.¦}}`", {"left", "right"}, {"writer"}),
        ("{{outputs.writer.text}}`", "{{loop.again.¦}}`", {"iteration", "max", "previous_output"}, {"again"}),
        ("{{outputs.writer.text}}`", "{{run.¦}}`", {"id", "cost_usd"}, {"who"}),
        ("{{outputs.writer.text}}`", "{{artifacts.¦}}`", {"draft"}, {"writer"}),
        ("{{params.label}}", "{{params.¦}}", {"label"}, {"who"}),
        ("{{params.label}}", "{{¦}}", {"params", "vars"}, {"label"}),
        ('"length(outputs', '"¦length(outputs', {"length", "map", "outputs", "vars"}, {"params"}),
        ("outputs.writer.text) +", "outputs.¦ +", {"writer", "check"}, {"length"}),
        ("  who: string", "  who: ¦", {"string", "string[]", "json"}, {"file"}),
        ("  reason: string", "  reason: ¦", {"string", "file"}, {"who"}),
        ("use pair as", "use ¦ as", {"pair"}, {"writer"}),
        ("  tool left:", "  ¦\n  tool left:", {"tool", "agent", "left", "right"}, {"workflow", "prompt"}),
        ("  output: verdict", "  action: git¦", {"github.issue.comment"}, {"verdict"}),
        ("  output: verdict", '  connection: "¦', {"web"}, {"verdict"}),
        ("  output: verdict", "  action: github.issue.comment\n  params:\n    ¦", {"body"}, {"command"}),
        ("when ok", 'when "¦"', {"ok", "length", "outputs"}, {"who"}),
        ("check -> fail", "check -> fail # wr¦", set(), {"writer", "when"}),
        ('{{input.text}}" }', '{{input.¦}}" }', {"text"}, {"work"}),
    ],
)
def test_completion_offers_what_may_stand_there(
    old: str, new: str, expected: set[str], never: set[str], tmp_path: Path
) -> None:
    source = at(tmp_path, old, new)
    if '{{input.¦}}" }' in new:
        source = At(SOURCE.replace("  publish: draft", "  output: note").replace(old, new) + NOTE, tmp_path)
    words = set(source.words)
    assert expected <= words
    assert not words & never


NOTE = "schema note:\n  text: string\n"


def test_a_place_anywhere_in_any_prefix_has_answers_and_no_exception(tmp_path: Path) -> None:
    """Typing a whole file character by character, with the cursor at the end of what is there."""
    for size in range(0, len(SOURCE), 7):
        typed = At(SOURCE[:size] + "¦", tmp_path)
        assert typed.words is not None
        assert typed.hover is not None
        assert typed.defined is not None


def test_a_suggestion_says_how_much_of_it_is_written_already(tmp_path: Path) -> None:
    typed = at(tmp_path, "entry: writer", "entry: one.l¦")
    found = {each.label: each for each in complete(typed.analysis, typed.lines, typed.row, typed.column)}
    assert found["one.left"].replaces == len("one.l")
    typed = at(tmp_path, "{{outputs.writer.text}}`", "{{outputs.one.l¦}}`")
    found = {each.label: each for each in complete(typed.analysis, typed.lines, typed.row, typed.column)}
    assert found["left"].replaces == 1


def test_findings_come_from_the_open_text_and_imports_from_disk_or_buffers(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/x.bot").write_text("tool a:\n  command: `true`\n")
    main, lib = tmp_path / "main.bot", tmp_path / "lib/x.bot"
    text = b'import "lib/x.bot"\nworkflow w:\n  entry: a\n  a -> done\n'
    assert analyse(main, {main: text}).own == ()
    broken = {main: text, lib: b"tool b:\n  command: `true`\n"}
    assert {found.code for found in analyse(main, broken).own} == {"C001", "C008"}
    assert analyse(lib, {lib: b"tool a:\n  comand: `true`\n"}).own[0].code == "E012"


def test_a_fragment_is_judged_with_the_file_that_imports_it(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "other.bot").write_text('import "lib/x.bot"\nworkflow w:\n  entry: a\n  a -> done\n')
    (tmp_path / "lib/x.bot").write_text("")
    text = "tool a:\n  command: `echo {{vars.n¦one}}`\n"
    opened = At(text, tmp_path, "lib/x.bot")
    assert [found.code for found in opened.analysis.own] == ["C033"]
    assert "**C033**" in opened.hover


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ('import "lib/x¦.bot"\n', "lib/x.bot"),
        ('prompt p:\n  {{include "t.m¦d"}}\n', "t.md"),
        ('subbot s:\n  source: "chi¦ld"\n', "child/main.bot"),
    ],
)
def test_a_path_leads_to_its_file(line: str, file: str, tmp_path: Path) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("")
    opened = At(line, tmp_path)
    assert [span.file for span in definition(opened.analysis, opened.spot)] == [str(tmp_path / file)]


def test_paths_of_fragments_are_offered(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/x.bot").write_text("")
    assert At('import "¦"\n', tmp_path).words == ["lib/x.bot"]
