"""What the dispatcher costs: a tick with nothing to do over many cards, and many cards worked off by eight slots."""

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
from dispatcher.slots import Slots
from dispatcher.station import Memory
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


def measure_ticks(folder: Path) -> Iterator[dict[str, object]]:
    """The median of twenty ticks that find nothing to do."""
    for count in (1_000, 10_000):
        with home_in(folder / f"tick-{count}") as wiring:
            fill(wiring, count)
            kept = Kept(Memory(), Slots(lambda: None), CrashPoints(), {})
            station = build(wiring, wiring.settings, kept)
            log.configure(level="error", form="json")
            tick.run(station, tick.Mode())
            spent = [tick.run(station, tick.Mode()).seconds for _ in range(21)]
            yield {"bench": "idle_tick", "cards": count, "ms": 1000 * statistics.median(spent)}


def measure_drain(folder: Path) -> Iterator[dict[str, object]]:
    """Whole processes: cards that lie in ``ready``, each with a run of one trivial tool, until nothing is left.

    The time of a card must not depend on how many there are: judge the ratio of the two rows.
    """
    for count in (200, 2_000):
        home = folder / f"drain-{count}"
        with home_in(home) as wiring:
            for number in range(count):
                wiring.boards["native"].create(CardDraft(f"card {number}", column="ready"), PERSON)
        began = time.perf_counter()
        subprocess.run(
            [POINTSMAN, "dispatch", "--until-idle", "--no-server"], cwd=home, check=True, capture_output=True
        )
        spent = time.perf_counter() - began
        with home_in(home) as wiring:
            settled = wiring.boards["native"].counts()["review"]
        assert settled == count, f"{settled} of {count} cards were settled"
        yield {"bench": "drain", "cards": count, "slots": 8, "seconds": spent, "cards_per_second": count / spent}
