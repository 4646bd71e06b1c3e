"""The tables of the docs, generated from the tables of the code.

``python tests/house/tables.py`` writes them between their marks in ``docs/``; ``test_docs_match.py`` proves that nobody
forgot to.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MARK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))


from pydantic import BaseModel  # noqa: E402

from config.boards import BoardSettings  # noqa: E402
from config.durations import format_duration  # noqa: E402
from config.settings import Settings  # noqa: E402
from config.variables import Variables, variable_name  # noqa: E402
from connectors.card import BoardEventType  # noqa: E402
from connectors.fake_forge.script import FAULTS  # noqa: E402
from connectors.native.defaults import DEFAULT_COLUMNS  # noqa: E402
from dispatcher.cli.verbs import VERBS  # noqa: E402
from dispatcher.metrics import METRICS  # noqa: E402
from dispatcher.policy import SOURCE_CHANGED, TABLE, WORKSPACE_MISSING  # noqa: E402
from dispatcher.reasons import REASONS, Reason  # noqa: E402
from dispatcher.refusals import REFUSALS  # noqa: E402
from engine import states  # noqa: E402
from engine.dsl.codes import CODES, RESERVED  # noqa: E402
from engine.failures import DECLARED_CODE_ROW, EMPTY_CODE_ROW, FAILURES, FailureRow  # noqa: E402


def markdown(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table, or a sentence when it has no rows."""
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    lines += [f"| {' | '.join(_cell(value) for value in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _docstrings(path: Path, class_name: str) -> dict[str, str]:
    """Member -> the text below it, of an enum whose members are described that way."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name)
    found: dict[str, str] = {}
    for before, after in itertools.pairwise(body):
        if isinstance(before, ast.Assign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            target = before.targets[0]
            assert isinstance(target, ast.Name)
            found[target.id] = str(after.value.value)
    return found


def statuses() -> str:
    """status, meaning, what may follow."""
    texts = _docstrings(ROOT / "engine" / "states.py", "RunStatus")
    rows = (
        (
            f"`{status}`",
            texts[status.name],
            ", ".join(f"`{s}`" for s in states.RunStatus if s in states.TRANSITIONS[status]) or "final",
        )
        for status in states.RunStatus
    )
    return markdown(["status", "means", "may be followed by"], rows)


def predicates() -> str:
    """predicate, statuses for which it holds."""
    tree = ast.parse((ROOT / "engine" / "states.py").read_text(encoding="utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    rows = []
    for name in names:
        predicate = getattr(states, name)
        holds = ", ".join(f"`{status}`" for status in states.RunStatus if predicate(status))
        rows.append((f"`{name}`", (predicate.__doc__ or "").split("\n")[0], holds))
    return markdown(["predicate", "asks", "true for"], rows)


def failures() -> str:
    """code, class, who may resume, wait, sentence."""

    def cells(name: str, row: FailureRow) -> Sequence[object]:
        return (name, row.kind, row.unattended, row.cli_auto_resume, row.delay, row.sentence)

    rows = [cells(f"`{code}`", row) for code, row in FAILURES.items()]
    rows += [cells("(empty)", EMPTY_CODE_ROW), cells("(declared by a fail node)", DECLARED_CODE_ROW)]
    return markdown(["code", "class", "unattended", "--auto-resume", "wait", "when"], rows)


def diagnostics() -> str:
    """code, severity, sentence, hint."""
    rows = ((f"`{code}`", row.severity, row.message, row.hint) for code, row in sorted(CODES.items()))
    return markdown(["code", "severity", "sentence", "what to do"], rows)


def reserved() -> str:
    """Codes that are spoken for and never emitted."""
    return "Reserved and never emitted: " + ", ".join(sorted(RESERVED)) + ".\n"


def reasons() -> str:
    """order, code, text, what unblocks."""
    rows = ((REASONS[reason].order, f"`{reason}`", REASONS[reason].text, REASONS[reason].unblock) for reason in Reason)
    return markdown(["gate", "code", "text", "what unblocks"], rows)


def last_run() -> str:
    """The policy, row by row."""

    def where(row: Any) -> str:
        return ", ".join(f"{key} = {getattr(value, 'value', value)}" for key, value in row.where.items()) or "stands in"

    rows = [
        (row.id, where(row), row.unattended, row.attended, f"`{row.reason}`" if row.reason else "")
        for row in (*TABLE, SOURCE_CHANGED, WORKSPACE_MISSING)
    ]
    return markdown(["row", "last run", "unattended", "after a person's move", "reason"], rows)


def refusals() -> str:
    """error.code, exit code, HTTP status."""
    rows = ((f"`{code}`", meaning.exit_code, meaning.http_status) for code, meaning in sorted(REFUSALS.items()))
    return markdown(["error.code", "exit", "HTTP"], rows)


def verbs() -> str:
    """verb, what it does."""
    return markdown(["verb", "does"], ((f"`pointsman {name}`", verb.help) for name, verb in VERBS.items()))


def faults() -> str:
    """Every fault of the fake forge: where it takes hold, what it takes."""
    rows = (
        (f"`{name}`", fault.stage, ", ".join(f"`{key}`" for key in sorted(fault.keys)))
        for name, fault in FAULTS.items()
    )
    return markdown(["fault", "stage", "with"], rows)


def settings() -> str:
    """Every key with its default."""
    rows = [(f"`{key}`", f"`{default}`") for key, default in _keys(Settings, "")]
    return markdown(["key", "default"], rows)


def _keys(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str]]:
    for name, field in model.model_fields.items():
        key = f"{prefix}{name}"
        inner = field.annotation
        if name == "boards":
            yield from _keys(BoardSettings, "boards[].")
        elif isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _keys(inner, f"{key}.")
        else:
            yield (
                key,
                _default(field.get_default(call_default_factory=True) if not field.is_required() else None, field),
            )


def _default(value: object, field: Any) -> str:
    if field.is_required():
        return "required"
    is_time = any(getattr(each, "return_type", None) is str for each in field.metadata)
    if is_time and isinstance(value, float):
        return format_duration(value)
    if (
        isinstance(value, tuple)
        and value
        and all(isinstance(each, float) for each in value)
        and get_args(field.annotation)
    ):
        return f"[{', '.join(format_duration(each) for each in value)}]"
    if isinstance(value, BaseModel):
        return str(value.model_dump(mode="json"))
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def variables() -> str:
    """POINTSMAN_* variables of the engine with their defaults."""
    blank = Variables()
    rows = ((f"`{variable_name(name)}`", getattr(blank, name)) for name in Variables.__slots__)
    return markdown(["variable", "default"], ((name, "" if value is None else value) for name, value in rows))


def columns() -> str:
    """The columns of a new board."""
    kinds = ((each, "eligible" if each.eligible else "terminal" if each.terminal else "") for each in DEFAULT_COLUMNS)
    return markdown(["column", "title", "kind"], ((f"`{each.name}`", each.title, kind) for each, kind in kinds))


def board_events() -> str:
    """What the history of a board tells."""
    return ", ".join(f"`{kind}`" for kind in BoardEventType) + ".\n"


def metrics() -> str:
    """metric, kind, labels, help."""
    rows = ((f"`{name}`", each.kind, ", ".join(each.labels), each.help) for name, each in METRICS.items())
    return markdown(["metric", "kind", "labels", "tells"], rows)


def endpoints() -> str:
    """method, path, what it does, from the app's own contract."""
    from fastapi.routing import APIRoute

    from dispatcher.web import cards, control, deliveries, runs

    routes = [
        route
        for each in (control, deliveries, cards, runs)
        for route in each.router.routes
        if isinstance(route, APIRoute)
    ]
    rows = ((f"`{'/'.join(route.methods)} {route.path}`", route.description.split("\n")[0]) for route in routes)
    return markdown(["request", "does"], rows)


TABLES: dict[str, Callable[[], str]] = {
    table.__name__: table
    for table in (
        *(statuses, predicates, failures, diagnostics, reserved, reasons),
        *(last_run, refusals, verbs, settings, variables),
        *(columns, board_events, metrics, endpoints, faults),
    )
}


def renewed(text: str) -> str:
    """``text`` with every marked table replaced by what the code says now."""
    return MARK.sub(lambda found: found.group(1) + TABLES[found.group(2)]() + found.group(3), text)


def pages() -> list[Path]:
    """Every page of the docs."""
    return sorted(DOCS.rglob("*.md"))


def made() -> dict[Path, str]:
    """Every file that is made as a whole: the pages of the language, the extension for editors."""
    from tests.house import grammar, language_pages

    texts = {DOCS / "language" / name: text for name, text in language_pages.pages().items()}
    return texts | {ROOT / "editors" / name: text for name, text in grammar.rendered().items()}


if __name__ == "__main__":
    for path, text in made().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for page in pages():
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
