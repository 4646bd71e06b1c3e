"""A tool node that runs a process: a command or a script, and what its end and its output mean.

Called through ``NODE_KINDS``; a node with ``action`` is handed to ``action``. The process itself is
``engine/process.py``; the verdict on its end is pure. Implements language.md 5.5, 9.3 and engine.md 6.4.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from engine.capture import Captured, OutputPlace, rewritten
from engine.dsl.graph import ToolNode, ValueType
from engine.dsl.rendering import SHELL_LANGUAGES, command, script
from engine.dsl.textform import NotJson, read_json
from engine.failures import FailureCode
from engine.nodes import action
from engine.nodes.base import Limit, NodeContext
from engine.outcome import Completed, Failed, Outcome
from engine.ports import as_it_is
from engine.process import CommandSpec, ProcessEnd
from engine.process import run as run_process

TRANSIENT_EXIT = 75
SHELL_SIGNALS = range(129, 160)
"""Exits by which a shell reports that what it ran died by a signal."""
PERMANENT_EXITS = (126, 127)
LONGEST_ARGUMENT = 100 * 1024
"""Bytes of a command that are handed over as an argument: Linux takes 128 KiB in one."""
SHOWN = 4096
"""Bytes of the end of a stream that an error text carries."""

PYTHON_BOOT = (
    "import __main__,builtins as b,sys;b.true,b.false,b.null=True,False,None;f=sys.argv[1];del sys.argv[0];"
    "g=__main__.__dict__;g['__file__']=f;exec(compile(open(f,encoding='utf-8').read(),f,'exec'),g)"
)
"""Runs a script file with the words of JSON bound (language.md 9.3); the file's own first line stays its first."""

INTERPRETERS = MappingProxyType(
    {
        "sh": ("sh",),
        "bash": ("bash",),
        "js": ("node",),
        "node": ("node",),
        "py": ("python3", "-c", PYTHON_BOOT),
        "python": ("python3", "-c", PYTHON_BOOT),
        "python3": ("python3", "-c", PYTHON_BOOT),
    }
)
"""language -> the start of the argument list; the script's path follows."""

SUFFIXES = MappingProxyType({"node": "js", "python": "py", "python3": "py"})
"""language -> the ending of its files, where it is not the language itself: `.node` means machine code to node."""


REQUIRED, RECOVER, BEST_EFFORT = "required", "recover", "best_effort"
"""What follows when a postcondition does not hold: the node fails; the command is run again; a warning."""


def run(context: NodeContext) -> Outcome:
    """Run the process, judge its end, and see that its postcondition holds, if it has one (language.md 5.5).

    With ``policy: recover`` the command is run again, so often as its ``recovery`` says, until the postcondition holds.
    Raises OSError when the system starts no process.
    """
    node = context.node
    assert isinstance(node, ToolNode)
    if node.action:
        return action.run(context)
    if not context.folders.workspace.is_dir():
        text = f"the workspace {context.folders.workspace} is not there; put it back, then resume"
        return Failed(FailureCode.EXECUTION_FAILED, text)
    until = context.clock.monotonic() + context.limit.seconds
    for repair in range(node.repairs + 1):
        outcome = _once(context, node, until)
        unmet = _unmet(context, node, until) if isinstance(outcome, Completed) else None
        if unmet is None:
            return outcome
        if unmet.code != FailureCode.EXECUTION_FAILED:
            return unmet
        if node.policy == BEST_EFFORT:
            context.warn(f"node {node.name}: {unmet.message}")
            return outcome
        if repair < node.repairs:
            context.warn(f"node {node.name}: {unmet.message}; the command is run again")
    assert unmet is not None
    return unmet


def _unmet(context: NodeContext, node: ToolNode, until: float) -> Failed | None:
    """The failure that a postcondition means which does not hold, or cannot be judged; None when it holds."""
    if node.postcondition is None:
        return None
    rendered = command(node.postcondition, context.scope, _json_fields(context, node))
    end = _process(context, _bash(context, rendered.text, "-postcondition"), until, "-postcondition")
    if end.stopped or end.timed_out:
        return verdict(end, shell=False, limit=context.limit)
    if end.exit_code == 0:
        return None
    how = f"signal {end.signal}" if end.signal else f"exit code {end.exit_code}"
    return Failed(FailureCode.EXECUTION_FAILED, f"the postcondition does not hold ({how}){_ends(end)}")


def _once(context: NodeContext, node: ToolNode, until: float) -> Outcome:
    argv = _argv(context, node)
    for folder in (context.folders.scratch, context.folders.artifact_files):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    end = _process(context, argv, until)
    failed = verdict(end, shell=node.command is not None or node.language in SHELL_LANGUAGES, limit=context.limit)
    return failed or Completed(output_of(end.stdout))


def _process(context: NodeContext, argv: tuple[str, ...], until: float, part: str = "") -> ProcessEnd:
    """Run one process of the node, at most until that monotonic second; ``part`` tells its files apart."""
    spec = CommandSpec(
        argv=argv,
        folder=context.folders.workspace,
        environment=context.environment,
        stop=context.stop,
        outputs=OutputPlace(context.folders.output, f"{context.label}{part}", context.output_cap),
        limit=max(0.001, until - context.clock.monotonic()),
        lock_fd=context.lock_fd,
        held=context.held,
        watcher=context.watcher,
    )
    end = run_process(spec, context.clock)
    end = replace(end, stdout=_without_secrets(context, end.stdout), stderr=_without_secrets(context, end.stderr))
    said = end.stderr.head if not end.stderr.truncated else end.stderr.tail
    context.log(f"[{context.label}{part}]", _text(said))
    return end


def _without_secrets(context: NodeContext, stream: Captured) -> Captured:
    """A long stream with its file cleaned, and what is shown of it taken from there: neither ends within a secret.

    A file that cannot be rewritten goes.
    """
    if stream.file is None or context.clean is as_it_is:
        return stream
    try:
        return rewritten(stream, lambda text: str(context.clean(text)))
    except OSError as problem:
        stream.file.unlink(missing_ok=True)
        context.warn(f"{stream.file} was removed, because secrets could not be taken out of it: {problem.strerror}")
        return replace(stream, head=b"", tail=b"", file=None)


def _json_fields(context: NodeContext, node: ToolNode) -> frozenset[str]:
    schema = context.graph.schema_of(node.input)
    return frozenset(f.name for f in schema.fields if f.type is ValueType.JSON) if schema else frozenset()


def _argv(context: NodeContext, node: ToolNode) -> tuple[str, ...]:
    json_fields = _json_fields(context, node)
    if node.command is not None:
        rendered = command(node.command, context.scope, json_fields)
        for gap in rendered.unresolved:
            context.warn(f"node {node.name}: {gap.dotted} has no value and stays as it is written")
        return _bash(context, rendered.text)
    assert node.script is not None
    text = script(node.script, context.scope, node.language, json_fields)
    name = f"{context.label}.{SUFFIXES.get(node.language, node.language)}"
    return (*INTERPRETERS[node.language], str(_script_file(context, name, text)))


def _bash(context: NodeContext, text: str, part: str = "") -> tuple[str, ...]:
    """``bash -c`` on a text; one too long for an argument, as with a great output of another node, lies in a file."""
    if len(text.encode()) < LONGEST_ARGUMENT:
        return ("bash", "-c", text)
    return ("bash", "-c", '. "$0"', str(_script_file(context, f"{context.label}{part}.bash", text)))


def _script_file(context: NodeContext, name: str, text: str) -> Path:
    folder = context.folders.run / "scripts"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / name
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return path


def output_of(stdout: Captured) -> dict[str, object]:
    """What the standard output becomes: its one JSON object, else its text under ``result``."""
    text = _text(stdout.head)
    if stdout.truncated:
        return {"result": text, "_truncated": True}
    stripped = text.strip()
    if stripped.startswith("{"):
        try:
            value = read_json(stripped)
        except NotJson:
            return {"result": stripped}
        if isinstance(value, dict):
            return value
    return {"result": stripped}


def verdict(end: ProcessEnd, *, shell: bool, limit: Limit) -> Failed | None:
    """The failure that an end means, None for success (engine.md 6.4). Text that was printed is never judged."""
    if end.stopped:
        return Failed(FailureCode.INTERRUPTED, "the process was stopped with the run")
    if end.timed_out:
        return Failed(limit.code, f"killed after {limit.seconds:g} s: {limit.text} passed{_ends(end)}")
    if end.signal:
        return Failed(FailureCode.TOOL_FAILED_TRANSIENT, f"the process died by signal {end.signal}{_ends(end)}")
    if end.exit_code == 0:
        return None
    return Failed(_code_of(end.exit_code, shell), f"the process ended with exit code {end.exit_code}{_ends(end)}")


def _code_of(exit_code: int, shell: bool) -> FailureCode:
    if exit_code == TRANSIENT_EXIT or (shell and exit_code in SHELL_SIGNALS):
        return FailureCode.TOOL_FAILED_TRANSIENT
    return FailureCode.TOOL_FAILED_PERMANENT if exit_code in PERMANENT_EXITS else FailureCode.EXECUTION_FAILED


def _ends(end: ProcessEnd) -> str:
    """The end of both streams, for the error text."""
    parts = [
        f"\n{name}: {text}"
        for name, stream in (("stdout", end.stdout), ("stderr", end.stderr))
        if (text := _end(stream))
    ]
    return "".join(parts)


def _end(stream: Captured) -> str:
    return _text((stream.tail or stream.head)[-SHOWN:]).strip()


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
