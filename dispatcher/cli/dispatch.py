"""``pointsman dispatch``: watch the boards and run what their cards ask for (interface.md 5)."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from config.durations import parse_duration
from dispatcher.cli.session import Session
from dispatcher.daemon.inbox import Inbox
from dispatcher.refusals import Refused

if TYPE_CHECKING:
    from dispatcher.daemon.daemon import Daemon
    from dispatcher.tick import TickReport
    from dispatcher.web.server import WebServer
    from dispatcher.world import Decided


@click.command()
@click.argument("file", metavar="[CONFIG]", required=False, type=click.Path(path_type=Path))
@click.option("--once", is_flag=True, help="one tick, wait for its runs, one more so that they settle")
@click.option("--until-idle", is_flag=True, help="tick until nothing runs and no card is actionable")
@click.option("--idle-timeout", default="", metavar="D", help="with --until-idle: stop after this long, exit 1")
@click.option("--dry-run", is_flag=True, help="decide and print; write nothing")
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", help="HTTP port instead of server.port; 0 takes a free one"
)
@click.option("--no-server", is_flag=True, help="do not listen")
@click.pass_obj
def command(session: Session, /, file: Path | None, **options: object) -> int:
    """Watch the boards and run what their cards ask for; SIGTERM stops, SIGHUP reads the configuration again."""
    if file is not None:
        session.use_config(file)
    if options["once"] and options["until_idle"]:
        raise Refused("usage", "--once and --until-idle exclude each other", "Give one of them.")
    if options["no_server"] and options["port"] is not None:
        raise Refused("usage", "--port and --no-server exclude each other", "Give one of them.")
    if options["idle_timeout"] and not options["until_idle"]:
        raise Refused("usage", "--idle-timeout belongs to --until-idle", "Give both, or neither.")
    inbox = Inbox()
    with inbox.catching():
        return _dispatch(session, inbox, options)


def _dispatch(session: Session, inbox: Inbox, options: dict[str, object]) -> int:
    timeout = _duration(str(options["idle_timeout"]))
    settings = session.settings()
    bounded = bool(options["once"] or options["until_idle"] or options["dry_run"])
    session.start_logging("warning" if bounded else "info")
    if options["dry_run"]:
        return _rehearse(session, inbox)
    daemon = _daemon(session, inbox)
    from dispatcher.daemon import loops

    if not bounded and not loops.await_folder(daemon):
        return 0
    loops.open_store(daemon)
    port = settings.server.port if options["port"] is None else int(str(options["port"]))
    server = None if options["no_server"] or (bounded and options["port"] is None) else _server(session, daemon, port)
    try:
        if server is not None:
            server.start()
            daemon.listens = server.address
        return _live(session, daemon, timeout, options)
    finally:
        if server is not None:
            server.stop()
        daemon.close()


def _duration(text: str) -> float:
    try:
        return parse_duration(text) if text else 0.0
    except ValueError as error:
        raise Refused("usage", f"--idle-timeout {text} is no duration", "Write 90s, 5m or 1h30m.") from error


def _daemon(session: Session, inbox: Inbox) -> Daemon:
    from dispatcher.daemon.daemon import Daemon

    return Daemon(session.wiring(), session.environment, inbox)


def _server(session: Session, daemon: Daemon, port: int) -> WebServer:
    from dispatcher.web.backstage import Backstage
    from dispatcher.web.server import Listener, WebServer

    server = session.settings().server
    token = server.token.get_secret_value() if server.token else ""
    return WebServer(Listener(server.host, port, token), Backstage(session.wiring(), daemon, daemon.metrics))


def _live(session: Session, daemon: Daemon, timeout: float, options: dict[str, object]) -> int:
    from dispatcher.daemon import loops

    if options["once"]:
        done = loops.once(daemon)
    elif options["until_idle"]:
        done = loops.until_idle(daemon, timeout)
    else:
        gc.freeze()  # what was imported stays as long as the daemon: no collection needs to look at it again
        gc.set_threshold(50_000, 20, 20)
        return loops.forever(daemon)
    show(session, done.reports)
    standby = done.reports[-1].standby if done.reports else {}
    for name, told in standby.items():
        session.warn(f"Another daemon leads board {name} until {told['until']} ({told['holder']}); it was left alone.")
    if done.exit_code and timeout:
        session.warn("Cards were still being worked on when --idle-timeout ended; they go on with the next start.")
    return done.exit_code


def _rehearse(session: Session, inbox: Inbox) -> int:
    """A dry tick; where there is no store yet, over an empty one that is thrown away."""
    if session.store_exists():
        return _dry(session, _daemon(session, inbox))
    with TemporaryDirectory(prefix="pointsman-") as folder:
        session.use_store(Path(folder))
        try:
            return _dry(session, _daemon(session, inbox))
        finally:
            session.close()


def _dry(session: Session, daemon: Daemon) -> int:
    daemon.open_dry()
    report = daemon.tick(pick=True, dry=True)
    show(session, [report])
    return 0


def show(session: Session, reports: Sequence[TickReport]) -> None:
    """The decisions of all ticks, as one document or as lines."""
    decided = [each for report in reports for each in report.decided]
    if session.json:
        counts: Counter[str] = Counter()
        for report in reports:
            counts.update(report.counts)
        session.emit({"decisions": [_document(each) for each in decided], "counts": dict(counts)})
        return
    several = len(session.settings().boards) > 1
    for each in decided:
        told = each.decision
        board = each.key[0] if several else ""
        reason = f" {told.reason.value}: {told.text}" if told.reason else f" {told.run_id or ''}"
        session.say(f"{board}#{each.number} {told.action.value}{reason}".rstrip())


def _document(each: Decided) -> dict[str, object]:
    told = each.decision
    return {
        "card": each.key[1],
        "board": each.key[0],
        "number": each.number,
        "action": told.action.value,
        "reason": told.reason.value if told.reason else "",
        "row": told.row,
        "run_id": told.run_id,
        "text": told.text,
        "unblock": told.unblock,
    }
