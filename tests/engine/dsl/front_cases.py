"""The smallest source for every diagnostic code, as data: files by name, and what the world around them is.

``CASES`` maps a code to a ``Case``; the main file is ``main.bot``. Read by ``test_front_codes``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.dsl.catalogue import Operation, Parameter

TOOL = "tool a:\n  command: `echo a`\n"
FLOW = "workflow w:\n  entry: a\n  a -> done\n"
SCHEMA = "schema s:\n  ok: bool\n  n: int\n  t: string\n"
JUDGED = "tool a:\n  command: `echo a`\n  output: s\ntool b:\n  command: `echo b`\n" + SCHEMA
AGENT = "agent a:\n  backend: scripted\n"
CATALOGUE = {
    "github.issue.comment": Operation(
        "github.issue.comment",
        (Parameter("number", "int", required=True), Parameter("body", "string", required=True)),
        effect="ambiguous",
        has_probe=False,
    )
}
CONNECTIONS = {"web": "github", "lab": "gitlab"}


@dataclass(frozen=True)
class Case:
    """One source: the text of ``main.bot``, other files, the expected line (0: any)."""

    main: str
    files: dict[str, str] = field(default_factory=dict)
    line: int = 0
    data: bytes = b""


def tool(lines: str, more: str = "") -> str:
    """A workflow of one tool with further lines."""
    return f"tool a:\n  command: `echo a`\n{lines}{more}{FLOW}"


def agent(lines: str, more: str = "") -> str:
    """A workflow of one agent with further lines."""
    return f"{AGENT}{lines}{more}{FLOW}"


def human(lines: str, more: str = "", entry: str = "") -> str:
    """A workflow of one human node with further lines."""
    return f"human a:\n{lines}{more}workflow w:\n{entry}  entry: a\n  a -> done\n"


def flow(lines: str, more: str = "") -> str:
    """A judged tool with the given workflow lines."""
    return f"{JUDGED}{more}workflow w:\n  entry: a\n{lines}"


def compute(expression: str, more: str = "") -> str:
    """One compute line."""
    return f'compute a:\n  expr:\n    x: "{expression}"\n{more}{FLOW}'


def split(mode: str, edges: str, lines: str = "", more: str = "") -> str:
    """A router with two tools."""
    tools = "tool b:\n  command: `echo b`\n  readonly: true\ntool c:\n  command: `echo c`\n  readonly: true\n"
    return f"router a:\n  mode: {mode}\n{lines}{tools}{more}workflow w:\n  entry: a\n{edges}"


def action(lines: str = "", connection: str = "  connection: web\n") -> str:
    """A connector action with further lines."""
    return f"tool a:\n  action: github.issue.comment\n{connection}{lines}{FLOW}"


def workflow(lines: str, more: str = "") -> str:
    """A workflow with further properties."""
    return f"{TOOL}{more}workflow w:\n{lines}  entry: a\n  a -> done\n"


PARAMS = '  params:\n    number: 1\n    body: "x"\n'
GROUP = 'group g(p):\n  tool m:\n    command: `echo {{params.p}}`\nuse g as one with { p: "1" }\n'
GROUP_FLOW = "workflow w:\n  entry: one.m\n  one.m -> done\n"
BUNDLE = {"manifest.yaml": "schema_version: 1\n"}
CHILD = {"child.bot": TOOL + "workflow c:\n  entry: nowhere\n"}
BRANCH = split(
    "fan_out_all",
    "  a -> b -> j\n  a -> c -> j\n  j -> done\n",
    more='compute j:\n  await: wait_all\n  expr:\n    x: "1"\n',
)

SYNTAX = {
    "E001": Case(TOOL + "workflow w:\n  entry: a\n  a => done\n", line=5),
    "E002": Case("tool a:\n" + FLOW, line=1),
    "E003": Case("tool a:\n    command: `echo a`\n  readonly: true\n" + FLOW, line=3),
    "E004": Case('tool a:\n  command: "echo a\n' + FLOW, line=2),
    "E005": Case('dsl: 2\ntool a:\n  command: "echo \\q"\n' + FLOW, line=3),
    "E006": Case("", data=b"tool a:\n  command: `\xff`\n" + FLOW.encode(), line=2),
    "E010": Case(tool("  command: `echo b`\n"), line=3),
    "E011": Case(TOOL + "tool done:\n  command: `x`\n" + FLOW, line=3),
    "E012": Case(tool("  comand: `echo b`\n"), line=3),
    "E013": Case(split("fan_out_each", "  a -> b\n  b -> done\n", '  over: "[1]"\n  depends_on: k\n'), line=4),
    "E014": Case("vars:\n  x: int = 1\nvars:\n  y: int = 1\n" + TOOL + FLOW, line=3),
    "E020": Case(split("sideways", "  a -> b\n  b -> done\n  c -> done\n"), line=2),
    "E021": Case("vars:\n  x: integer = 1\n" + TOOL + FLOW, line=2),
    "E030": Case(flow("  a -> b when ok when not ok\n  a -> done else\n  b -> done\n"), line=12),
    "E031": Case(flow("  a -> b when ok else\n  a -> done\n  b -> done\n"), line=12),
    "E032": Case(flow("  a -> b when ok -> done\n  a -> done else\n"), line=12),
    "E040": Case("dsl: 3\n" + TOOL + FLOW, line=1),
    "E041": Case(TOOL + "dsl: 2\n" + FLOW, line=3),
    "E042": Case("# strict-escape: on\ndsl: 2\n" + TOOL + FLOW, line=1),
    "E043": Case("dsl: 2\n" + agent("  memory:\n    project_root: true\n"), line=5),
    "E044": Case(TOOL + 'import "lib/x.bot"\n' + FLOW, {"lib/x.bot": "schema x:\n  a: int\n"}, line=3),
    "E045": Case('import "../x.bot"\n' + TOOL + FLOW, line=1),
    "E046": Case('import "lib/x.bot"\n' + TOOL + FLOW, line=1),
    "E047": Case(
        'import "lib/x.bot"\n' + TOOL + FLOW, {"lib/x.bot": 'import "y.bot"\n', "lib/y.bot": 'import "x.bot"\n'}
    ),
}

STRUCTURE = {
    "C001": Case(TOOL + "workflow w:\n  entry: a\n  a -> nowhere\n", line=5),
    "C002": Case(tool("  output: nothing\n"), line=3),
    "C003": Case(human("  instructions: nothing\n"), line=2),
    "C004": Case("tool a:\n  command: `echo {{nope.x}}`\n" + FLOW, line=2),
    "C005": Case(flow('  a -> a as l(2) when "n > 5"\n  a -> b as l(3) when ok\n  a -> done\n  b -> a\n'), line=13),
    "C006": Case(TOOL, line=1),
    "C007": Case(TOOL + FLOW + "workflow v:\n  entry: a\n", line=6),
    "C008": Case(TOOL + "workflow w:\n  a -> done\n", line=3),
    "C009": Case(agent("  session: inherit\n  await: wait_all\n"), line=3),
    "C010": Case(flow("  a -> b\n  a -> done\n  b -> done\n"), line=13),
    "C011": Case(flow("  a -> b when ok\n  a -> done when ok\n  a -> done else\n  b -> done\n"), line=13),
    "C012": Case(flow("  a -> b when ok\n  b -> done\n"), line=12),
    "C013": Case(flow("  a -> b when n\n  a -> done else\n  b -> done\n"), line=12),
    "C014": Case(flow("  a -> b when missing\n  a -> done else\n  b -> done\n"), line=12),
    "C015": Case(flow("  a -> b else\n  b -> done\n"), line=12),
    "C016": Case(TOOL + "tool b:\n  command: `x`\n" + FLOW, line=3),
    "C017": Case(flow("  a -> b\n  b -> done\n").replace("echo b", "echo {{outputs.a.history}}"), line=5),
    "C018": Case("agent a:\n  readonly: true\n" + FLOW, line=1),
    "C019": Case(flow("  a -> b\n  b -> a\n"), line=13),
    "C020": Case(split("round_robin", "  a -> b\n  b -> c\n  c -> done\n"), line=1),
    "C021": Case(split("llm", "  a -> b\n  b -> c\n  c -> done\n", "  backend: scripted\n"), line=1),
    "C022": Case(split("llm", '  a -> b when "1 == 1"\n  a -> c\n  b -> done\n  c -> done\n', "  backend: x\n")),
    "C023": Case(split("fan_out_all", "  a -> b\n  a -> c\n  b -> done\n  c -> done\n", "  multi: true\n"), line=3),
    "C024": Case(TOOL + 'mcp_server m:\n  command: "x"\nmcp_server m:\n  command: "x"\n' + FLOW, line=5),
    "C025": Case(TOOL + "mcp_server m:\n  transport: stdio\n" + FLOW, line=3),
    "C026": Case(flow("  a -> a as l(0)\n  a -> b\n  b -> done\n"), line=12),
    "C027": Case(agent("  reasoning_effort: hard\n"), line=3),
    "C028": Case(
        split(
            "fan_out_all",
            '  a -> b\n  a -> c\n  b -> j with { k: "1" }\n  c -> j with { k: "2" }\n  j -> done\n',
            more='compute j:\n  await: wait_all\n  expr:\n    x: "1"\n',
        )
    ),
    "C029": Case("tool a:\n  command: `echo {{outputs.ghost.x}}`\n" + FLOW, line=2),
    "C031": Case(flow("  a -> b\n  b -> done\n").replace("echo b", "echo {{outputs.a.zip}}"), line=5),
    "C032": Case(flow('  a -> b\n  b -> c with { x: "{{input.zip}}" }\n  c -> done\n', "tool c:\n  command: `c`\n")),
    "C033": Case("tool a:\n  command: `echo {{vars.ghost}}`\n" + FLOW, line=2),
    "C034": Case("schema i:\n  x: int\ntool a:\n  input: i\n  command: `echo {{input.y}}`\n" + FLOW, line=5),
    "C035": Case("tool a:\n  command: `echo {{artifacts.ghost.x}}`\n" + FLOW, line=2),
    "C036": Case(flow("  a -> b\n  b -> done\n").replace("echo a", "echo {{outputs.b}}"), line=2),
    "C037": Case(
        AGENT + "  max_tokens: 9\nworkflow w:\n  budget:\n    max_tokens: 5\n  entry: a\n  a -> done\n", line=3
    ),
    "C038": Case(TOOL + 'mcp_server m:\n  url: "https://x"\n  auth:\n    client_id: "c"\n' + FLOW, line=5),
    "C039": Case("compute a:\n  output: s\n" + SCHEMA + FLOW, line=1),
    "C040": Case(compute("1 +"), line=3),
    "C041": Case(TOOL + 'compute a:\n  expr:\n    x: "1"\n' + FLOW, line=3),
    "C042": Case("group g:\n  tool done:\n    command: `x`\nuse g as one\n" + TOOL + FLOW, line=2),
    "C043": Case(agent("  compaction:\n    threshold: 2\n"), line=4),
    "C044": Case(tool("  sandbox: box\n"), line=3),
    "C046": Case(workflow("  budget:\n    max_cost_usd: -1\n"), line=5),
    "C048": Case(agent('  memory:\n    scope: ""\n'), line=4),
    "C049": Case(tool("  artifact_labels: [x]\n"), line=3),
    "C055": Case(human("  instructions: p\n", 'prompt p:\n  {{include "gone.md"}}\n'), line=4),
    "C080": Case(agent("  capabilities: [board.fly]\n"), line=3),
    "C081": Case(agent('  capabilities: ["Board Fly"]\n'), line=3),
    "C097": Case(flow("  a -> a as l(unbounded)\n  a -> b\n  b -> done\n"), line=12),
    "C098": Case(flow("  a -> b\n  b -> a as l(unbounded 5)\n"), line=13),
}

VALUES = {
    "C070": Case("presets:\n  p:\n    ghost: 1\n" + TOOL + FLOW, line=3),
    "C071": Case('vars:\n  x: int = 1\npresets:\n  p:\n    x: "a"\n' + TOOL + FLOW, line=5),
    "C072": Case("vars:\n  x: int = 1\npresets:\n  p:\n    x: 1\n  p:\n    x: 2\n" + TOOL + FLOW, line=6),
    "C102": Case(tool("  compress: maybe\n"), line=3),
    "C107": Case(compute("1 == 'a'"), line=3),
    "C108": Case(flow('  a -> b when "n"\n  a -> done else\n  b -> done\n'), line=12),
    "C109": Case('vars:\n  x: int = "a"\n' + TOOL + FLOW, line=2),
    "C110": Case(agent("  permission: maybe\n"), line=3),
    "C111": Case(workflow('  allow: ["Read"]\n'), line=4),
    "C112": Case(tool("  permission: ask\n"), line=3),
    "C113": Case(split("fan_out_each", "  a -> b\n  b -> c\n  c -> done\n"), line=1),
    "C114": Case(split("fan_out_all", "  a -> b\n  a -> c\n  b -> done\n  c -> done\n", "  as: x\n"), line=3),
    "C115": Case(split("fan_out_each", "  a -> b\n  a -> c\n  b -> done\n  c -> done\n", '  over: "[1]"\n'), line=13),
    "C116": Case(TOOL + "use g as one\n" + FLOW, line=3),
    "C117": Case(GROUP.replace('{ p: "1" }', '{ q: "1" }') + GROUP_FLOW, line=4),
    "C118": Case(flow('  a -> a as l(2) as foreach f(x in "{{outputs.a}}")\n  a -> done\n'), line=12),
    "C119": Case("subbot a:\n  isolated: true\n" + FLOW, line=1),
    "C120": Case(compute("vars.x[0]", "vars:\n  x: int = 1\n"), line=3),
    "C121": Case(compute("vars.x == 'c'", 'vars:\n  x: string [enum: "a", "b"] = "a"\n'), line=3),
    "C122": Case(agent('  timeout: "soon"\n'), line=3),
    "C123": Case(flow("  a -> b when ok\n  a -> b else\n  a -> done else\n  b -> done\n"), line=14),
    "C124": Case(flow("  a -> b when ok\n  a -> b else\n  a -> done\n  b -> done\n"), line=13),
    "C125": Case('vars:\n  x: int [enum: "a"] = 1\n' + TOOL + FLOW, line=2),
    "C126": Case('vars:\n  x: string [enum: "a"] = "b"\n' + TOOL + FLOW, line=2),
    "C127": Case('vars:\n  x: string [enum: "a", "a"] = "a"\n' + TOOL + FLOW, line=2),
    "C129": Case(tool("  output: f\n", "schema f:\n  x: file\n"), line=5),
    "C130": Case(human("  output: f\n", "schema f:\n  _attachments: json\n"), line=4),
    "C131": Case(agent("  auto_memory: maybe\n"), line=3),
    "C133": Case(workflow("  loop_budget_guard: maybe\n"), line=4),
    "C134": Case(workflow("  repo_devbox: maybe\n"), line=4),
    "C137": Case('tool a:\n  command: `echo "{{vars.x}}"`\nvars:\n  x: int = 1\n' + FLOW, line=2),
    "C138": Case(compute("length(1, 2)"), line=3),
    "C139": Case(workflow("  workspace_checkpoint: maybe\n"), line=4),
    "C140": Case(tool("  output: e\n", "schema e:\n\n"), line=4),
    "C141": Case("group g:\n\n" + TOOL + FLOW, line=1),
    "C142": Case(workflow("  worktree: maybe\n"), line=4),
    "C143": Case(tool('  sandbox:\n    image: "x"\n    post_create: `echo \\"a\\"`\n'), line=5),
    "C144": Case('tool a:\n  command: "echo \\"a\\""\n' + FLOW, line=2),
    "C145": Case(flow("  a -> b when not ok as l(2)\n  a -> done when ok\n  b -> a as m(2)\n"), line=12),
    "C146": Case('schema i:\n  x: int\ncompute a:\n  output: i\n  expr:\n    x: "7 / 2.5"\n' + FLOW, line=6),
    "C147": Case(compute("loop.ghost.iteration"), line=3),
    "C148": Case('agent a:\n  backend: scripted\n  model: "{{input.m}}"\n' + FLOW, line=3),
    "C161": Case('vars:\n  x: string [matching: "^a$"] = "b"\n' + TOOL + FLOW, line=2),
    "C240": Case(human("  interaction: async\n"), line=2),
    "C244": Case(BRANCH.replace("b -> j", "b -> a as l(2)")),
    "C247": Case('fail f:\n  code: "lower"\n' + TOOL + FLOW.replace("done", "f"), line=2),
    "C248": Case("fail f:\n  code: TIMEOUT\n" + TOOL + FLOW.replace("done", "f"), line=2),
    "C249": Case(split("fan_out_all", "  a -> b\n  a -> b\n  b -> c\n  c -> done\n"), line=12),
}

CONNECTORS = {
    "C260": Case(action(PARAMS).replace("github.issue.comment", '"Github.Comment"'), line=2),
    "C261": Case(action(PARAMS, ""), line=1),
    "C262": Case(action(PARAMS + "  policy: recover\n"), line=7),
    "C263": Case(action(PARAMS + "  postcondition: `true`\n"), line=7),
    "C264": Case(action(PARAMS + '    body: "y"\n'), line=7),
    "C265": Case(tool('  timeout: "soon"\n'), line=3),
    "C266": Case(tool("  connection: web\n"), line=3),
    "X002": Case(action(PARAMS).replace("issue.comment", "issue.coment"), line=2),
    "X003": Case(action(PARAMS + '    bodi: "x"\n'), line=7),
    "X004": Case(action(PARAMS, "  connection: lab\n"), line=3),
    "X005": Case(action(PARAMS + '  idempotency_key: "k"\n'), line=7),
    "X006": Case(workflow('  budget:\n    max_duration: "two hours"\n'), line=5),
    "X007": Case(TOOL + FLOW + "  done -> a\n", line=6),
    "X008": Case(BRANCH.replace("  readonly: true\n", ""), line=1),
    "X009": Case('subbot a:\n  source: "child.bot"\n' + FLOW, CHILD, line=2),
    "X010": Case(
        flow("  a -> b as l(2)\n  a -> done\n  b -> a as m(2)\n  b -> c\n  c -> b\n", "tool c:\n  command: `c`\n")
    ),
    "X012": Case(action(PARAMS), line=2),
}

LATER = {
    "C050": Case("attachments:\n  x: file\n  x: file\n" + TOOL + FLOW, line=3),
    "C051": Case("attachments:\n  x: file\nvars:\n  x: int = 1\n" + TOOL + FLOW, line=2),
    "C052": Case('attachments:\n  x: file\n    accept_mime: ["image"]\n' + TOOL + FLOW, line=3),
    "C053": Case("tool a:\n  command: `echo {{attachments.x}}`\n" + FLOW, line=2),
    "C054": Case("attachments:\n  x: file\ntool a:\n  command: `echo {{attachments.x.colour}}`\n" + FLOW, line=4),
    "C083": Case(agent("  cursors:\n    ghost: high\n"), line=4),
    "C084": Case(agent("  cursors:\n    c: high\n", 'cursor c:\n  values:\n    low: "x"\n'), line=4),
    "C085": Case(TOOL + 'cursor c:\n  bands:\n    "1..2": "x"\n' + FLOW, line=5),
    "C086": Case(TOOL + 'cursor c:\n  values:\n    l: "x"\ncursor c:\n  values:\n    l: "x"\n' + FLOW, line=6),
    "C090": Case("secrets:\n  x:\n  x:\n" + TOOL + FLOW, line=3),
    "C091": Case("secrets:\n  x:\nvars:\n  x: int = 1\n" + TOOL + FLOW, line=2),
    "C092": Case('secrets:\n  x:\n    hosts: ["a b"]\n' + TOOL + FLOW, line=3),
    "C093": Case("tool a:\n  command: `echo {{secrets.x}}`\n" + FLOW, line=2),
    "C094": Case('secrets:\n  x:\n    mount_path: "/x"\n' + TOOL + FLOW, line=3),
    "C095": Case("secrets:\n  x:\ntool a:\n  command: `echo {{secrets.x.colour}}`\n" + FLOW, line=4),
    "C100": Case(human("  interaction: review\n"), line=2),
    "C101": Case(human('  review_url: "{{vars.ghost}}"\n'), line=2),
    "C103": Case(tool("  postcondition: `true`\n  policy: maybe\n"), line=4),
    "C104": Case(tool('  goal: "x"\n'), line=3),
    "C105": Case(tool("  postcondition: `true`\n  policy: required\n  recovery:\n    max_agent_attempts: 1\n"), line=5),
    "C106": Case(tool("  postcondition: `true`\n  recovery:\n    max_agent_attempts: 1\n"), line=4),
    "C170": Case(agent("  memory:\n    visibility: everybody\n"), line=4),
    "C171": Case(agent("  memory:\n    enabled: false\n    write: true\n"), line=5),
    "C173": Case(agent("  fallbacks:\n    one:\n      metered: true\n"), line=4),
    "C175": Case(agent("  fallbacks:\n    one:\n      backend: claw\n      on: [tuesdays]\n"), line=6),
    "C176": Case(agent("  fallbacks:\n    one:\n      backend: claw\n      on: [any]\n"), line=5),
    "C190": Case(TOOL + "supervisor v:\n  watches: [a]\n" + FLOW, line=4),
    "C191": Case(agent("", 'supervisor v:\n  watches: [a]\n  cooldown: "soon"\n'), line=5),
    "C192": Case(agent("", "supervisor v:\n  watches: [a]\nsupervisor v:\n  watches: [a]\n"), line=5),
    "C193": Case(agent("", "supervisor v:\n  watches: [a]\n  system: ghost\n"), line=5),
    "C194": Case(workflow("  resources:\n    gpu: 0\n"), line=5),
    "C195": Case(tool("  needs: gpu\n"), line=3),
    "C196": Case('emit a:\n  description: "x"\n' + FLOW, line=1),
    "C197": Case('wait a:\n  event: "x"\n' + FLOW, line=1),
    "C198": Case('emit a:\n  event: "x"\n' + FLOW, line=2),
    "C199": Case(agent('  skills: ["ghost"]\n'), line=3),
    "C241": Case("await_answers a:\n  from: a\n" + FLOW, line=1),
    "C242": Case(TOOL + 'await_answers b:\n  from: a\n  timeout: "1h"\n' + FLOW.replace("done", "b -> done"), line=4),
    "C243": Case(BRANCH.replace("tool b:\n  command: `echo b`", "agent b:\n  backend: scripted\n  session: persist")),
    "C245": Case(
        BRANCH.replace("tool b:\n  command: `echo b`", "agent b:\n  backend: scripted\n  interaction: llm_or_human")
    ),
    "C267": Case(agent("  interaction: async\n"), line=3),
    "C268": Case(agent("  session_slot: x\n"), line=3),
    "C269": Case(
        flow('  a -> b as foreach f(x in "{{outputs.a}}")\n  b -> a as foreach f(y in "{{outputs.a}}")\n  a -> done\n')
    ),
    "X001": Case(agent('  command: "x"\n'), line=3),
}

_SKILL = "---\nname: {}\ndescription: {}\n---\ntext\n"
_LONG = "use this when you build a bridge"
BUNDLES = {
    "C200": Case(TOOL + FLOW, {"manifest.yaml": "schema_version: 1\ndispatch_vars:\n  ghost: x\n"}),
    "C201": Case(
        TOOL + FLOW, {"manifest.yaml": "schema_version: 1\ninvocations:\n- kind: board\n  context: {ghost: x}\n"}
    ),
    "C202": Case(TOOL + FLOW, {"manifest.yaml": "schema_version: 1\ninvocations:\n- {kind: schedule, vars: {g: x}}\n"}),
    "C203": Case(TOOL + FLOW, {"manifest.yaml": "schema_version: 1\nlaunch: {vars: {ghost: x}}\n"}),
    "C204": Case(
        TOOL + FLOW, {"manifest.yaml": "schema_version: 1\ninvocations:\n- kind: board\n  args: {ghost: x}\n"}
    ),
    "C220": Case(TOOL + FLOW, {"manifest.yaml": "schema_version: 1\ncapabilities: [board.read]\n"}),
    "C221": Case(TOOL + FLOW, {**BUNDLE, "presets/p.md": "---\nname: q\n---\n"}),
    "C222": Case(TOOL + FLOW, {"manifest.yaml": "schema_version: 2\n"}),
    "C231": Case(TOOL + FLOW, {"skills/x.md": f"---\ndescription: {_LONG}\n---\n"}),
    "C232": Case(TOOL + FLOW, {"skills/x.md": "---\nname: x\n---\n"}),
    "C233": Case(TOOL + FLOW, {"skills/x.md": _SKILL.format("x", "short")}),
    "C234": Case(TOOL + FLOW, {"skills/x.md": _SKILL.format("x", _LONG), "skills/y.md": _SKILL.format("x", _LONG)}),
    "C250": Case(TOOL + FLOW, {"manifest.yaml": 'schema_version: 1\nrequires: {pointsman: ">= 99.0.0"}\n'}),
    "C251": Case(TOOL + FLOW, {"manifest.yaml": 'schema_version: 1\nrequires: {other: ">= 1.0.0"}\n'}),
    "X011": Case(TOOL + FLOW, {"manifest.yaml": "schema_version: 1\ncolour: red\n"}),
}

CASES = {**SYNTAX, **STRUCTURE, **VALUES, **CONNECTORS, **LATER, **BUNDLES}
