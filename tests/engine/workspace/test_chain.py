"""Which boundary a rewind goes back to, and what a run has produced since."""

from __future__ import annotations

import pytest

from engine.checkpoint import Mark, MarkFile
from engine.workspace.chain import BrokenChain, base_of, counts, since

LISTS: dict[str, dict[str, MarkFile]] = {"empty": {}}


def marks(*labels: str, **changes: dict[str, str]) -> list[Mark]:
    """A chain; ``changes`` give content by path for the n-th mark as ``at_n``; empty content means gone."""
    made = []
    for seq, text in enumerate(labels, 1):
        files = tuple(MarkFile(path, 0o644 if h else 0, h) for path, h in changes.get(f"at_{seq}", {}).items())
        made.append(Mark(seq, text, text.split(":")[1], seq - 1, "", files))
    return made


def test_the_highest_iteration_that_is_not_above_the_present_one_is_taken() -> None:
    chain = marks("pre:a:0", "pre:a:1", "pre:a:2")
    assert base_of(chain, "a", (1,)) == chain[1]
    assert base_of(chain, "a", (7,)) == chain[2]


def test_iterations_of_several_loops_compare_from_the_outside() -> None:
    chain = marks("pre:a:out.0-in.2", "pre:a:out.1-in.0")
    assert counts("out.1-in.0") == (1, 0)
    assert base_of(chain, "a", (1, 0)) == chain[1]
    assert base_of(chain, "a", (0, 9)) == chain[0]


def test_no_boundary_and_one_older_than_a_finished_iteration_are_reasons() -> None:
    """R289: a `pre` below a finished iteration is no place to go back to."""
    assert "no boundary" in str(base_of(marks("pre:b:0"), "a", (0,)))
    assert "older than the finished post:a:1" in str(base_of(marks("pre:a:0", "post:a:1"), "a", (1,)))


def test_a_replay_after_a_restore_starts_a_boundary_of_its_own() -> None:
    chain = marks("pre:a:0", "rewind-backup:a:0", "rewound:a:0", "resume:a:0", "pre:a:0")
    assert base_of(chain, "a", (0,)) == chain[4]


def test_what_was_written_put_back_and_written_again_is_in_the_union() -> None:
    """R274: the union of the intervals, not the difference of the ends."""
    chain = marks("pre:a:0", "post:a:0", "pre:b:0", "post:b:0", at_1={"x": "1"}, at_2={"x": "2"}, at_4={"x": "1"})
    found = since(chain, chain[0], LISTS.get)
    assert found.produced == {"x"}
    assert found.base == found.last


def test_what_changed_while_the_run_waited_is_not_the_runs() -> None:
    """R275, R276: intervals that a pause or a failure opens and a resume closes do not count."""
    chain = marks(
        *("pre:a:0", "pause:a:0", "resume:a:0", "fail:a:0", "rewind-backup:a:0", "rewound:a:0", "resume:a:0"),
        at_1={"x": "1"},
        at_3={"mine": "1"},
        at_5={"mine": "2"},
        at_7={"more": "1"},
    )
    assert since(chain, chain[0], LISTS.get).produced == frozenset()


def test_a_path_that_also_changed_in_an_ordinary_interval_stays_in() -> None:
    chain = marks("pre:a:0", "fail:a:0", "resume:a:0", "post:a:0", at_3={"x": "1"}, at_4={"x": "2"})
    assert since(chain, chain[0], LISTS.get).produced == {"x"}


def test_a_crash_leaves_its_interval_ordinary() -> None:
    chain = marks("pre:a:0", "resume:a:0", at_2={"x": "half"})
    assert since(chain, chain[0], LISTS.get).produced == {"x"}


def test_a_gap_or_a_list_that_is_gone_breaks_the_chain() -> None:
    chain = marks("pre:a:0", "post:a:0", "post:b:0")
    with pytest.raises(BrokenChain, match="post:b:0"):
        since([chain[0], chain[2]], chain[0], LISTS.get)
    lost = Mark(2, "fail:a:0", "a", 1, "lost")
    with pytest.raises(BrokenChain, match="cannot be read"):
        since([chain[0], lost], chain[0], LISTS.get)


def test_a_broken_part_before_the_last_list_does_no_harm() -> None:
    chain = [Mark(1, "pre:a:0", "a", 0, "lost"), Mark(2, "resume:b:0", "b", 1, "empty"), *marks("x:b:0")[:0]]
    chain.append(Mark(3, "pre:b:0", "b", 2))
    assert since(chain, chain[2], LISTS.get).base == {}
