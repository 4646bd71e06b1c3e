"""The twelve examples of language.md 19, file by file, for the tests that validate them."""

from __future__ import annotations

EXAMPLES: dict[str, dict[str, str]] = {
    "two_tools": {
        "main.bot": r"""vars:
  who: string = "world"
schema greeting:
  text: string
tool greet:
  command: `printf '{"text":"hello %s"}' {{vars.who}}`
  output: greeting
tool shout:
  command: `printf '%s' {{input.text}} | tr a-z A-Z`
workflow hello:
  entry: greet
  greet -> shout with { text: "{{input.text}}" }
  shout -> done
""",
    },
    "human_gate": {
        "main.bot": r"""schema decision:
  approved: bool
  env: string [enum: "staging", "production"]
prompt question:
  # Ship it?
  Pick an environment, then approve or leave it.
human gate:
  instructions: question
  output: decision
tool deploy:
  command: `printf 'sent to %s' {{input.env}}`
workflow release:
  entry: gate
  gate -> deploy when approved with { env: "{{input.env}}" }
  gate -> fail when not approved
  deploy -> done
""",
    },
    "bounded_loop": {
        "main.bot": r"""vars:
  need: int = 2
schema state:
  tries: int
  ok: bool
compute attempt:
  output: state
  expr:
    tries: "loop.retry.iteration + 1"
    ok: "loop.retry.iteration >= vars.need"
fail gave_up:
  code: TRIES_SPENT
  message: "no success in {{outputs.attempt.tries}} tries, cap {{loop.retry.max}}"
workflow bounded:
  entry: attempt
  attempt -> done when ok
  attempt -> attempt as retry(3)
  attempt -> gave_up
""",
    },
    "compute": {
        "main.bot": r"""dsl: 2
vars:
  found: json = "[{\"sev\":\"high\",\"n\":2},{\"sev\":\"low\",\"n\":5}]"
schema score:
  total: int
  kinds: string[]
compute measure:
  output: score
  expr:
    total: "sum(map(vars.found, f => f.n))"
    kinds: "sort(unique(map(vars.found, f => f.sev)))"
compute page:
  expr:
    text: "'total ' + input.total + ': ' + join(input.kinds, '/')"
workflow triage:
  entry: measure
  measure -> page when "total > 3 && contains(kinds, 'high')" with {
    total: "{{input.total}}", kinds: "{{input.kinds}}"
  }
  measure -> done else
  page -> done
""",
    },
    "fan_out_all": {
        "main.bot": r"""router checks:
  mode: fan_out_all
compute lint:
  expr:
    ok: "true"
tool types:
  command: `echo 'no checker here' >&2; exit 3`
compute tally:
  await: best_effort
  expr:
    passed: "if(input.lint, 1, 0) + if(input.types, 1, 0)"
    broken: "length(input._failed_branches)"
workflow gates:
  entry: checks
  checks -> lint -> tally with { lint: "{{outputs.lint}}" }
  checks -> types -> tally with { types: "{{outputs.types}}" }
  tally -> done
""",
    },
    "fan_out_each": {
        "main.bot": r"""schema plan:
  parts: json
tool split:
  command: `printf '{"parts":[{"name":"hull"},{"name":"mast"}]}'`
  output: plan
router each_part:
  mode: fan_out_each
  over: "{{outputs.split.parts}}"
  as: part
tool build:
  command: `printf '{"name":"%s"}' {{outputs.each_part.part.name}}`
  parallel_safe: true
compute collect:
  await: wait_all
  expr:
    count: "length(outputs.split.parts)"
workflow shipyard:
  entry: split
  split -> each_part -> build -> collect -> done
""",
    },
    "round_robin": {
        "main.bot": r"""router turn:
  mode: round_robin
compute port:
  expr:
    side: "'port'"
compute starboard:
  expr:
    side: "'starboard'"
compute again:
  expr:
    more: "loop.laps.iteration < 2"
workflow alternate:
  entry: turn
  turn -> port -> again
  turn -> starboard -> again
  again -> turn when more as laps(5)
  again -> done
""",
    },
    "budget_guard": {
        "main.bot": r"""schema gauge:
  left: float
  short: bool
compute guard:
  output: gauge
  expr:
    left: "run.max_cost_usd - run.cost_usd"
    short: "run.max_cost_usd > 0 && run.max_cost_usd - run.cost_usd < 2"
fail too_dear:
  code: RESERVE_TOO_SMALL
  message: "{{outputs.guard.left}} USD left, 2 needed"
  resumable: true
tool act:
  command: `printf 'acted'`
workflow guarded:
  budget:
    max_cost_usd: 1
  entry: guard
  guard -> too_dear when short
  guard -> act else
  act -> done
""",
    },
    "subbot": {
        "child.bot": r"""# child.bot
vars:
  n: int
compute twice:
  expr:
    value: "vars.n * 2"
workflow child:
  entry: twice
  twice -> done
""",
        "main.bot": r"""# parent.bot
vars:
  start: int = 21
subbot doubler:
  source: "child.bot"
  with { n: "{{vars.start}}" }
workflow parent:
  entry: doubler
  doubler -> done when "value == vars.start * 2"
  doubler -> fail else
""",
    },
    "import_include": {
        "main.bot": r"""# main.bot
import "lib/nodes.bot"
workflow review:
  entry: reviewer
  reviewer -> done when approved
  reviewer -> fail when not approved
""",
        "lib/nodes.bot": r"""# lib/nodes.bot
schema verdict:
  approved: bool
  reason: string
prompt rules:
  You review one change.
  {{include "rules.md"}}
agent reviewer:
  backend: scripted
  system: rules
  output: verdict
  readonly: true
""",
        "lib/rules.md": r"""Approve only what the tests of run {{run.id}} cover.
""",
    },
    "group": {
        "main.bot": r"""schema size:
  size: int
group gate(label, limit):
  compute measure:
    output: size
    expr:
      size: "length('{{params.label}}')"
  compute judge:
    expr:
      ok: "outputs.measure.size <= {{params.limit}}"
  measure -> judge
use gate as brief with { label: "tiny", limit: "8" }
use gate as wordy with { label: "rather long", limit: "8" }
workflow gates:
  entry: brief.measure
  brief.judge -> wordy.measure when ok
  brief.judge -> fail else
  wordy.judge -> done when ok
  wordy.judge -> fail else
""",
    },
    "connector": {
        "main.bot": r"""vars:
  issue: int
schema counts:
  passed: int
  failed: int
tool tests:
  command: `printf '{"passed":12,"failed":0}'`
  output: counts
tool tell:
  action: github.issue.comment
  connection: web
  params:
    number: "{{vars.issue}}"
    body: "{{outputs.tests.passed}} passed, {{outputs.tests.failed}} failed (run {{run.id}})"
  timeout: "30s"
workflow report:
  entry: tests
  tests -> tell -> done
""",
    },
}
