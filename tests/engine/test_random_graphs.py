"""Random graphs, struck at random: the laws of ``test_faults_at_every_commit`` hold for whatever people may write.

The crash is an exception out of the one door to the store, after which nobody gets through that door any more; a few
graphs are killed for real as well, tools and all.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from engine.dsl.graph import NodeKind
from engine.errors import StoreFull
from tests.engine.harness import laws
from tests.engine.harness.driving import RUN, Driver, opened
from tests.engine.harness.faults import KILL
from tests.engine.harness.graphs import APPROVED
from tests.engine.harness.judging import broken, swept
from tests.engine.harness.programs import COMPUTE, FLAKY, HUMAN, TOOL, Block, Fan, One, Tools, blocks, program
from tests.engine.harness.watched import AFTER, BEFORE, Crash, WatchedDatabase, crashing
from tests.kit.clock import FakeClock

FOR_EVER = 1_000_000
QUICK = settings(
    deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate, Phase.shrink)
)


@contextmanager
def looked_after(folder: Path, tools: Tools) -> Iterator[Driver]:
    """A new process, so to say: a database and an engine of its own over the folder."""
    with opened(folder) as database:
        yield Driver(folder, database, APPROVED, FakeClock(), {NodeKind.TOOL: tools}, tools.mend)


@contextmanager
def home(text: str) -> Iterator[Path]:
    """A folder with the program."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "work").mkdir()
        (folder / "main.bot").write_text(text)
        yield folder


def undisturbed(text: str) -> tuple[laws.Told, list[str], int]:
    """The end, what the tools left, and how many write transactions it took."""
    tools = Tools()
    with home(text) as folder, looked_after(folder, tools) as mine:
        mine.bring_to_end()
        end = laws.told(mine.store, RUN)
        laws.timeline_holds(list(mine.store.timeline.events(RUN)), end)
        return end, tools.trace, mine.database.count


def go_on(folder: Path, tools: Tools, end: laws.Told, trace: list[str]) -> None:
    """What the fault left, the rest of the run, and the laws."""
    left = list(tools.trace)
    with looked_after(folder, tools) as mine:
        seen = None if mine.record() is None else laws.told(mine.store, RUN)
        mine.bring_to_end()
        ours = laws.told(mine.store, RUN)
        laws.same_end(ours, end)
        laws.nothing_lost(ours, seen)
        laws.no_finished_node_repeated(tools.trace, trace, left, seen)
        laws.timeline_holds(list(mine.store.timeline.events(RUN)), ours)
        laws.store_is_sound(mine.database)


def one_of(count: int, data: st.DataObject) -> int:
    """A write transaction. How many there are depends on how branches run beside each other, so a share is drawn."""
    return 1 + data.draw(st.integers(0, 999)) * count // 1000


@settings(QUICK, max_examples=40)
@given(blocks(), st.data())
def test_a_crash_at_any_commit_of_any_graph_changes_nothing(block: Block, data: st.DataObject) -> None:
    """R414, R415, R416, R417, R481."""
    text = program(block)
    note(text)
    end, trace, count = undisturbed(text)
    crash(text, (data.draw(st.sampled_from([BEFORE, AFTER])), one_of(count, data)), end, trace)


def crash(text: str, moment: tuple[str, int], end: laws.Told, trace: list[str]) -> None:
    """One crash, and what follows."""
    tools = Tools()
    with home(text) as folder:
        with looked_after(folder, tools) as mine:
            mine.database.count = 0
            mine.database.told, mine.database.around = crashing(*moment)
            with suppress(Crash):
                mine.bring_to_end()
        go_on(folder, tools, end, trace)


def test_a_nested_fan_out_tells_again_of_the_branch_around_it() -> None:
    """9.3: a branch that failed and starts again is told of before the branches inside it write anything."""
    text = program(Fan((Fan((One(FLAKY),)),)))
    end, trace, count = undisturbed(text)
    for number in range(1, count + 1):
        crash(text, (AFTER, number), end, trace)


@settings(QUICK, max_examples=25)
@given(blocks(), st.data())
def test_a_store_that_refuses_a_while_changes_nothing(block: Block, data: st.DataObject) -> None:
    """R172, R476: refused from some write on, for so many writes; an attempt that gives up says why."""
    text = program(block)
    note(text)
    end, trace, count = undisturbed(text)
    first, many = one_of(count, data), data.draw(st.sampled_from([1, 2, 3, FOR_EVER]))
    tools = Tools()
    with home(text) as folder:
        with looked_after(folder, tools) as mine:
            refuse(mine.database, range(first, first + many))
            with suppress(StoreFull):
                mine.bring_to_end()
        go_on(folder, tools, end, trace)
        if many == 1:
            assert Counter(tools.trace) == Counter(trace), "something ran again after one refusal"


def refuse(database: WatchedDatabase, refused: range) -> None:
    """Let the commits of those write transactions fail, counted from here."""

    def told(moment: str, number: int) -> None:
        if moment == BEFORE and number in refused:
            raise StoreFull("the disk is full", "free some space")

    database.count = 0
    database.told = told


@settings(QUICK, max_examples=3)
@given(blocks(kinds=(TOOL, TOOL, COMPUTE, HUMAN)))
def test_a_few_random_graphs_survive_a_real_kill(block: Block) -> None:
    """R414, with processes and SIGKILL."""
    text = program(block)
    note(text)
    with home(text) as folder:
        where = folder / "strikes"
        assert broken(where, swept(KILL, str(folder / "main.bot"), where, 4)) == {}
