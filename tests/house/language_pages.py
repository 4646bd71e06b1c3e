"""The pages ``docs/language/*.md``, one per kind of declaration, made from the compiler's own tables.

``python tests/house/tables.py`` writes them; ``test_docs_match.py`` proves that they are current, and that the samples
are read without a mistake.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.dsl import meanings
from engine.dsl.checks.expressions import RUN_TYPES
from engine.dsl.data import FIELD_TYPES, VAR_TYPES
from engine.dsl.editor.hover import MARKS
from engine.dsl.others import ADVISORY_KINDS
from engine.dsl.parser import WORDS
from engine.dsl.parser.blocks import NODE_WORDS
from engine.dsl.shapes import SHAPES, Mark, Prop, Shape, Want

LATER = frozenset({"secrets", "mcp_server"})
BLOCK_OF = {"attachments": "attachment", "secrets": "secret"}
"""Declarations whose lines have blocks of a kind of their own."""
SAMPLES = {
    "vars": 'vars:\n  who: string = "world"\n  env: string [enum: "staging", "production"] = "staging"\n  limit: int\n',
    "presets": "vars:\n  limit: int = 3\npresets:\n  quick:\n    limit: 1\n",
    "attachments": 'attachments:\n  plan: file\n    accept_mime: ["text/*"]\n    required: true\n',
    "secrets": 'secrets:\n  token: "$TOKEN"\n    hosts: ["api.example.org"]\n',
    "schema": 'schema verdict:\n  approved: bool\n  level: string [enum: "low", "high"]\n  notes: string[]\n',
    "mcp_server": 'mcp_server search:\n  transport: stdio\n  command: "search-server"\n',
    "cursor": 'cursor tone:\n  values:\n    dry: "Write no adjective."\n    warm: "Write like a friend."\n',
    "supervisor": "supervisor watch:\n  watches: [writer]\n  max_evals: 3\n",
    "contract": 'contract promise:\n  display_name: "A promise"\n  inputs:\n    text: string\n',
    "workflow": (
        'workflow release:\n  budget:\n    max_duration: "2h"\n  entry: build\n'
        "  build -> check\n  check -> build when not ok as again(3)\n  check -> done\n"
    ),
    "agent": (
        'agent writer:\n  backend: scripted\n  system: "You write one sentence."\n'
        '  user: "About {{input.topic}}."\n  readonly: true\n'
    ),
    "judge": (
        'schema verdict:\n  ok: bool\njudge critic:\n  backend: scripted\n  system: "Is it true?"\n  output: verdict\n'
    ),
    "router": 'router each_file:\n  mode: fan_out_each\n  over: "{{outputs.list.files}}"\n  as: file\n',
    "human": 'schema answer:\n  approved: bool\nhuman gate:\n  instructions: "Shall it go on?"\n  output: answer\n',
    "tool": 'tool tests:\n  command: `make test {{vars.target}}`\n  timeout: "20m"\n',
    "compute": 'compute sums:\n  expr:\n    total: "sum(map(input.items, i => i.price))"\n',
    "subbot": 'subbot child:\n  source: "child.bot"\n  with { n: "{{vars.start}}" }\n',
    "fail": 'fail too_dear:\n  code: TOO_DEAR\n  message: "{{outputs.guard.left}} USD left"\n  resumable: true\n',
    "emit": 'emit ready:\n  event: "built"\n',
    "wait": 'wait built:\n  event: "built"\n  timeout: "10m"\n',
    "await_answers": 'await_answers later:\n  from: gate\n  timeout: "1h"\n',
    "prompt": 'prompt rules:\n  # Rules\n  Judge {{input.text}} and nothing else.\n\n  {{include "more.md"}}\n',
    "group": (
        "group gate(label):\n  tool measure:\n    command: `wc -c {{params.label}}`\n"
        '  compute judge:\n    expr:\n      ok: "true"\n  measure -> judge\n'
    ),
    "use": (
        "group gate(label):\n  tool measure:\n    command: `wc -c {{params.label}}`\n"
        'use gate as first with { label: "x" }\n'
    ),
    "import": 'import "lib/nodes.bot"\n',
}


def pages() -> dict[str, str]:
    """File name -> text of every page."""
    made = {f"{kind}.md": page(kind) for kind in WORDS}
    return {"README.md": contents(), **made}


def contents() -> str:
    """The page that leads to the others."""
    groups = (
        ("Nodes", NODE_WORDS),
        ("Flow", ("workflow", "group", "use", "import")),
        ("Data and texts", ("vars", "presets", "schema", "prompt", "attachments", "secrets")),
        ("Around agents", ("mcp_server", "cursor", "supervisor", "contract")),
    )
    lines = ["# Every declaration", "", "The language on one page is [here](../language.md).", ""]
    for title, kinds in groups:
        lines += [f"## {title}", *(f"- [`{kind}`]({kind}.md): {meanings.KINDS[kind]}" for kind in kinds), ""]
    lines += ["## Functions", *(f"- {text}" for text in meanings.FUNCTIONS.values()), ""]
    lines += ["## References", *(f"- `{name}`: {text}" for name, text in meanings.NAMESPACES.items()), ""]
    lines += [f"`run` has {', '.join(f'`{name}` {what}' for name, what in RUN_TYPES.items())}.", ""]
    return "\n".join(lines)


def page(kind: str) -> str:
    """The page of one kind."""
    lines = [f"# `{kind}`", "", meanings.KINDS[kind], ""]
    mark = _mark_of(kind)
    if mark:
        lines += [f"{mark[:1].upper()}{mark[1:]}.", ""]
    lines += ["```", SAMPLES[kind].rstrip("\n"), "```", ""]
    types = {"vars": VAR_TYPES, "schema": FIELD_TYPES}.get(kind, ())
    if types:
        lines += [f"Types: {', '.join(f'`{each}`' for each in types)}.", ""]
    shape_name = BLOCK_OF.get(kind, kind)
    for name in _blocks(shape_name, []):
        lines += _table(name, top=name == shape_name)
    return "\n".join([*lines, "[All declarations](README.md)", ""])


def _mark_of(kind: str) -> str:
    if kind in ADVISORY_KINDS:
        return MARKS[Mark.ADVISORY]
    return MARKS[Mark.EXTENDED] if kind in LATER else ""


def _blocks(name: str, seen: list[str]) -> list[str]:
    """A kind of block and those inside it, each once."""
    if name in SHAPES and name not in seen:
        seen.append(name)
        for prop in _props(SHAPES[name]):
            _blocks(prop.shape, seen)
    return seen


def _props(shape: Shape) -> Iterator[Prop]:
    yield from shape.known.values()
    if shape.other is not None:
        yield shape.other


def _table(name: str, *, top: bool) -> list[str]:
    shape = SHAPES[name]
    lines = [] if top else [f"## In `{name}`", ""]
    lines += ["| property | takes | support | |", "|---|---|---|---|"]
    for key, prop in shape.known.items():
        lines.append(f"| `{key}` | {_takes(prop)} | {_support(prop)} | {meanings.meaning(name, key)} |")
    if shape.other is not None:
        lines.append(f"| any name | {_takes(shape.other)} | {_support(shape.other)} | |")
    also = ["a line `with { name: value }`"] if shape.mapping else []
    also += ["edges `a -> b`"] if shape.edges else []
    return [*lines, "", *([f"Also {' and '.join(also)}.", ""] if also else [])]


def _takes(prop: Prop) -> str:
    if prop.want is Want.BLOCK or not prop.words:
        return str(prop.want).replace("|", "\\|")
    return " ".join(f"`{word}`" for word in prop.words) + (" or `$NAME`" if prop.environment else "")


def _support(prop: Prop) -> str:
    some = f"; later: {', '.join(f'`{word}`' for word in prop.words if word in prop.extended)}" if prop.extended else ""
    names = {Mark.CORE: "yes", Mark.EXTENDED: "later", Mark.ADVISORY: "later, harmless", Mark.IGNORED: "no effect"}
    return names[prop.mark] + some
