"""What the dispatcher costs: a tick with nothing to do over many cards, a page of their list over HTTP, and many cards
worked off by eight slots."""

import http.client
import os
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from config.load import load
from connectors.base import Board
from connectors.card import PERSON, Card
from connectors.drafts import CardDraft
from dispatcher import log, tick
from dispatcher.building import Kept, build
from dispatcher.crashpoints import CrashPoints
from dispatcher.daemon.daemon import Daemon
from dispatcher.daemon.inbox import Inbox
from dispatcher.slots import Slots
from dispatcher.station import Memory, Station
from dispatcher.web.backstage import Backstage
from dispatcher.web.server import Listener, WebServer
from dispatcher.wiring import Wiring
from engine.api import ResumeRequest
from tests.benchmarks.startup import POINTSMAN

CONFIG = """
boards: [{name: native, kind: native, bot: bots/trivial.bot}]
tick: {interval: 100ms}
concurrency: {max: 8}
"""
ANSWERS = 20
ASKING = (
    'schema answer:\n  ok: bool\n\nhuman ask:\n  instructions: "go?"\n  output: answer\n\n'
    "workflow trivial:\n  entry: ask\n  ask -> done\n"
)
"""One question, and nothing behind it."""
T = TypeVar("T")
BOT = "tool work:\n  command: `true`\n\nworkflow trivial:\n  entry: work\n  work -> done\n"
SPREAD = ("backlog", "review", "done", "inbox", "blocked")
"""Where the cards of an idle board lie; one in fifty waits in ``ready`` for a blocker."""


@contextmanager
def home_in(folder: Path) -> Iterator[Wiring]:
    """The wiring of a project with a trivial bot, which is made when it is not there yet."""
    (folder / "bots").mkdir(parents=True, exist_ok=True)
    (folder / "bots" / "trivial.bot").write_text(BOT, "utf-8")
    (folder / "pointsman.yaml").write_text(CONFIG, "utf-8")
    store = folder / ".pointsman"
    wiring = Wiring(
        load(folder / "pointsman.yaml", {}), store_dir=store, store_url=f"sqlite:///{store / 'pointsman.db'}"
    )
    try:
        yield wiring
    finally:
        wiring.close()


def fill(wiring: Wiring, count: int) -> None:
    """An idle board of so many cards, made in one transaction."""
    board = wiring.boards["native"]
    first = board.create(CardDraft("first", column="backlog"), PERSON)
    documents = [
        {"id": f"bench{number}x", "title": f"card {number}", "column": SPREAD[number % len(SPREAD)]}
        | ({"column": "ready", "blockers": [first.id]} if number % 50 == 0 else {})
        for number in range(count - 1)
    ]
    board.import_cards(documents, (), PERSON)


def measure_answers(folder: Path) -> Iterator[dict[str, object]]:
    """From the end of a run that this process answered until a daemon acts on it, and until its card moved."""
    acted: list[float] = []
    moved: list[float] = []
    with home_in(folder) as wiring, _daemon_over(folder):
        board = wiring.boards["native"]
        for number in range(ANSWERS):
            card = board.create(CardDraft(f"card {number}", column="ready"), PERSON)
            run_id = _when(lambda card_id=card.id: _parked(wiring, card_id))
            wiring.engine.resume(ResumeRequest(run_id, texts={"ok": "true"}))
            since = time.perf_counter()
            _when(lambda card_id=card.id: _acted(wiring, card_id))
            acted.append(time.perf_counter() - since)
            _when(lambda card_id=card.id: _column(board, card_id) == "review")
            moved.append(time.perf_counter() - since)
    for until, took in (("acted", acted), ("moved", moved)):
        middle, worst = statistics.median(took), max(took)
        yield {
            "bench": "answer",
            "until": until,
            "median_ms": round(1000 * middle, 1),
            "worst_ms": round(1000 * worst, 1),
        }


def _parked(wiring: Wiring, card_id: str) -> str:
    seen, key = wiring.ledger.snapshot(), ("native", card_id)
    return seen.parks[key].run_id if key in seen.parks and key not in seen.settlements else ""


def _acted(wiring: Wiring, card_id: str) -> bool:
    seen, key = wiring.ledger.snapshot(), ("native", card_id)
    return key not in seen.parks or key in seen.settlements


def _column(board: Board, card_id: str) -> str:
    found = board.get(card_id)
    return (found.column or "") if isinstance(found, Card) else ""


def _when(ask: Callable[[], T]) -> T:
    """The first answer that counts, looked for every other millisecond."""
    waiting = threading.Event()
    while not (found := ask()):
        waiting.wait(0.002)
    return found


@contextmanager
def _daemon_over(folder: Path) -> Iterator[None]:
    """A daemon whose own interval is an hour."""
    (folder / "bots" / "trivial.bot").write_text(ASKING, "utf-8")
    text = CONFIG.replace("interval: 100ms", "interval: 1h")
    (folder / "pointsman.yaml").write_text(text, "utf-8")
    daemon = subprocess.Popen(
        [POINTSMAN, "dispatch", "--no-server"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        daemon.terminate()
        daemon.wait(30)


PAGES = {
    "first": "limit=100",
    "middle": "limit=100&offset=5000",
    "last": "limit=100&offset=9900",
    "column": "limit=100&column=review",
    "text": "limit=100&text=card+99",
}


def measure_lists(folder: Path) -> Iterator[dict[str, object]]:
    """A page of a hundred cards out of 10,000, over one connection to the listener; the quickest of twenty.

    ``cpu_ms`` is the processor's time of both ends; the client here only takes the bytes.
    """
    log.configure(level="error", form="json")
    with home_in(folder) as wiring, _listening(wiring) as client:
        fill(wiring, 10_000)
        for page, query in PAGES.items():
            spent = [_asked(client, f"/api/cards?{query}") for _ in range(20)]
            wall, cpu = (1000 * min(each) for each in zip(*spent, strict=True))
            yield {"bench": "list_page", "cards": 10_000, "page": page, "ms": wall, "cpu_ms": cpu, "goal": 20}


@contextmanager
def _listening(wiring: Wiring) -> Iterator[http.client.HTTPConnection]:
    """A connection to a listener whose daemon does not tick."""
    daemon = Daemon(wiring, os.environ, Inbox())
    server = WebServer(Listener("127.0.0.1", 0), Backstage(wiring, daemon, daemon.metrics))
    daemon.open()
    server.start()
    try:
        yield http.client.HTTPConnection("127.0.0.1", server.port)
    finally:
        server.stop()
        daemon.close()


def _asked(client: http.client.HTTPConnection, path: str) -> tuple[float, float]:
    """Seconds by the clock and of the processor until the answer is whole."""
    since, worked = time.perf_counter(), time.process_time()
    client.request("GET", path)
    answer = client.getresponse()
    answer.read()
    assert answer.status == 200, answer.status
    return time.perf_counter() - since, time.process_time() - worked


def measure_ticks(folder: Path) -> Iterator[dict[str, object]]:
    """The median of twenty ticks that find nothing to do, and the processor's time of the quickest."""
    for count in (1_000, 10_000):
        with home_in(folder / f"tick-{count}") as wiring:
            fill(wiring, count)
            kept = Kept(Memory(), Slots(lambda: None), CrashPoints(), {})
            station = build(wiring, wiring.settings, kept)
            log.configure(level="error", form="json")
            tick.run(station, tick.Mode())
            spent = [_ticked(station) for _ in range(21)]
            wall, cpu = zip(*spent, strict=True)
            yield {
                "bench": "idle_tick",
                "cards": count,
                "ms": 1000 * statistics.median(wall),
                "cpu_ms": 1000 * min(cpu),
                "goal": 5,
            }


def _ticked(station: Station) -> tuple[float, float]:
    """Seconds of a tick by the clock, and of this thread's processor."""
    worked = time.thread_time()
    return tick.run(station, tick.Mode()).seconds, time.thread_time() - worked


def measure_drain(folder: Path) -> Iterator[dict[str, object]]:
    """Whole processes: cards that lie in ``ready``, each with a run of one trivial tool, until nothing is left.

    The time of a card must not depend on how many there are: judge the ratio of the two rows. What a daemon costs that
    starts, finds nothing left and ends is measured behind it, and is taken off in ``at_work``.
    """
    for count in (200, 2_000):
        home = folder / f"drain-{count}"
        with home_in(home) as wiring:
            for number in range(count):
                wiring.boards["native"].create(CardDraft(f"card {number}", column="ready"), PERSON)
        worked = _work_of_children()
        spent = _seconds_until_idle(home)
        cpu = _work_of_children() - worked
        with home_in(home) as wiring:
            settled = wiring.boards["native"].counts()["review"]
        assert settled == count, f"{settled} of {count} cards were settled"
        yield {
            "bench": "drain",
            "cards": count,
            "slots": 8,
            "seconds": spent,
            "cards_per_second": count / spent,
            "at_work": count / (spent - _seconds_until_idle(home)),
            "cpu_ms_per_card": 1000 * cpu / count,
            "goal": 60,
        }


def _seconds_until_idle(home: Path) -> float:
    """One daemon, from its spawn until it found nothing more to do."""
    began = time.perf_counter()
    subprocess.run([POINTSMAN, "dispatch", "--until-idle", "--no-server"], cwd=home, check=True, capture_output=True)
    return time.perf_counter() - began


def _work_of_children() -> float:
    """The processor's seconds of all processes that this one started and that ended, with their own."""
    used = os.times()
    return used.children_user + used.children_system
