"""Ten daemons of one PostgreSQL store over a forge's board: one lists it, and the hour's budget lasts (C117).

The daemons live in this process, each with a folder, a connection pool and a limiter of its own; what they share is the
store alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from connectors.fake_forge.running import FakeForge, Setup, running
from tests.kit import postgres
from tests.kit.clock import FakeClock
from tests.kit.forge_yard import ForgeYard
from tests.kit.yard import ASKS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
DAEMONS, ROUNDS, INTERVAL = 10, 3, 15.0
HOUR = 3600.0


@pytest.fixture
def url() -> Iterator[str]:
    """A database of a server of its own."""
    try:
        with postgres.running() as server:
            yield server.fresh()
    except postgres.Missing as reason:
        pytest.skip(f"POSTGRESQL IS NOT TESTED: {reason}")


class Host(ForgeYard):
    """One of the hosts."""

    def __init__(self, folder: Path, clock: FakeClock, forge: FakeForge, url: str) -> None:
        folder.mkdir()
        self.store_url = url
        super().__init__(folder, clock, forge, ASKS)


def test_an_hour_of_ten_daemons_is_listed_by_one_and_leaves_most_of_the_budget(
    tmp_path: Path, clock: FakeClock, url: str
) -> None:
    """C117: the others send nothing at all; what the leader spends in a few ticks, over an hour, is within 5,000."""
    with ExitStack() as stack:
        forge = stack.enter_context(running("github", Setup(clock=clock)))
        hosts = [Host(tmp_path / f"host{n}", clock, forge, url) for n in range(DAEMONS)]
        for host in hosts:
            stack.callback(host.close)
        cards = [str(forge.issue(f"Card {n}", labels=["ready"])) for n in range(5)]
        hosts[0].settled(2)
        forge.forget_requests()
        senders: Counter[int] = Counter()
        for _ in range(ROUNDS):
            clock.advance(INTERVAL)
            for place, host in enumerate(hosts):
                before = len(forge.requests())
                report = host.tick()
                senders[place] += len(forge.requests()) - before
                assert report.complete
                assert bool(report.standby) == (place > 0)
        assert {place for place, sent in senders.items() if sent} == {0}
        spent = sum(each["status"] != 304 for each in forge.requests())
        assert spent * HOUR / (ROUNDS * INTERVAL) <= 5000
        assert [hosts[0].place(card) for card in cards] == ["awaiting_input"] * len(cards)
        assert len(hosts[-1].runs()) == len(cards)
        budget = hosts[-1].wiring.forges.limiter("web").budget()
        assert budget is not None, "the row of the credential is one for all"
        assert budget.remaining > budget.limit / 2
