"""Laws of manual positions and of the search for cycles."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from connectors.chains import cycles, find_cycle
from connectors.moves import Spot, positions_for

PLACES = some.lists(some.floats(-1e3, 1e3), max_size=8, unique=True).map(sorted)


@given(PLACES, some.integers(0, 4), some.data())
def test_positions_written_give_exactly_the_wanted_order(placed: list[float], free: int, data: some.DataObject) -> None:
    """dispatcher.md 17: cards with a position come first, in its order; the others follow by age."""
    spots = [Spot(f"p{at}", position) for at, position in enumerate(placed)]
    spots += [Spot(f"q{at}", None) for at in range(free)]
    index = data.draw(some.integers(0, len(spots)))
    spots.insert(index, Spot("new", None))
    wanted = [spot.id for spot in spots]
    written = positions_for(spots, index)
    final = {spot.id: written.get(spot.id, spot.position) for spot in spots}
    ages = {name: at for at, name in enumerate(wanted)}
    shown = sorted(wanted, key=lambda name: (final[name] is None, final[name] or 0.0, ages[name]))
    assert shown == wanted
    assert "new" in written


def test_a_long_chain_and_a_diamond_are_no_cycle() -> None:
    links = {f"c{at}": (f"c{at + 1}",) for at in range(5000)}
    assert find_cycle("start", ["c0"], lambda ids: {each: links.get(each, ()) for each in ids}) == ()
    diamond = {"a": ("c",), "b": ("c",), "c": ()}
    assert find_cycle("start", ["a", "b"], lambda ids: {each: diamond[each] for each in ids}) == ()


def test_a_cycle_beside_the_card_does_not_hang_the_search() -> None:
    links = {"a": ("b",), "b": ("a",)}
    assert find_cycle("start", ["a"], lambda ids: {each: links[each] for each in ids}) == ()
    assert find_cycle("a", ["b"], lambda ids: {each: links[each] for each in ids}) == ("a", "b", "a")


def test_every_member_of_a_cycle_gets_its_chain_and_what_waits_for_it_is_no_member() -> None:
    links = {"a": ["b"], "b": ["c"], "c": ["a"], "waits": ["a"], "free": ["done"], "self": ["self", "free"]}
    assert cycles(links) == {
        "a": ("a", "b", "c", "a"),
        "b": ("b", "c", "a", "b"),
        "c": ("c", "a", "b", "c"),
        "self": ("self", "self"),
    }
    assert cycles({f"c{n}": [f"c{n + 1}"] for n in range(50_000)}) == {}
