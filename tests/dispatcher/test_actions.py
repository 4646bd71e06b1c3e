"""The table of hands."""

from dispatcher.actions import ACTIONS
from dispatcher.policy import Action


def test_every_action_has_a_hand() -> None:
    assert set(ACTIONS) == set(Action)
