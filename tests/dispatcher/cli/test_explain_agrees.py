"""One decision, two readers: ``explain`` and the document of ``dispatch --once`` (dispatcher.md 7)."""

from __future__ import annotations

from pathlib import Path

from tests.kit.cli import pointsman
from tests.kit.engine import PATH
from tests.kit.yard import ASKS, CONFIG, FAILS_FOR_GOOD, tool

BOTS = {"work": tool("exit 3"), "asks": ASKS.replace("workflow work", "workflow asks"), "refuses": FAILS_FOR_GOOD}


def test_both_give_the_same_reasons_and_texts(tmp_path: Path) -> None:
    """R462: a card that is held, one that is parked, one that waits for its retry, one that failed for good."""
    (tmp_path / "bots").mkdir()
    for name, text in BOTS.items():
        (tmp_path / "bots" / f"{name}.bot").write_text(text)
    (tmp_path / "pointsman.yaml").write_text(CONFIG.replace("base: 10s", "base: 300s"))

    def verb(*arguments: str) -> object:
        answer = pointsman(tmp_path, *arguments, "--json", environment={"PATH": PATH, "HOME": str(tmp_path)})
        assert answer.code == 0, answer.err
        return answer.document

    for more in ([], ["--bot", "asks"], ["--blocker", "1"], ["--bot", "refuses"]):
        verb("card", "create", "--title", "x", "--column", "ready", *more)
    verb("dispatch", "--once", "--no-server")
    ticked = verb("dispatch", "--once", "--no-server")
    assert isinstance(ticked, dict)
    told = {each["number"]: each for each in ticked["decisions"]}
    assert [told[n]["reason"] for n in (1, 2, 3)] == ["retry_wait", "waiting_for_answers", "blocked_by"]
    for number in (1, 2, 3):
        explained = verb("explain", str(number))
        assert isinstance(explained, dict)
        shown = verb("card", "show", str(number))
        assert isinstance(shown, dict)
        names = ("reason", "text", "unblock")
        assert [explained["decision"][name] for name in names] == [told[number][name] for name in names]
        assert [shown["idle_reason"][name] for name in ("code", "text", "unblock")] == [
            told[number][name] for name in names
        ]
