"""``CODES``: every diagnostic code with its severity, its sentence and its hint (language.md 14).

Read by ``diagnostics`` only, and by the docs. Sentences and hints are format strings; a caller may give another hint
where it knows a better one (the nearest name). ``RESERVED`` codes are spoken for and never emitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple


class Severity(StrEnum):
    """An error keeps the workflow from running, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Code(NamedTuple):
    """One row of the table."""

    severity: Severity
    message: str
    hint: str


def _e(message: str, hint: str) -> Code:
    return Code(Severity.ERROR, message, hint)


def _w(message: str, hint: str) -> Code:
    return Code(Severity.WARNING, message, hint)


_SYNTAX: dict[str, Code] = {
    "E001": _e("unexpected {found}", "{expected}"),
    "E002": _e("{what} is missing", "write {expected}"),
    "E003": _e("{what}", "indent with spaces and return to the column of an enclosing block"),
    "E004": _e("the string that opens here is not closed", "close it with {quote}"),
    "E005": _e("unknown escape `{escape}`", "double the backslash, or use a raw string in backticks"),
    "E006": _e("the file cannot be read as text: {detail}", "save the file as UTF-8"),
    "E010": _e("{what} `{name}` is given twice; the first is at {first}", "rename one or merge the two"),
    "E011": _e("a {kind} cannot be called `{name}`: that name is a terminal", "choose another name"),
    "E012": _e("unknown property `{name}` in {owner}", "remove it"),
    "E013": _e("{owner} needs `{name}`", "add `{name}:`"),
    "E014": _e("second top-level `{name}` block; the first is at {first}", "merge the two blocks"),
    "E020": _e("`{name}` cannot be {found}", "write {expected}"),
    "E021": _e("unknown type `{name}`", "the types are string, bool, int, float, json, string[] and, in schemas, file"),
    "E030": _e("the edge has two `{clause}` clauses", "keep one"),
    "E031": _e("the edge has both `when` and `else`", "keep one of them"),
    "E032": _e("a clause stands before another `->`", "split the chain: one edge per line"),
    "E040": _e("unknown profile `{found}`", "write `dsl: 2` (or 1) on the first line"),
    "E041": _e("`dsl:` stands too late", "write `dsl: 2` in column 1 of the first line that is not a comment"),
    "E042": _e("`strict-escape` has no place in profile 2", "remove it: profile 2 always decodes escapes"),
    "E043": _e("`{name}` was removed in profile 2", "remove it"),
    "E044": _e("`import` stands after a declaration", 'write `import "lib/x.bot"` at the head of the file'),
    "E045": _e("`{path}` is no path of a fragment: {why}", 'write a path like `import "lib/x.bot"`'),
    "E046": _e("`{path}` cannot be imported: {why}", "check the path, from the folder of this file"),
    "E047": _e("imports go in a circle: {circle}", "remove one of these imports"),
}

_STRUCTURE: dict[str, Code] = {
    "C001": _e("no node is called `{name}`", "declare `{name}`"),
    "C002": _e("no schema is called `{name}`", "declare `schema {name}:`"),
    "C003": _e("no prompt is called `{name}`", "declare `prompt {name}:`, or write the text in quotes"),
    "C004": _e("{message}", "write {{{{namespace.name}}}}; the namespaces are {namespaces}"),
    "C005": _e("loop `{name}` has two different caps; the first is at {first}", "give all its edges one cap"),
    "C006": _e("the file has no workflow", "add `workflow NAME:` with `entry:` and edges"),
    "C007": _e("second workflow `{name}`; the first is at {first}", "keep one `workflow`"),
    "C008": _e("{message}", "{expected}"),
    "C009": _e("node `{name}` has `session: {session}` and `await`", "write `session: fresh`"),
    "C010": _e(
        "node `{name}` has two edges without condition; the first is at {first}",
        "add a `when`, or send both from a router with `mode: fan_out_all`",
    ),
    "C011": _e("the condition `{condition}` was already tested at {first}", "remove one of the two edges"),
    "C012": _e("node `{name}` has no edge for the case that {case}", "add `{name} -> … else`"),
    "C013": _e("field `{field}` of schema `{schema}` is {type}, not bool", 'declare it `bool`, or write `when "…"`'),
    "C014": _e("schema `{schema}` of node `{name}` has no field `{field}`", "add `{field}: bool` to the schema"),
    "C015": _e("`else` without a `when` edge beside it", "remove `else`, or add an edge with `when`"),
    "C016": _e("node `{name}` cannot be reached from `{entry}`", "add an edge to it, or remove it"),
    "C017": _e("`{name}` has no history: it is in no loop", "read `{{{{outputs.{name}}}}}`"),
    "C018": _e("{kind} `{name}` has neither model nor backend", "add `backend:` here, or `default_backend:`"),
    "C019": _e("this edge leads back to `{target}` without a loop", "add `as NAME(N)` to the edge"),
    "C020": _e("round_robin router `{name}` has {found}", "give it two or more plain edges"),
    "C021": _e("llm router `{name}` has fewer than two edges", "add an edge, or drop the router"),
    "C022": _e("an edge of llm router `{name}` has a condition", "remove the condition: the model chooses"),
    "C023": _e("`{property}` does not go with `mode: {mode}`", "write `mode: llm`, or remove it"),
    "C024": _e("MCP server `{name}` is declared twice; the first is at {first}", "rename or remove one"),
    "C025": _e("MCP server `{name}`: {problem}", "{expected}"),
    "C026": _e("loop `{name}` may be crossed {cap} times", "write a cap of at least 1"),
    "C027": _e("unknown reasoning effort {found}", "the words are low, medium, high, xhigh, max, ultracode"),
    "C028": _w("branches map `{key}` to `{target}` with different values; the last one wins", "use one key per branch"),
    "C029": _e("`outputs.{name}`: no node is called that", "declare the node, or correct the name"),
    "C030": _e("`import` in source that is no file", "save the source as a file and open that"),
    "C031": _e("`{name}` has no field `{field}` in its output schema `{schema}`", "map a declared field"),
    "C032": _w("`{name}` declares no output schema, so `{field}` is not checked", "add `output:` to `{name}`"),
    "C033": _e("`vars.{name}` is not declared", "declare it in `vars:`"),
    "C034": _e("`input.{field}`: schema `{schema}` has no such field", "map a declared field"),
    "C035": _e("`artifacts.{name}`: no node publishes that", "add `publish: {name}` to a node"),
    "C036": _e("`{reference}` is read at {reader}, where `{name}` cannot have run before", "{expected}"),
    "C037": _w("max_tokens {found} is above the budget's {cap}", "write at most {cap}"),
    "C038": _e("MCP auth: {problem}", "{expected}"),
    "C039": _e("compute `{name}` has no lines", 'add `expr:` with lines `field: "expression"`'),
    "C040": _e("the expression cannot be read: {problem}", "{expected}"),
    "C041": _e("{what} `{name}` is declared twice; the first is at {first}", "rename one"),
    "C042": _e("the group makes a node called `{name}`: that name is a terminal", "choose another prefix or name"),
    "C043": _e("compaction: {problem}", "threshold is above 0 and at most 1, preserve_recent is at least 1"),
    "C044": _e("sandbox: {problem}", "{expected}"),
    "C046": _e("max_cost_usd cannot be {found}", "write a number, 0 or more"),
    "C048": _e("memory: unknown scope {found}", "write a name"),
    "C049": _w("`artifact_labels` without `publish`", "add `publish:`"),
    "C055": _e('include "{path}": {problem}', "fix the path, from the folder of this file"),
    "C070": _e("preset `{preset}` sets `{name}`, which is no var", "declare it in `vars:`"),
    "C071": _e("preset `{preset}`: {problem}", "write {expected}"),
    "C072": _e("preset `{name}` is declared twice; the first is at {first}", "merge the two"),
    "C080": _w("unknown capability `{name}`", "write a known one, such as board.read"),
    "C081": _e("malformed capability `{name}`", "write `domain.action`, such as board.read"),
    "C097": _e("unbounded loop `{name}` has no fuel", "write `unbounded 200`, or `max_iterations` in the budget"),
    "C098": _w("no edge leaves the unbounded loop `{name}`", "add an edge with `when` out of it"),
}

_VALUES: dict[str, Code] = {
    "C102": _e("`compress` cannot be {found}", "write on, off or ultra"),
    "C107": _w("{problem}", "compare values of one type"),
    "C108": _w("a bare number as condition: {problem}", "write a comparison, such as `x > 0`"),
    "C109": _e("the default of `{name}` does not fit its type {type}: {problem}", "write {expected}"),
    "C110": _e("unknown permission mode {found}", "write off, ask or deny"),
    "C111": _w("permission rules without a permission mode", "add `permission: ask` or `permission: deny`"),
    "C112": _w("`permission` has no effect on a tool", "remove it"),
    "C113": _e("router `{name}` has `mode: fan_out_each` without `over`", 'add `over: "{{{{outputs.…}}}}"`'),
    "C114": _e("`{property}` does not go with `mode: {mode}`", "write `mode: fan_out_each`, or remove it"),
    "C115": _e("fan_out_each router `{name}` has {found}", "give it exactly one plain edge"),
    "C116": _e("no group is called `{name}`", "declare `group {name}:`"),
    "C117": _e("the parameters of group `{group}` do not match: {problem}", "give exactly {expected}"),
    "C118": _e("an edge has a loop and a foreach", "keep one of the two on this edge"),
    "C119": _e("subbot `{name}` has no source", 'add `source: "child.bot"`'),
    "C120": _w("{problem}", "index lists and maps only"),
    "C121": _e("{problem}", "compare with one of the members"),
    "C122": _e("agent timeout `{found}` is no duration", 'write it like "20m"'),
    "C123": _e("node `{name}` has a second `else`; the first is at {first}", "keep one `else`"),
    "C124": _e("`else` beside an edge without condition at {first}", "keep one of the two"),
    "C125": _e("`{constraint}` goes with string only, `{name}` is {type}", "remove it, or make it a string"),
    "C126": _e("the default of `{name}` is not in its enum", "the members are {members}"),
    "C127": _w("enum of `{name}` has `{member}` twice", "keep one"),
    "C129": _e("field `{field}` of type file: {problem}", "files are given by people: use it in a human's output"),
    "C130": _e("an answer field cannot be called `_attachments`", "rename the field"),
    "C131": _e("`auto_memory` cannot be {found}", "write on or off"),
    "C133": _e("`loop_budget_guard` cannot be {found}", "write on or off"),
    "C134": _e("`repo_devbox` cannot be {found}", "write on or off"),
    "C135": _w("backend `{backend}` knows no tool `{name}`", "correct the name"),
    "C137": _w("quotes around `{reference}`, which is quoted already", "remove the quotes"),
    "C138": _e("{problem}", "{expected}"),
    "C139": _e("`workspace_checkpoint` cannot be {found}", "write on or off"),
    "C140": _w("schema `{name}` has no fields", "add a field"),
    "C141": _w("group `{name}` has no members", "add a node, or remove the group"),
    "C142": _e("`worktree` cannot be {found}", "write auto or none"),
    "C143": _w("escaped quote in post_create", "use a raw string in backticks"),
    "C144": _w(
        "this file is profile 1, and profile 2 reads {count} of its texts differently: {what}",
        "write `dsl: 1` to keep it, or `dsl: 2` and adapt the texts",
    ),
    "C145": _w("loop `{name}` has no exit when its cap is reached", "add a plain edge `{source} -> …`"),
    "C146": _w("{problem}", "write floor(…) or round(…)"),
    "C147": _w("`{reference}`: {problem}", "{expected}"),
    "C148": _e("`{property}` may use `vars` only, not `{reference}`", "write {{{{vars.NAME}}}}"),
    "C161": _e("{problem}", "fix the default or the pattern"),
    "C240": _e("`interaction: {found}` is nothing for a human node", "write `interaction: human`"),
    "C244": _e("loop `{name}` {problem}", "keep the loop inside one branch"),
    "C247": _e("malformed failure code `{found}`", "write it like MY_OWN_CODE"),
    "C248": _e("`{found}` is a code of the engine", "choose another code, such as MY_{found}"),
    "C249": _w("router `{name}` has two edges to `{target}`", "send one edge to each target"),
}

_BUNDLES: dict[str, Code] = {
    "C200": _w("dispatch_vars names `{name}`, which is no var", "declare the var"),
    "C201": _w("context of an invocation names `{name}`, which is no var", "declare the var"),
    "C202": _w("schedule names `{name}`, which is no var", "declare the var"),
    "C203": _w("launch names `{name}`, which is no var", "declare the var"),
    "C204": _w("args names `{name}`, which is no var", "declare the var"),
    "C220": _w("the manifest has capability `{name}`, which no node has", "remove it from the manifest"),
    "C221": _w("{problem}", "make the two agree"),
    "C222": _w("the bundle does not open: {problem}", "fix the manifest"),
    "C231": _w("skill `{file}` has no name", "add `name:` to its front matter"),
    "C232": _w("skill `{file}` has no description", "add `description:` to its front matter"),
    "C233": _w("the description of skill `{name}` is too short", "say in a sentence when to use it"),
    "C234": _w("skill name `{name}` is used twice", "rename one"),
    "C250": _e("the bundle asks for pointsman {wanted}, this is {found}", "upgrade pointsman"),
    "C251": _w("the bundle asks for another engine: {name} {wanted}", "it is recorded and not compared"),
    "X011": _w("unknown manifest key `{name}`", "remove it"),
}

_CONNECTORS: dict[str, Code] = {
    "C260": _e("malformed action `{found}`", "write `forge.noun.verb`, such as github.issue.comment"),
    "C261": _e("tool `{name}` has no literal connection", "add `connection: NAME`"),
    "C262": _e("`{property}` on a connector action", "remove it: the connector knows what is safe to repeat"),
    "C263": _e("`postcondition` on a connector action", "remove it"),
    "C264": _e("params: {problem}", "give each parameter one name, once"),
    "C265": _e("{property} `{found}` is malformed", "write {property} like {expected}"),
    "C266": _w("`{property}` without `action`", "remove it, or add `action:`"),
    "X001": _w("{feature} is not supported yet", "do without it"),
    "X002": _e("no operation is called `{name}`", "look up the operations of the connector"),
    "X003": _e("{operation}: {problem}", "{expected}"),
    "X004": _w("connection `{name}`: {problem}", "configure it under `connections:`"),
    "X005": _w("{operation} takes no idempotency key", "remove `idempotency_key`"),
    "X006": _w("max_duration `{found}` is no duration, so there is no cap", 'write it like "2h"'),
    "X007": _w("an edge leaves the terminal `{name}`", "remove it"),
    "X008": _w(
        "{problem}", "add `readonly: true` or `parallel_safe: true` where it is true, or run them one after the other"
    ),
    "X009": _e("subbot `{name}`: {problem}", "give a path to a .bot file, from the folder of this file"),
    "X010": _w("a cycle has no loop edge of its own: {cycle}", "add `as NAME(N)` to one of its edges"),
    "X012": _w("{operation} cannot be looked up afterwards: a person settles a lost answer", "expect to be asked"),
}

_LATER: dict[str, Code] = {
    "C050": _e("attachment `{name}` is declared twice; the first is at {first}", "rename one"),
    "C051": _e("attachment `{name}` is called like a var", "rename one"),
    "C052": _e("attachment `{name}`: `{found}` is no media type", "write type/subtype, such as image/png"),
    "C053": _e("`attachments.{name}` is not declared", "declare it in `attachments:`"),
    "C054": _e("an attachment has no field `{field}`", "the fields are path, url, mime, size, sha256"),
    "C083": _w("no cursor is called `{name}`", "declare `cursor {name}:`"),
    "C084": _e("cursor `{name}` has no value {found}", "{expected}"),
    "C085": _e("cursor `{name}`: {problem}", "{expected}"),
    "C086": _e("cursor `{name}` is declared twice; the first is at {first}", "rename one"),
    "C090": _e("secret `{name}` is declared twice; the first is at {first}", "rename one"),
    "C091": _e("secret `{name}` is called like a var", "rename one"),
    "C092": _e("secret `{name}`: `{found}` is no host", "write a host name, such as api.example.org"),
    "C093": _e("`secrets.{name}` is not declared", "declare it in `secrets:`"),
    "C094": _e("secret `{name}`: {problem}", "write `as: file` with an absolute `mount_path`"),
    "C095": _e("a secret has no field `{field}`", "the field is path"),
    "C100": _e("review gate `{name}` without a worktree", "add `worktree: auto` to the workflow"),
    "C101": _w("review_url: unknown reference `{reference}`", "read vars, input, outputs or run"),
    "C103": _e("{problem}", "write policy: required, recover or best_effort"),
    "C104": _e("tool `{name}` has `{property}` without `postcondition`", "add `postcondition:`"),
    "C105": _e("tool `{name}` has `recovery` on a gate", "write `policy: recover`, or remove `recovery`"),
    "C106": _w("tool `{name}` has repair bounds without a policy", "add `policy: recover`"),
    "C170": _e("memory: unknown visibility {found}", "write bot, project, cross_project, user, org or global"),
    "C171": _e("memory: {problem}", "remove one of the two"),
    "C173": _e("fallback `{name}`: {problem}", "{expected}"),
    "C175": _w("fallback `{name}`: unknown trigger `{found}`", "{expected}"),
    "C176": _e("fallback `{name}` crosses from a plan to a metered backend", "add `metered: true`"),
    "C190": _w("supervisor `{name}` watches `{found}`, which is no agent", "name an agent or a judge"),
    "C191": _w("supervisor `{name}`: {problem}", "{expected}"),
    "C192": _e("supervisor `{name}` is declared twice; the first is at {first}", "rename one"),
    "C193": _w("supervisor `{name}`: no prompt is called `{found}`", "declare the prompt"),
    "C194": _e("resource `{name}`: {problem}", "write a number of at least 1, or a list of names"),
    "C195": _e("no resource is called `{name}`", "declare it in `resources:` of the workflow"),
    "C196": _e("{kind} `{name}` has no event", 'add `event: "name"`'),
    "C197": _e("wait `{name}` has no timeout", 'add `timeout: "1h"`'),
    "C198": _w("event `{event}` of `{name}` has no partner", "add the `emit` or `wait` of that event"),
    "C199": _w("no skill is called `{name}`", "add it to `skills/` of the bundle"),
    "C241": _e("await_answers `{name}` has no timeout", 'add `timeout: "1h"`'),
    "C242": _w("await_answers `{name}` waits for `{found}`, which asks nothing", "name a node that asks"),
    "C243": _e("`session: persist` of `{name}` inside a branch", "move the node out of the branch"),
    "C245": _e("`interaction: {found}` of `{name}` inside a branch", "write `interaction: human`"),
    "C267": _e("backend `{backend}` of `{name}` cannot ask asynchronously", "write `interaction: human`"),
    "C268": _e("`session_slot` of `{name}` without `session: persist`", "add `session: persist`, or remove it"),
    "C269": _e("foreach `{name}` has two meanings; the first is at {first}", "give both the same element and list"),
}

CODES: Mapping[str, Code] = MappingProxyType({**_SYNTAX, **_STRUCTURE, **_VALUES, **_BUNDLES, **_CONNECTORS, **_LATER})

RESERVED: frozenset[str] = frozenset(
    [
        "C045",
        "C047",
        "C060",
        "C082",
        "C087",
        "C088",
        "C089",
        "C128",
        "C132",
        "C136",
        "C150",
        "C172",
        "C174",
        "C177",
        "C205",
        "C206",
        "C207",
        "C208",
        "C209",
        "C210",
        "C211",
        "C212",
        "C223",
        "C230",
        "C246",
        "C252",
        "C253",
        "C254",
        "C255",
        "C300",
        "C301",
        "C302",
        "C303",
        "C304",
    ]
)
