"""What ``pointsman doctor`` looks at, one function per part; each gives findings and changes nothing.

Called by ``cli/doctor.py``. It reads the store only when it is there and of this build's schema; forges are looked at
by ``connection_checkup`` and ``board_checkup``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from config.boards import fields_in_board
from config.catalogue import bots_in, find_bot, missing_bots
from config.problems import did_you_mean
from dispatcher.column_uses import cap_columns, role_keys
from dispatcher.findings import Finding, Level, failed, passed, warned
from dispatcher.instance import ROOT_HINT
from engine.errors import EngineError
from engine.store import health
from engine.store.locks import FileLock

if TYPE_CHECKING:
    from config.boards import BoardSettings
    from config.settings import Settings
    from connectors.card import Column
    from dispatcher.wiring import Wiring

INSTANCE_LOCK = "dispatcher.lock"
CLOCK_SLACK = 5.0
STORE_SLACK = 30.0
SHOWN = 20
"""So many cards of one kind are named."""


@dataclass(frozen=True, slots=True)
class Patient:
    """What is looked at; ``wiring`` opens nothing until it is asked."""

    settings: Settings
    store_dir: Path
    store_url: str
    wiring: Wiring


def examine(patient: Patient) -> Iterator[Finding]:
    """Every part in order."""
    for check in CHECKS:
        yield from check(patient)


def check_config(patient: Patient) -> Iterator[Finding]:
    """The configuration that was read, and references that gave nothing."""
    origin = patient.settings.origin
    yield passed(
        "config", f"{origin.file} is right" if origin.file else "no pointsman.yaml; the built-in defaults hold"
    )
    for name in sorted(origin.unset_names):
        yield warned("config", f"${name} is not set and counts as empty", f"Set it, or write ${{{name}:-a default}}.")


def check_store(patient: Patient) -> Iterator[Finding]:
    """Where the store is, whether it can be read, and whether it belongs to this build."""
    try:
        seen = health.look(patient.store_url)
    except EngineError as error:
        yield failed("store", error.message, error.hint)
        return
    if not seen.exists:
        yield from _missing_store(patient.store_dir)
    elif seen.fault:
        yield failed("store", f"the store cannot be read: {seen.fault}", "Restore it from a backup.")
    elif seen.newer:
        yield failed("store", f"the store has schema {seen.revision}, newer than this build", "Use the newer version.")
    elif seen.behind:
        yield warned("store", f"the store has schema {seen.revision or 'none'}", "The next start migrates it.")
    else:
        yield passed("store", f"{patient.wiring.store_name} has schema {seen.revision} and is sound")
    if doubt := patient.wiring.store_doubt:
        hint = (
            "Move the store to a local disk, or set store.allow_network: true and know why; until then none opens it."
        )
        yield failed("store", doubt, hint)


def _missing_store(folder: Path) -> Iterator[Finding]:
    parent = folder if folder.exists() else folder.parent
    if not parent.exists():
        yield failed("store", f"{parent} does not exist", "Make or mount it; the store itself is made on first write.")
    elif not os.access(parent, os.W_OK):
        yield failed("store", f"{parent} cannot be written", "Give this user the right to, or name another store dir.")
    else:
        yield passed("store", f"no store yet; the first write makes it in {folder}")


def check_locks(patient: Patient) -> Iterator[Finding]:
    """Whether locks work where the store is, and who holds the dispatcher's."""
    folder = patient.store_dir
    if not folder.is_dir():
        yield passed("locks", "nothing to lock yet")
        return
    if not health.locks_work(folder):
        hint = "Keep the store on a local file system; until then no orphaned run is ever promoted."
        yield failed("locks", f"files in {folder} cannot be locked", hint)
        return
    if doubt := patient.wiring.lock_doubt:
        yield failed("locks", doubt, "Keep the store's folder on a local disk; until then no orphaned run is promoted.")
    else:
        yield passed("locks", f"files in {folder} can be locked")
    instance = FileLock(folder / INSTANCE_LOCK, {})
    if instance.held():
        yield passed("locks", f"a dispatcher runs here: {instance.holder_text()}")


def check_workspaces(patient: Patient) -> Iterator[Finding]:
    """Whether workspaces can be made where the configuration says; nothing is made."""
    root = patient.settings.workspace.root
    place = next(folder for folder in (root, *root.parents) if folder.exists())
    if not place.is_dir():
        yield failed("workspaces", f"{place} is no folder", "Let workspace.root name one.")
    elif not os.access(place, os.W_OK | os.X_OK):
        yield failed("workspaces", f"{place} cannot be written, and {root} lies there", ROOT_HINT)
    else:
        yield passed("workspaces", f"{root} {'can be written' if root == place else 'can be made'}")


def check_clock(patient: Patient) -> Iterator[Finding]:
    """Whether the newest file of the store lies in the future, which a clock set back looks like."""
    now = patient.wiring.clock.now()
    files = [path for path in patient.store_dir.glob("*.db*") if path.is_file()]
    newest = max((path.stat().st_mtime for path in files), default=0.0)
    ahead = newest - now.timestamp()
    if ahead > CLOCK_SLACK:
        hint = "Set the clock right; waits and graces are counted from it."
        yield warned("clock", f"the store was written {ahead:.0f} s in the future", hint)
    else:
        yield passed("clock", f"{now:%Y-%m-%d %H:%M:%S} UTC")


def check_leases(patient: Patient) -> Iterator[Finding]:
    """In a store that several hosts share: who leads each board, and whether this host's clock fits the store's."""
    if not patient.wiring.store_shared:
        return
    seen = health.look(patient.store_url)
    if seen.fault or seen.newer or seen.behind or not seen.revision:
        return  # said by the store's own part
    from engine.store.leases import BOARD, short

    leases = patient.wiring.store.leases
    names = [board.name for board in patient.settings.boards]
    found = leases.look(BOARD + name for name in names)
    for name in names:
        lease = found.get(BOARD + name)
        live = lease is not None and lease.live
        who = f"{short(lease.holder)}, for {lease.left:.0f} s more" if lease is not None and live else "nobody now"
        yield passed("leases", f"board {name} is led by {who}")
    off = (patient.wiring.clock.now() - leases.now()).total_seconds()
    if abs(off) > STORE_SLACK:
        hint = "Set the clock right; leases are judged by the store's clock, graces and waits by this one."
        yield warned("leases", f"this host's clock is {off:+.0f} s off the store's", hint)


def store_readable(patient: Patient) -> bool:
    """Whether there is a store of this build's schema that may be opened where it lies."""
    if not patient.store_url.startswith(("sqlite", "postgresql")) or patient.wiring.store_doubt:
        return False
    seen = health.look(patient.store_url)
    return seen.exists and not (seen.fault or seen.newer or seen.behind)


def check_rows(patient: Patient) -> Iterator[Finding]:
    """Rows of cards that cannot be read: their cards are held."""
    if not store_readable(patient):
        return
    for (board, card_id), why in patient.wiring.ledger.snapshot().damaged.items():
        hint = "Restore the store from a backup, or repair that row; `pointsman db check` looks at every one."
        yield failed("store", f"a row of card {card_id} of board {board} cannot be read: {why}", hint)


def check_forges(patient: Patient) -> Iterator[Finding]:
    """Every connection to a forge, every board over one, and the calls whose answer was lost."""
    from dispatcher import forge_checkup

    yield from forge_checkup.examine(patient.wiring, readable=store_readable(patient))


def check_columns(patient: Patient) -> Iterator[Finding]:
    """Whether every column that the configuration names exists on each native board."""
    from connectors.native.defaults import DEFAULT_COLUMNS

    settings = patient.settings
    readable = store_readable(patient)
    known = {name for board in settings.boards for name in board.columns}
    for board in settings.boards:
        if board.kind != "native":
            continue
        columns = patient.wiring.boards[board.name].columns() if readable else DEFAULT_COLUMNS
        known |= {name for column in columns for name in (column.name, *column.aliases)}
        eligible = [column.name for column in columns if column.eligible]
        wrong = list(_column_faults(settings, board.name, columns))
        yield from wrong
        if not any(finding.level is Level.FAIL for finding in wrong):
            picked = ", ".join(eligible) or "none"
            yield passed("columns", f"{board.name}: {len(columns)} columns, picked up from {picked}")
        yield from _unmapped(patient, board.name) if readable else ()
        yield from _undeclared(patient, board) if readable else ()
    for key, name in cap_columns(settings):
        if name not in known:
            yield warned("columns", f'no board has a column "{name}", so {key} limits nothing', "Name one that exists.")


def _column_faults(settings: Settings, board: str, columns: Sequence[Column]) -> Iterator[Finding]:
    """Names in the configuration that the board does not have, or that it had; what a role must not be."""
    from connectors.queries import present_name

    names = {column.name for column in columns}
    roles = role_keys(settings)
    for key, name in (*roles, *cap_columns(settings)):
        called = present_name(columns, name)
        if called not in names and (key, name) in roles:
            hint = f"Add it (`pointsman board columns add {name}`), or name another in {key}."
            yield failed("columns", f'{board}: there is no column "{name}" for {key}', hint)
        elif called in names and called != name:
            text = f"{board}: column {name} is called {called} now; {key} goes on working"
            yield warned("columns", text, f"Write {called} there.")
    if not any(column.eligible for column in columns):
        hint = "Add one: `pointsman board columns add NAME --eligible`."
        yield warned("columns", f"{board}: no column is eligible, so nothing starts", hint)
    if not any(column.terminal for column in columns):
        hint = "Add one: `pointsman board columns add NAME --terminal`."
        yield warned("columns", f"{board}: no column is terminal, so no blocker is ever done", hint)
    if present_name(columns, settings.columns.cancelled) in {each.name for each in columns if each.eligible}:
        hint = "Name a column from which nothing is picked up."
        yield failed("columns", f"{board}: columns.cancelled is eligible", hint)


def _undeclared(patient: Patient, settings: BoardSettings) -> Iterator[Finding]:
    """Templates that name a field which the board does not declare: their cards are held (``vars_invalid``)."""
    from connectors.native.board import NativeBoard

    board = patient.wiring.boards[settings.name]
    declared = {spec.name for spec in board.fields()} if isinstance(board, NativeBoard) else set()
    for key, field in fields_in_board(settings) if declared else ():
        if field not in declared:
            text = f'{settings.name}: {key} names the field "{field}", which the board does not declare'
            yield failed("columns", text, did_you_mean(field, declared))


def _unmapped(patient: Patient, name: str) -> Iterator[Finding]:
    """Cards whose column the board does not have: they are never started (dispatcher.md 29)."""
    from connectors.native.board import NativeBoard

    board = patient.wiring.boards[name]
    cards = board.unmapped().cards if isinstance(board, NativeBoard) else ()
    for card in cards[:SHOWN]:
        text = f"{name}: card #{card.number} is in {card.columns_seen[0]}, which is no column of the board"
        yield warned("columns", text, f"Move it: `pointsman card move {card.number} --to COLUMN`.")
    if len(cards) > SHOWN:
        yield warned("columns", f"{name}: {len(cards) - SHOWN} more cards are in no column of the board", "Move them.")


def check_git(_patient: Patient) -> Iterator[Finding]:
    """Whether git is there, for worktrees and for bots that use it."""
    found = shutil.which("git")
    if found:
        yield passed("git", found)
    else:
        yield warned("git", "git is not on the PATH", "Install it for bots that work on repositories.")


def check_sandbox(_patient: Patient) -> Iterator[Finding]:
    """Whether bots can be sandboxed."""
    found = shutil.which("bwrap")
    if found:
        yield passed("sandbox", found)
    else:
        hint = "Install bubblewrap for bots that ask for a sandbox; all others run without."
        yield warned("sandbox", "bwrap is not on the PATH", hint)


def check_bots(patient: Patient) -> Iterator[Finding]:
    """Whether the bots that boards and routes name exist and have no errors."""
    settings = patient.settings
    for problem in missing_bots(settings):
        yield failed("bots", f"{problem.key}: {problem.text}", problem.hint)
    named = {name for board in settings.boards for name in (board.bot, *board.routes.values()) if name}
    found = {name: find_bot(name, settings.bots.paths, settings.origin.folder) for name in named}
    paths = {name: path for name, path in found.items() if path}
    for name, path in sorted({**bots_in(settings.bots.paths), **paths}.items()):
        yield _compiled(name, path)
    if not any(board.bot or board.routes for board in settings.boards):
        yield warned("bots", "no board names a bot", "Cards need one of their own, else they wait (no_route).")


def _compiled(name: str, path: Path) -> Finding:
    from engine.dsl.load import load
    from engine.errors import BadInput

    try:
        found = load(path)
    except BadInput as problem:
        return failed("bots", f"{name}: {problem.message}", problem.hint)
    errors = found.errors
    if errors:
        first = errors[0]
        text = f"{name}: {first.file}:{first.line}: {first.code} {first.message}"
        return failed("bots", text, f"`pointsman validate {path}` lists all findings.")
    return passed("bots", f"{name}: {path}")


CHECKS: tuple[Callable[[Patient], Iterator[Finding]], ...] = (
    check_config,
    check_store,
    check_locks,
    check_workspaces,
    check_clock,
    check_rows,
    check_leases,
    check_columns,
    check_forges,
    check_git,
    check_sandbox,
    check_bots,
)
"""The parts in the order in which they are shown."""
