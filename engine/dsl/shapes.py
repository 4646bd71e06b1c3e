"""Which properties each kind of block knows, what each takes, and how far it is supported (language.md 4 to 6).

Data only; ``reader`` checks blocks against these tables. Marks are those of language.md 1.1: an EXTENDED property is
read, checked and kept, and reported as X001; an advisory one (EXTENDED*) never stops a run; an IGNORED one is silent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from types import MappingProxyType


class Mark(StrEnum):
    """How far a construct is supported."""

    CORE = auto()
    EXTENDED = auto()
    ADVISORY = auto()
    IGNORED = auto()


class Want(StrEnum):
    """What a property takes."""

    TEXT = "a text in quotes"
    NAME = "a name"
    REF = "the name of a node"
    BOOL = "true or false"
    INT = "a whole number, 0 or more"
    NUMBER = "a number, 0 or more"
    WORD = "one of its words"
    NAMES = "a list of names"
    TEXTS = "a list of texts in quotes"
    TOOLS = "a list of dotted names or texts in quotes"
    PROMPT = "the name of a prompt or a text in quotes"
    BLOCK = "a block of lines below it"
    MAP = "a map `{ KEY: value }` or lines `KEY: value` below it"
    SANDBOX = "none, auto, inline, or a block below it"
    OPEN = "a value"


@dataclass(frozen=True, slots=True)
class Prop:
    """One property. ``words`` are the accepted words of a WORD, ``extended`` those of them that are EXTENDED;
    ``environment`` lets a WORD be an environment form, ``single`` lets a lone element stand for a list;
    ``code`` reports a bad value; ``shape`` names the block; ``names`` tells what kind of thing a name names."""

    want: Want
    words: tuple[str, ...] = ()
    mark: Mark = Mark.CORE
    extended: frozenset[str] = frozenset()
    code: str = "E020"
    shape: str = ""
    environment: bool = False
    single: bool = False
    names: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of block: its known properties, what other keys take (None: E012), and the code for a key given twice.

    ``edges`` and ``mapping`` tell whether edges and a ``with`` line may stand in it.
    """

    known: Mapping[str, Prop]
    other: Prop | None = None
    twice: str = "E010"
    edges: bool = False
    mapping: bool = False


def _words(*words: str, code: str = "E020", mark: Mark = Mark.CORE, extended: str = "") -> Prop:
    return Prop(Want.WORD, words, mark, frozenset(extended.split()), code)


def _block(shape: str, mark: Mark = Mark.CORE) -> Prop:
    return Prop(Want.BLOCK, mark=mark, shape=shape)


_TEXT, _NAME, _BOOL, _INT, _NAMES = Prop(Want.TEXT), Prop(Want.NAME), Prop(Want.BOOL), Prop(Want.INT), Prop(Want.NAMES)
_TEXTS, _TOOLS, _PROMPT, _MAP = Prop(Want.TEXTS), Prop(Want.TOOLS), Prop(Want.PROMPT, names="prompt"), Prop(Want.MAP)
_SANDBOX = Prop(Want.SANDBOX, ("none", "auto", "inline"), code="C044", shape="sandbox")
_ON_OFF = ("on", "off")
_COMPRESS = _words("on", "off", "ultra", code="C102", mark=Mark.IGNORED)
_AUTO_MEMORY = _words(*_ON_OFF, code="C131", mark=Mark.IGNORED)
_PERMISSION = _words("off", "ask", "deny", code="C110")
_EFFORT = Prop(
    Want.WORD, ("low", "medium", "high", "xhigh", "max", "ultracode"), code="C027", environment=True
)  # fmt: skip
_PROVIDER = Prop(Want.TEXT, mark=Mark.ADVISORY)
_NEEDS = Prop(Want.NAMES, single=True)
_LABELS = Prop(Want.TOOLS, mark=Mark.IGNORED)
_AWAIT = _words("wait_all", "best_effort")
_SCHEMA, _NODE = Prop(Want.NAME, names="schema"), Prop(Want.REF, names="node")
_SERVERS = Prop(Want.NAMES, names="mcp_server")
_IO = {
    "input": _SCHEMA,
    "output": _SCHEMA,
    "publish": Prop(Want.NAME, names="artifact"),
    "artifact_labels": _LABELS,
    "await": _AWAIT,
}
_DESCRIBED = {"description": _TEXT}
_MODES = ("none", "human", "llm", "llm_or_human", "review", "async", "human_or_host")
_LATER_MODES = "review async human_or_host"

_AGENT = {
    **_DESCRIBED,
    **_IO,
    "needs": _NEEDS,
    "model": _TEXT,
    "backend": _TEXT,
    "provider": _PROVIDER,
    "command": Prop(Want.TEXT, mark=Mark.EXTENDED),
    "system": _PROMPT,
    "user": _PROMPT,
    "session": _words(
        *("fresh", "inherit", "inherit_if_available", "fork", "artifacts_only", "persist"),
        extended="inherit_if_available fork artifacts_only persist",
    ),
    "session_slot": Prop(Want.NAME, mark=Mark.EXTENDED),
    "tools": _TOOLS,
    "tool_policy": _TOOLS,
    "capabilities": _TOOLS,
    "skills": Prop(Want.TOOLS, mark=Mark.ADVISORY),
    "tool_max_steps": _INT,
    "max_tokens": _INT,
    "reasoning_effort": _EFFORT,
    "timeout": _TEXT,
    "readonly": _BOOL,
    "interaction": _words(*_MODES, extended=_LATER_MODES),
    "interaction_prompt": _PROMPT,
    "interaction_model": _TEXT,
    "permission": _PERMISSION,
    "fallbacks": _block("fallbacks", Mark.ADVISORY),
    "mcp": _block("agent_mcp", Mark.EXTENDED),
    "sandbox": _SANDBOX,
    "cursors": _block("agent_cursors", Mark.ADVISORY),
    "compaction": _block("compaction", Mark.IGNORED),
    "memory": _block("memory", Mark.IGNORED),
    "full_access": Prop(Want.BOOL, mark=Mark.IGNORED),
    "images": Prop(Want.TEXTS, mark=Mark.IGNORED),
    "compress": _COMPRESS,
    "auto_memory": _AUTO_MEMORY,
}

_ROUTER = {
    **_DESCRIBED,
    "mode": _words("fan_out_all", "fan_out_each", "condition", "round_robin", "llm"),
    "needs": _NEEDS,
    "over": _TEXT,
    "as": _NAME,
    "key": _NAME,
    "depends_on": _NAME,
    "model": _TEXT,
    "backend": _TEXT,
    "provider": _PROVIDER,
    "system": _PROMPT,
    "user": _PROMPT,
    "reasoning_effort": _EFFORT,
    "multi": _BOOL,
}

_HUMAN = {
    **_DESCRIBED,
    **_IO,
    "needs": _NEEDS,
    "instructions": _PROMPT,
    "interaction": _words(*_MODES, extended="review human_or_host"),
    "interaction_prompt": _PROMPT,
    "interaction_model": _TEXT,
    "model": _TEXT,
    "system": _PROMPT,
    "min_answers": _INT,
    "review_url": Prop(Want.TEXT, mark=Mark.EXTENDED),
    "posture": _words("human_required", "agent_verdict_ok", mark=Mark.EXTENDED),
    "merge_strategy": _words("squash", "merge", mark=Mark.EXTENDED),
    "merge_into": Prop(Want.TEXT, mark=Mark.EXTENDED),
    "max_turns": Prop(Want.INT, mark=Mark.EXTENDED),
}

_TOOL = {
    **_DESCRIBED,
    **_IO,
    "needs": _NEEDS,
    "command": _TEXT,
    "script": _TEXT,
    "language": _words("sh", "bash", "js", "node", "py", "python", "python3"),
    "timeout": _TEXT,
    "parallel_safe": _BOOL,
    "readonly": _BOOL,
    "sandbox": _SANDBOX,
    "compress": _COMPRESS,
    "permission": Prop(Want.WORD, ("off", "ask", "deny"), Mark.IGNORED, code="C110"),
    "goal": _TEXT,
    "postcondition": _TEXT,
    "policy": _words("required", "recover", "best_effort", code="C103"),
    "recovery": _block("recovery"),
    "action": Prop(Want.REF),
    "connection": Prop(Want.TEXT, names="connection"),
    "params": _block("params"),
    "idempotency_key": _TEXT,
    "retry": Prop(Want.OPEN, mark=Mark.IGNORED),
}

_WORKFLOW = {
    **_DESCRIBED,
    "entry": _NODE,
    "vars": _block("vars"),
    "attachments": _block("attachments"),
    "default_backend": _TEXT,
    "budget": _block("budget"),
    "worktree": _words("auto", "none", code="C142"),
    "sandbox": _SANDBOX,
    "interaction": _words(*_MODES, extended=_LATER_MODES),
    "tool_policy": _TOOLS,
    "capabilities": _TOOLS,
    "permission": _PERMISSION,
    "allow": _TEXTS,
    "ask": _TEXTS,
    "deny": _TEXTS,
    "skills": Prop(Want.TOOLS, mark=Mark.ADVISORY),
    "contract": Prop(Want.NAME, mark=Mark.ADVISORY, names="contract"),
    "mcp": _block("workflow_mcp", Mark.EXTENDED),
    "resources": _block("resources"),
    "loop_budget_guard": _words(*_ON_OFF, code="C133"),
    "compaction": _block("compaction", Mark.IGNORED),
    "compress": _COMPRESS,
    "auto_memory": _AUTO_MEMORY,
    "repo_devbox": _words(*_ON_OFF, code="C134", mark=Mark.IGNORED),
    "workspace_checkpoint": _words(*_ON_OFF, code="C139", mark=Mark.IGNORED),
}

_MEMORY = {
    **dict.fromkeys(("enabled", "read", "write", "pre_compact_inject", "project_root"), _BOOL),
    "scope": Prop(Want.TEXT, code="C048"),
    "autoload": _TEXTS,
    "visibility": _words("bot", "project", "cross_project", "user", "org", "global", code="C170"),
}

_SANDBOX_BLOCK = {
    "mode": _words("none", "auto", "inline", code="C044"),
    "image": _TEXT,
    "build": _block("sandbox_build"),
    "user": _TEXT,
    "workspace_folder": _TEXT,
    "post_create": _TEXT,
    "host_state": _words("auto", "none", code="C044"),
    "env": _MAP,
    "mounts": Prop(Want.TOOLS, single=True),
    "network": _block("sandbox_network"),
}

_BUDGET = {
    "max_parallel_branches": _INT,
    "max_duration": _TEXT,
    "max_cost_usd": Prop(Want.NUMBER, code="C046"),
    "max_tokens": _INT,
    "warn_tokens": _INT,
    "max_iterations": _INT,
    "on_exceeded": _words("fail", "pause"),
}

SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "agent": Shape(_AGENT),
        "judge": Shape(_AGENT),
        "router": Shape(_ROUTER),
        "human": Shape(_HUMAN),
        "tool": Shape(_TOOL),
        "compute": Shape({**_DESCRIBED, **_IO, "expr": _block("expr")}),
        "subbot": Shape(
            {
                **_DESCRIBED,
                "source": Prop(Want.TEXT, names="file"),
                "output": _SCHEMA,
                "needs": _NEEDS,
                "isolated": _BOOL,
            },
            mapping=True,
        ),
        "fail": Shape({**_DESCRIBED, "code": _TEXT, "message": _TEXT, "resumable": _BOOL}),
        "emit": Shape({**_DESCRIBED, "event": _TEXT}, mapping=True),
        "wait": Shape({**_DESCRIBED, "event": _TEXT, "timeout": _TEXT, "output": _SCHEMA}),
        "await_answers": Shape({**_DESCRIBED, "from": _NODE, "timeout": _TEXT}),
        "workflow": Shape(_WORKFLOW, edges=True),
        "budget": Shape(_BUDGET),
        "expr": Shape({}, _TEXT),
        "params": Shape({}, Prop(Want.OPEN), twice="C264"),
        "recovery": Shape(
            {
                "max_repair_attempts": _INT,
                "max_agent_attempts": Prop(Want.INT, mark=Mark.EXTENDED),
                "model": Prop(Want.TEXT, mark=Mark.EXTENDED),
                "agent_tools": Prop(Want.TOOLS, mark=Mark.EXTENDED),
            }
        ),
        "sandbox": Shape(_SANDBOX_BLOCK),
        "sandbox_build": Shape({"dockerfile": _TEXT, "context": _TEXT, "args": _MAP}),
        "sandbox_network": Shape(
            {
                "mode": _words("open", "allowlist", "denylist", code="C044"),
                "preset": _TEXT,
                "inherit": _words("replace", "append", code="C044"),
                "rules": _TOOLS,
            }
        ),
        "compaction": Shape(
            {"threshold": Prop(Want.NUMBER, code="C043"), "preserve_recent": Prop(Want.INT, code="C043")}
        ),
        "memory": Shape(_MEMORY),
        "agent_mcp": Shape({"inherit": _BOOL, "servers": _SERVERS, "disable": _SERVERS}),
        "workflow_mcp": Shape({"autoload_project": _BOOL, "servers": _SERVERS, "disable": _SERVERS}),
        "agent_cursors": Shape({"enabled": _BOOL}, Prop(Want.OPEN)),
        "fallbacks": Shape({}, _block("route")),
        "route": Shape(
            {
                "backend": _TEXT,
                "model": _TEXT,
                "provider": _TEXT,
                "on": _NAMES,
                "metered": _BOOL,
                "action": _words("skip", code="C173"),
                "when": _TEXT,
            }
        ),
        "resources": Shape({}, Prop(Want.OPEN)),
        "mcp_server": Shape(
            {
                "transport": _words("stdio", "http", "sse", code="C025"),
                "command": _TEXT,
                "args": _TEXTS,
                "url": _TEXT,
                "auth": _block("mcp_auth"),
            }
        ),
        "mcp_auth": Shape(
            {
                "type": _words("oauth2", code="C038"),
                **dict.fromkeys(("auth_url", "token_url", "revoke_url", "client_id"), _TEXT),
                "scopes": _TEXTS,
            }
        ),
        "cursor": Shape({**_DESCRIBED, "values": _block("texts"), "bands": _block("texts")}),
        "texts": Shape({}, _TEXT, twice="C085"),
        "supervisor": Shape(
            {
                "watches": Prop(Want.NAMES, code="C191", names="node"),
                "model": _TEXT,
                "system": _PROMPT,
                "cooldown": _TEXT,
                "max_evals": Prop(Want.INT, code="C191"),
                "monitors": Prop(Want.TEXTS, code="C191"),
            }
        ),
        "attachment": Shape({**_DESCRIBED, "accept_mime": _TEXTS, "required": _BOOL}),
        "secret": Shape(
            {
                **_DESCRIBED,
                "value": _TEXT,
                "as": _words("value", "file", code="C094"),
                "mount_path": _TEXT,
                "env": _NAME,
                "optional": _BOOL,
                "hosts": Prop(Want.TOOLS, code="C092"),
            }
        ),
    }
)
