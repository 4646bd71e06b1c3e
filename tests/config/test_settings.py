from __future__ import annotations

import pytest
from pydantic import ValidationError

from config.settings import ClaimSettings, Settings, is_loopback


def test_the_defaults_are_those_of_the_interface() -> None:
    """interface.md 7 and dispatcher.md 36."""
    found = Settings()
    board = found.boards[0]
    assert (board.name, board.kind, board.bot, board.trust.who, board.trust.pin_body) == (
        *("native", "native", None),
        *("anyone", False),
    )
    assert board.comments == ("parked", "gave_up", "failed")
    assert found.columns.model_dump() == {
        "running": "in_progress",
        "awaiting_input": "awaiting_input",
        "completed": "review",
        "failed": "blocked",
        "cancelled": "backlog",
    }
    assert (found.tick.interval, found.tick.board_deadline) == (15, 30)
    assert found.concurrency.max == 4
    assert (found.runs.stall_timeout, found.runs.orphan_grace, found.runs.force_stale_after) == (600, 120, 60)
    assert (found.retry.max_attempts, found.retry.base, found.retry.cap) == (10, 10, 300)
    assert found.retry.sandbox == (60, 180, 300, 3600)
    assert (found.server.host, found.server.port, found.shutdown.grace) == ("127.0.0.1", 4892, 30)
    assert (found.claims.lease, found.claims.heartbeat, found.claims.forge_lease) == (60, 20, 900)
    assert (found.breakers.card_moves, found.breakers.half_open_after) == (6, 900)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Settings().name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("host", "safe"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_only_loopback_counts_as_safe_without_a_token(host: str, safe: bool) -> None:
    assert is_loopback(host) is safe


def test_a_settle_delay_that_is_too_short_is_refused() -> None:
    """connectors.md 19: at least five seconds lie between writing and reading."""
    with pytest.raises(ValidationError, match="greater than or equal to 5"):
        ClaimSettings.model_validate({"settle_delay": "4s"})
