"""The dispatcher over a forge's board in bad weather: lost answers, people in between, new starts, in any order.

Each seed plays one history on one fake forge. Whatever happened, no comment, issue or pull request of ours is there
twice. More seeds: ``POINTSMAN_WEATHER_SEEDS=500 pytest tests/acceptance/test_forge_weather.py``.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from connectors.effects.markers import markers_in
from connectors.fake_forge.running import FakeForge
from dispatcher.ledger.records import Key
from engine.states import RunStatus
from tests.kit.clock import FakeClock
from tests.kit.forge_yard import ForgeYard, forge_yard
from tests.kit.yard import HEAD

SEEDS = int(os.environ.get("POINTSMAN_WEATHER_SEEDS", "2"))
KINDS = ("github", "gitlab", "forgejo")
ROUNDS = 12
LOST = ("act_then_close", "act_then_reset", "act_then_5xx", "act_then_cut_head", "act_then_cut_body", "act_then_empty")
UNMADE = ("close_before_read", "reset_on_connect")
CHANGES = ("POST", "PUT", "PATCH", "DELETE")


def bot(kind: str) -> str:
    """Comments on a first card, makes an issue and a pull request, asks, and comments again."""
    pull = "merge_request" if kind == "gitlab" else "pull"
    return f"""{HEAD}schema answer:
  ok: bool

tool note:
  action: {kind}.issue.comment
  connection: web
  params:
    number: 1
    body: "note of {{{{vars.title}}}}"

tool make:
  action: {kind}.issue.create
  connection: web
  params:
    title: "made of {{{{vars.title}}}}"
    body: "text"

tool open:
  action: {kind}.{pull}.create
  connection: web
  params:
    head: work
    base: main
    title: "work of {{{{vars.title}}}}"
    body: "text"

human ask:
  instructions: "go on?"
  output: answer

tool last:
  action: {kind}.issue.comment
  connection: web
  params:
    number: 1
    body: "last of {{{{vars.title}}}}"

workflow work:
  entry: note
  note -> make
  make -> open
  open -> ask
  ask -> last
  last -> done
"""


def weather(dice: random.Random, yard: ForgeYard) -> None:
    """What the forge does to the calls of the next ticks."""
    rules = []
    for name in CHANGES:
        if dice.random() < 0.8:
            fault = dice.choice(LOST if dice.random() < 0.8 else UNMADE)
            given = {"with": {"status": dice.choice((500, 502, 503, 504))}} if fault == "act_then_5xx" else {}
            rules.append({"fault": fault, "match": {"method": name, "nth": dice.randint(1, 3)}, **given})
    if dice.random() < 0.3:
        lagging = {"seconds": dice.choice((5, 20, 60)), "what": dice.choice(("lists", "comments", "labels"))}
        rules.append({"fault": "lag", "with": lagging})
    yard.forge.script(*rules)


def people(dice: random.Random, yard: ForgeYard, cards: list[str]) -> None:
    """What somebody does in between; nobody asks for a call in doubt to be sent again."""
    card = dice.choice(cards)
    what = dice.randrange(5)
    if what == 0:
        yard.forge.act("add_label", number=int(card), label="bug")
    elif what == 1:
        yard.forge.act("comment", number=int(card), body="a person's word")
    elif what == 2:
        yard.again()
    elif what == 3 and yard.view(card).last_run:
        run = yard.run(card)
        if run.status == RunStatus.PAUSED_WAITING_HUMAN:
            yard.resume(card, answers={"ok": True})


def texts(forge: FakeForge) -> list[str]:
    """Every text on the forge that may carry a marker of ours."""
    found = []
    for each in (*forge.here.issues.values(), *forge.here.pulls.values()):
        found.append(each.body)
        found += [comment.body for comment in each.comments if not comment.system]
    return found


def nothing_is_there_twice(yard: ForgeYard, told: str) -> None:
    """Each effect has one object at most, and each node of a run made one thing, whatever its attempts."""
    markers = [marker for text in texts(yard.forge) for marker in markers_in(text)]
    effects = Counter(marker.effect for marker in markers)
    nodes = Counter((each.pairs["run"], each.pairs["node"]) for each in markers if each.pairs.get("node"))
    assert [each for each, n in effects.items() if n > 1] == [], told
    assert [each for each, n in nodes.items() if n > 1] == [], told
    titles = Counter(each.title for each in yard.forge.here.issues.values())
    assert [title for title, n in titles.items() if n > 1] == [], told
    assert len(yard.forge.here.pulls) <= 1, told


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_is_lost_in_between_nothing_of_ours_is_there_twice(
    tmp_path: Path, clock: FakeClock, kind: str, seed: int
) -> None:
    """C051 F37: no duplicate comment, issue or pull request in any seed."""
    dice = random.Random(f"{kind} {seed}")
    with forge_yard(kind, tmp_path, clock, bot(kind)) as yard:
        yard.forge.act("create_pull", head="work")
        yard.forge.here.pulls.clear()
        yard.issue("bug", title="First")
        cards = [yard.issue(title=f"Card {n}") for n in range(2)]
        for turn in range(ROUNDS):
            weather(dice, yard)
            yard.tick()
            people(dice, yard, cards)
            clock.advance(dice.choice((5, 20, 70, 400)))
            nothing_is_there_twice(yard, f"{kind}, seed {seed}, round {turn}")
        yard.forge.script()
        for _ in range(4):
            clock.advance(1900)
            yard.settled()
        nothing_is_there_twice(yard, f"{kind}, seed {seed}, afterwards")
        links: list[Key] = [("web", card) for card in cards]
        assert all(view.last_run for view in yard.wiring.ledger.views(links).values())
        assert any("note of" in text for text in texts(yard.forge))
