"""Sources become graphs: names, loops, joins, groups, imports, presets (language.md 4 to 7, 11 to 13, 19)."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.dsl.graph import (
    AgentNode,
    ComputeNode,
    FailNode,
    Graph,
    HumanNode,
    LoopKind,
    RouterMode,
    RouterNode,
    SubbotNode,
    ToolNode,
    ValueType,
)
from engine.dsl.load import Loaded, launch_errors, load
from engine.errors import SourceMissing
from tests.engine.dsl.front_cases import AGENT, FLOW, JUDGED, SCHEMA, TOOL
from tests.engine.dsl.front_examples import EXAMPLES


def loaded(folder: Path, text: str, **files: str) -> Loaded:
    """What ``text`` loads to, beside other files whose names write ``/`` as ``__``."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_md", ".md").replace("_bot", ".bot")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (folder / "main.bot").write_text(text)
    return load(folder / "main.bot")


def graph(folder: Path, text: str, **files: str) -> Graph:
    """The graph of a text without errors."""
    found = loaded(folder, text, **files)
    assert found.graph is not None, found.diagnostics
    return found.graph


def codes(found: Loaded) -> list[str]:
    """The codes of all findings."""
    return [one.code for one in found.diagnostics]


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_examples_of_the_language_validate_without_a_diagnostic(name: str, tmp_path: Path) -> None:
    """language.md 19"""
    for file, text in EXAMPLES[name].items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    found = load(tmp_path / "main.bot", connections={"web": "github"})
    assert found.diagnostics == ()
    assert launch_errors(found) == ()
    assert found.graph is not None


def test_a_missing_file_is_an_error_of_its_own(tmp_path: Path) -> None:
    """language.md 1.3"""
    for name in ("nowhere.bot", "."):
        with pytest.raises(SourceMissing):
            load(tmp_path / name)
    (tmp_path / "x.bot.yaml").write_text("")
    with pytest.raises(SourceMissing):
        load(tmp_path / "x.bot.yaml")


def test_the_older_extension_is_read(tmp_path: Path) -> None:
    """language.md 1.3"""
    (tmp_path / "x.iter").write_text(TOOL + FLOW)
    assert load(tmp_path / "x.iter").graph is not None


def test_a_tool_node_carries_its_properties(tmp_path: Path) -> None:
    """language.md 5.5"""
    text = 'tool a:\n  script: `x`\n  language: py\n  timeout: "1m30s"\n  readonly: true\n  publish: log\n' + FLOW
    node = graph(tmp_path, text).nodes["a"]
    assert isinstance(node, ToolNode)
    assert (node.language, node.timeout, node.readonly, node.publish) == ("py", 90.0, True, "log")
    assert node.command is None
    assert node.script is not None


def test_a_timeout_may_be_an_environment_form(tmp_path: Path) -> None:
    """language.md 2.6"""
    node = graph(tmp_path, 'tool a:\n  command: `x`\n  timeout: "${T:-5s}"\n' + FLOW).nodes["a"]
    assert isinstance(node, ToolNode)
    assert (node.timeout, node.timeout_text) == (0.0, "${T:-5s}")


def test_vars_of_the_workflow_replace_those_of_the_file(tmp_path: Path) -> None:
    """language.md 4.1"""
    text = (
        'vars:\n  a: int = 1\n  b: string\n  c: json = "[1]"\n  d: float = 2\n  e: string[] = `["x"]`\n'
        f"{TOOL}workflow w:\n  vars:\n    a: int = 2\n  entry: a\n  a -> done\n"
    )
    found = graph(tmp_path, text).vars
    assert [found[name].default for name in "acde"] == [2, [1], 2.0, ["x"]]
    assert found["b"].required
    assert found["d"].type is ValueType.FLOAT


def test_a_chain_makes_edges_and_its_clauses_belong_to_the_last(tmp_path: Path) -> None:
    """language.md 7.1"""
    text = f"{JUDGED}workflow w:\n  entry: b\n  b -> a -> done when ok\n  a -> fail else\n"
    first, second, third = (edge for edges in graph(tmp_path, text).edges.values() for edge in edges)
    assert (first.source, first.target, first.conditional) == ("b", "a", False)
    assert (second.source, second.target, second.when_field) == ("a", "done", "ok")
    assert third.otherwise


def test_loops_know_kind_cap_entries_and_body(tmp_path: Path) -> None:
    """language.md 7.4"""
    text = (
        f"{JUDGED}tool c:\n  command: `c`\nworkflow w:\n  entry: c\n  c -> a\n  a -> b when ok\n  a -> done else\n"
        '  b -> a as again("{{vars.n}}")\n  b -> c as outer(unbounded 9)\n  b -> done\nvars:\n  n: int = 1\n'
    )
    loops = graph(tmp_path, text).loops
    again, outer = loops["again"], loops["outer"]
    assert (again.kind, again.entries, again.body) == (LoopKind.TEMPLATE, {"a"}, {"a", "b"})
    assert (outer.kind, outer.cap, outer.body) == (LoopKind.UNBOUNDED, 9, {"a", "b", "c"})


def test_a_foreach_knows_element_and_list(tmp_path: Path) -> None:
    """language.md 7.4"""
    text = (
        f'{JUDGED}workflow w:\n  entry: a\n  a -> b\n  b -> b as foreach l(x in "{{{{outputs.a.t}}}}")\n  b -> done\n'
    )
    loop = graph(tmp_path, text).loops["l"]
    assert (loop.kind, loop.element, loop.body) == (LoopKind.FOREACH, "x", {"b"})


JOINED = 'router r:\n  mode: {}\n{}compute x:\n  expr:\n    v: "1"\ncompute y:\n  expr:\n    v: "1"\n'
JOIN = 'compute j:\n{}  expr:\n    v: "1"\n'


@pytest.mark.parametrize(
    ("await_line", "edges", "join"),
    [
        ("  await: wait_all\n", "  r -> x -> j\n  r -> y -> j\n  j -> done\n", "j"),
        ("", "  r -> x -> j\n  r -> y -> j\n  j -> done\n", "j"),
        ("", "  r -> x -> j\n  r -> y -> done\n  j -> done\n", ""),
        ("", "  r -> x -> j\n  r -> j -> done\n  y -> done\n  j -> y\n", "j"),
    ],
)
def test_the_join_of_a_fan_out(await_line: str, edges: str, join: str, tmp_path: Path) -> None:
    """language.md 7.6"""
    text = JOINED.format("fan_out_all", "") + JOIN.format(await_line) + "workflow w:\n  entry: r\n" + edges
    found = loaded(tmp_path, text.replace("  r -> j -> done\n", "  r -> j\n"))
    assert found.graph is not None, found.diagnostics
    assert found.graph.convergence.get("r", "") == join


def test_a_fan_out_inside_a_branch_is_stepped_over(tmp_path: Path) -> None:
    """language.md 7.6"""
    text = (
        JOINED.format("fan_out_all", "")
        + 'router s:\n  mode: fan_out_all\ncompute p:\n  expr:\n    v: "1"\ncompute q:\n  expr:\n    v: "1"\n'
        + 'compute i:\n  await: wait_all\n  expr:\n    v: "1"\n'
        + JOIN.format("  await: wait_all\n")
        + "workflow w:\n  entry: r\n  r -> s\n  r -> x -> j\n  s -> p -> i\n  s -> q -> i\n  i -> y -> j\n  j -> done\n"
    )
    assert dict(graph(tmp_path, text).convergence) == {"r": "j", "s": "i"}


def test_a_router_over_a_list_knows_its_element(tmp_path: Path) -> None:
    """language.md 5.2, 7.5"""
    lines = '  over: "[1]"\n  as: part\n'
    text = JOINED.format("fan_out_each", lines) + "workflow w:\n  entry: r\n  r -> x -> y -> done\n"
    node = graph(tmp_path, text).nodes["r"]
    assert isinstance(node, RouterNode)
    assert (node.mode, node.element) == (RouterMode.FAN_OUT_EACH, "part")


def test_groups_become_nodes_with_dotted_names_and_texts_of_their_own(tmp_path: Path) -> None:
    """language.md 11"""
    text = (
        "prompt ask:\n  Is {{params.what}} as {{outputs.m.result}}?\n"
        "group g(what):\n  tool m:\n    command: `echo {{params.what}}`\n"
        "  human h:\n    instructions: ask\n"
        "  compute c:\n    expr:\n      n: \"loop.l.iteration + length('outputs.m') + length(outputs.m.result)\"\n"
        "  m -> h -> c\n  c -> m as l(2)\n"
        'use g as one with { what: "sun" }\nuse g as two with { what: "sea" }\n'
        "workflow w:\n  entry: one.m\n  one.c -> two.m\n  two.c -> done\n"
    )
    found = graph(tmp_path, text)
    tool, asked, line = found.nodes["two.m"], found.nodes["two.h"], found.nodes["two.c"]
    assert isinstance(tool, ToolNode)
    assert isinstance(asked, HumanNode)
    assert isinstance(line, ComputeNode)
    assert tool.command is not None
    assert tool.command.source == "echo sea"
    assert asked.instructions is not None
    assert asked.instructions.source == "Is sea as {{outputs.two.m.result}}?"
    assert line.lines[0][1].text == "loop.two.l.iteration + length('outputs.m') + length(outputs.two.m.result)"
    assert set(found.loops) == {"one.l", "two.l"}


def test_a_group_that_nobody_uses_is_still_checked(tmp_path: Path) -> None:
    """language.md 11"""
    assert codes(loaded(tmp_path, "group g:\n  tool m:\n    comand: `x`\n" + TOOL + FLOW)) == ["E012"]


def test_two_uses_of_one_prefix_clash(tmp_path: Path) -> None:
    """language.md 11, C041"""
    text = "group g:\n  tool m:\n    command: `x`\nuse g as one\nuse g as one\n"
    text += "workflow w:\n  entry: one.m\n  one.m -> done\n"
    assert codes(loaded(tmp_path, text)) == ["C041"]


def test_imports_merge_declarations_and_a_clash_names_both_files(tmp_path: Path) -> None:
    """language.md 12"""
    found = loaded(tmp_path, 'import "lib/x.bot"\n' + TOOL + FLOW, lib__x_bot="tool a:\n  command: `x`\n")
    assert [(one.code, one.line) for one in found.diagnostics] == [("E010", 2)]
    assert "lib/x.bot:1" in found.diagnostics[0].message


def test_names_of_an_unreadable_fragment_are_no_further_mistakes(tmp_path: Path) -> None:
    """language.md 14: no cascades"""
    text = 'import "lib/gone.bot"\n' + TOOL + "workflow w:\n  entry: a\n  a -> there when ok\n  there -> done\n"
    assert codes(loaded(tmp_path, text)) == ["E046"]


def test_a_symbolic_link_is_no_fragment(tmp_path: Path) -> None:
    """language.md 12"""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/real.bot").write_text("schema s:\n  x: int\n")
    (tmp_path / "lib/x.bot").symlink_to(tmp_path / "lib/real.bot")
    assert codes(loaded(tmp_path, 'import "lib/x.bot"\n' + TOOL + FLOW)) == ["E045"]


def test_includes_nest_and_stay_in_their_folder(tmp_path: Path) -> None:
    """language.md 12"""
    text = 'human a:\n  instructions: p\nprompt p:\n  {{include "t/a.md"}} end\n' + FLOW
    node = graph(tmp_path, text, t__a_md='A {{include "b.md"}}', t__b_md="B").nodes["a"]
    assert isinstance(node, HumanNode)
    assert node.instructions is not None
    assert node.instructions.source == "A B end"
    assert codes(loaded(tmp_path, text, t__a_md='{{include "../c.md"}}', c_md="C")) == ["C055"]
    assert "C055" in codes(loaded(tmp_path, text, t__a_md='{{include "a.md"}}'))
    assert codes(loaded(tmp_path, text, t__a_md="x" * (256 * 1024 + 1))) == ["C055"]


def test_inline_prompts_and_declared_ones(tmp_path: Path) -> None:
    """language.md 4.4"""
    found = graph(tmp_path, f'{AGENT}  system: "be brief"\n  user: ask\nprompt ask:\n  Do it.\n{FLOW}').nodes["a"]
    assert isinstance(found, AgentNode)
    assert found.system is not None
    assert found.user is not None
    assert (found.system.source, found.user.source) == ("be brief", "Do it.")


def test_a_bundle_adds_prompts_and_presets_and_the_source_wins(tmp_path: Path) -> None:
    """language.md 13"""
    text = (
        f"vars:\n  x: int = 1\n  y: int = 1\npresets:\n  p:\n    x: 2\n    y: 2\nhuman a:\n  instructions: ask\n{FLOW}"
    )
    files = {
        "manifest.yaml": "schema_version: 1\n",
        "prompts/ask.md": "Well?\n",
        "presets/p.md": "---\nname: p\nvars: {x: 3}\n---\nBe kind.\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    found = graph(tmp_path, text)
    node = found.nodes["a"]
    assert isinstance(node, HumanNode)
    assert node.instructions is not None
    assert node.instructions.source == "Well?\n"
    assert dict(found.presets["p"]) == {"x": 3, "y": 2}
    assert found.preset_texts["p"] == "Be kind.\n"
    assert load(tmp_path).graph == found


def test_a_subbot_knows_the_absolute_path_of_its_source(tmp_path: Path) -> None:
    """language.md 5.7"""
    text = 'subbot a:\n  source: "child.bot"\n  with { n: 1 }\n' + FLOW
    node = graph(tmp_path, text, child_bot=TOOL + FLOW).nodes["a"]
    assert isinstance(node, SubbotNode)
    assert node.source == str(tmp_path / "child.bot")
    assert [mapped.key for mapped in node.mappings] == ["n"]


def test_a_subbot_of_itself_is_no_mistake_of_the_source(tmp_path: Path) -> None:
    """language.md 5.7: at most 16 deep, at run time"""
    assert codes(loaded(tmp_path, 'subbot a:\n  source: "main.bot"\n' + FLOW)) == []


def test_a_launch_refuses_what_a_run_would_reach_only(tmp_path: Path) -> None:
    """language.md 1.1"""
    reached = AGENT.replace("agent a", "agent b") + '  command: "x"\nhuman c:\n  review_url: "x"\n'
    text = f"{TOOL}{reached}workflow w:\n  entry: a\n  a -> b -> c -> done\n"
    found = loaded(tmp_path, text)
    assert found.graph is not None
    assert codes(found) == ["X001", "X001"]
    assert [one.code for one in launch_errors(found)] == ["X001", "X001"]
    remote = loaded(tmp_path, 'subbot a:\n  source: "bot://a/b"\n' + FLOW)
    assert ([one.line for one in remote.diagnostics], codes(remote)) == ([2], ["X001"])
    assert [one.code for one in launch_errors(remote)] == ["X001"]
    advisory = loaded(tmp_path, f'{AGENT}  provider: "x"\n{FLOW}')
    assert codes(advisory) == ["X001"]
    assert launch_errors(advisory) == ()


def test_secrets_are_reached_unless_they_are_optional(tmp_path: Path) -> None:
    """language.md 1.1"""
    text = "secrets:\n  k:\n  o:\n    optional: true\n" + TOOL + FLOW
    assert ["`k`" in one.message for one in launch_errors(loaded(tmp_path, text))] == [True]


def test_a_connection_that_is_not_configured_refuses_the_launch(tmp_path: Path) -> None:
    """language.md 14, X004"""
    text = "tool a:\n  action: github.issue.comment\n  connection: web\n" + FLOW
    (tmp_path / "x.bot").write_text(text)
    found = load(tmp_path / "x.bot", connections={})
    assert codes(found) == ["X004"]
    assert [one.code for one in launch_errors(found)] == ["X004"]


def test_budget_and_workflow_properties(tmp_path: Path) -> None:
    """language.md 6, 10"""
    lines = '  budget:\n    max_duration: "1h"\n    max_cost_usd: 2\n    on_exceeded: pause\n  worktree: auto\n'
    found = graph(tmp_path, f"{TOOL}workflow w:\n{lines}  entry: a\n  a -> done\n")
    assert (found.budget.max_duration, found.budget.max_cost_usd, found.budget.pause_on_exceeded) == (3600.0, 2.0, True)
    assert found.worktree == "auto"


def test_a_named_fail_carries_code_and_message(tmp_path: Path) -> None:
    """language.md 5.8"""
    text = f'fail f:\n  code: "SPENT"\n  message: "{{{{outputs.a.n}}}} left"\n  resumable: true\n{SCHEMA}'
    text += "tool a:\n  command: `x`\n  output: s\nworkflow w:\n  entry: a\n  a -> f\n"
    node = graph(tmp_path, text).nodes["f"]
    assert isinstance(node, FailNode)
    assert (node.code, node.resumable) == ("SPENT", True)


@pytest.mark.parametrize(
    "lines",
    [
        "  # {{vars.ghost}}\n",
        '  description: "{{nope}} and {{vars.ghost}}"\n',
    ],
)
def test_what_looks_like_a_template_elsewhere_is_plain_text(lines: str, tmp_path: Path) -> None:
    """language.md 18.11"""
    assert codes(loaded(tmp_path, "tool a:\n" + lines + "  command: `x`\n" + FLOW)) == []


@pytest.mark.parametrize(
    ("command", "quoted"),
    [
        ("echo '{{vars.x}}'", True),
        ('echo "a {{vars.x}} b"', True),
        ('echo "$(dirname {{vars.x}})/y"', False),
        ("echo {{vars.x}} # don't\necho {{vars.x}}", False),
        ("cat <<END\ndon't {{vars.x}}\nEND", False),
        ("echo '{{!vars.x}}'", False),
        ('echo \\"{{vars.x}}', False),
    ],
)
def test_quotes_around_a_reference_are_found(command: str, quoted: bool, tmp_path: Path) -> None:
    """language.md 9.3, C137"""
    text = f"vars:\n  x: int = 1\ntool a:\n  command: `{command}`\n{FLOW}"
    assert codes(loaded(tmp_path, text)) == (["C137"] if quoted else [])


@pytest.mark.parametrize(
    "edges",
    [
        "  a -> b when not ok as l(3)\n  a -> done when ok\n  a -> fail else\n  b -> done\n",
        "  a -> a as l(3)\n  a -> b\n  b -> done\n",
        "  a -> b when ok as l(2)\n  a -> done when ok\n  a -> fail else\n  b -> a as m(2)\n  b -> done\n",
        "  a -> b when ok\n  a -> a else as l(3)\n  a -> done\n  b -> done\n",
    ],
)
def test_exhaustion_exits_are_no_mistakes(edges: str, tmp_path: Path) -> None:
    """language.md 7.3, 7.4, 18.12"""
    assert codes(loaded(tmp_path, f"{JUDGED}workflow w:\n  entry: a\n{edges}")) == []
