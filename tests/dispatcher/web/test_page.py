"""The pages in a real browser: answers typed by their schema, the keyboard alone, a phone, screen readers."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from connectors.card import PERSON
from dispatcher.daemon.daemon import Daemon
from dispatcher.web.backstage import Backstage
from dispatcher.web.server import Listener, WebServer
from engine.ports import SystemClock
from tests.kit.browser import DESK, PHONE, chromium, faults
from tests.kit.yard import CONFIG, HEAD, Yard, waits

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
FORM = f"""{HEAD}schema answer:
  approved: bool
  level: string [enum: "low", "high"]
  tags: string[]
  count: int
  ratio: float
  note: string
  extra: json

human gate:
  instructions: "Shall {{{{vars.title}}}} go on?"
  output: answer

tool after:
  command: `true`

workflow work:
  entry: gate
  gate -> after
  after -> done
"""
BIG = 9007199254740993
"""A whole number that a script's numbers cannot hold."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


class Desk:
    """A daemon with its listener, and a browser in front of it."""

    def __init__(self, yard: Yard, browser: Browser, token: str = "") -> None:
        self.yard, self.browser = yard, browser
        self.daemon: Daemon = yard.daemon
        self.server = WebServer(
            Listener("127.0.0.1", 0, token), Backstage(yard.wiring, yard.daemon, yard.daemon.metrics)
        )
        self.server.start()
        self.noise: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    def open(self, path: str = "/", scheme: str = "light", **viewport: int) -> Page:
        context = self.browser.new_context(viewport=viewport or PHONE, color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("console", lambda message: self.noise.append(message.text))
        page.on("pageerror", lambda error: self.noise.append(str(error)))
        page.goto(self.address + path)
        return page

    def close(self) -> None:
        for context in self.browser.contexts:
            context.close()
        self.server.stop()


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    made = Yard(tmp_path, SystemClock(), CONFIG, FORM)
    yield made
    (tmp_path / "go").touch()
    made.close()


@pytest.fixture
def desk(yard: Yard, browser: Browser) -> Iterator[Desk]:
    made = Desk(yard, browser)
    yield made
    made.close()


def settled(desk: Desk, card: str) -> dict[str, Any]:
    """Tick until the card's run is over; the answers that it went on with."""
    end = time.monotonic() + 60
    while desk.yard.column(card) != "review":
        assert time.monotonic() < end
        desk.yard.join()
        desk.yard.tick()
    record = desk.yard.run(card)
    return dict(desk.yard.wiring.engine.inspect(record.id).outputs["gate"])


def test_a_question_is_answered_with_the_keyboard_alone_and_arrives_in_its_types(desk: Desk) -> None:
    """enum → select, bool → checkbox, numbers, lines, JSON; no digit of a large number is lost."""
    card = desk.yard.make("the release")
    desk.yard.settled()
    page = desk.open()
    assert page.title() == "(1) yard"
    assert page.get_by_text("Shall the release go on?").is_visible()
    page.get_by_role("heading", name=re.compile("the release")).first.get_by_role("link").focus()
    for typed in (" ", "h", "a\nb", str(BIG), "2.50", "fine, and <b>bold</b>", '{"k": [1, null]}'):
        page.keyboard.press("Tab")
        for at, line in enumerate(typed.split("\n")):
            if at:
                page.keyboard.press("Enter")
            page.keyboard.type(line)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Answer"
    page.keyboard.press("Enter")
    page.get_by_text("The answer is taken").wait_for()
    assert settled(desk, card) == {
        "approved": True,
        "level": "high",
        "tags": ["a", "b"],
        "count": BIG,
        "ratio": 2.5,
        "note": "fine, and <b>bold</b>",
        "extra": {"k": [1, None]},
    }
    page.reload()
    assert page.get_by_text("Nobody is waited for.").is_visible()
    assert desk.noise == []


def test_an_answer_that_does_not_fit_is_told_at_its_field_and_nothing_typed_is_lost(desk: Desk) -> None:
    card = desk.yard.make("x")
    desk.yard.settled()
    page = desk.open()
    page.get_by_label("level").select_option("low")
    page.get_by_label("count").fill("1")
    page.get_by_label("ratio").fill("1")
    page.get_by_label("note").fill("n")
    page.get_by_label("extra").fill("{broken")
    page.get_by_role("button", name="Answer").click()
    assert "no JSON" in page.get_by_role("alert").inner_text()
    assert page.evaluate("document.activeElement.name") == "extra"
    page.get_by_label("extra").fill("{}")
    page.get_by_label("count").fill("99999999999999999999")
    page.get_by_role("button", name="Answer").click()
    page.locator(".problem", has_text="count").wait_for()
    assert page.get_by_label("count").get_attribute("aria-invalid") == "true"
    assert (page.get_by_label("note").input_value(), desk.yard.column(card)) == ("n", "awaiting_input")
    page.get_by_label("count").fill("3")
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("The answer is taken").wait_for()
    assert settled(desk, card)["count"] == 3


def test_the_page_becomes_fresh_without_taking_away_what_somebody_types(desk: Desk) -> None:
    desk.yard.make("first")
    desk.yard.settled()
    page = desk.open()
    page.get_by_label("note").fill("half a senten")
    desk.yard.make("second", bot="nobody")
    desk.yard.settled()
    page.evaluate("refresh()")
    page.locator("#idle").get_by_text("Bot nobody does not exist").wait_for()
    assert page.get_by_label("note").input_value() == "half a senten"
    desk.yard.make("third")
    desk.yard.settled()
    page.get_by_label("note").blur()
    page.evaluate("document.querySelector('form').reset(), delete document.querySelector('form').dataset.touched")
    page.evaluate("refresh()")
    page.locator("#waiting").get_by_text("third", exact=False).first.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1400])
def test_no_fault_of_accessibility_is_found_on_any_page(desk: Desk, scheme: str, width: int) -> None:
    """Labels, landmarks, headings, names, contrast, sizes, no sideways scrolling."""
    yard = desk.yard
    yard.make(
        "asks something that takes a long, long, long title and some more words", labels=("a", "b"), assignee="ana"
    )
    yard.settled()
    yard.bot(waits(yard.folder), "slow")
    yard.make("works", bot="slow")
    yard.make("late", not_before="2999-01-01 00:00 UTC", body="text\n" * 3)
    yard.make("lost", bot="nobody")
    yard.make("Unbroken" * 20, column="inbox")
    yard.board.comment(yard.board.resolve("1"), "A comment", PERSON)
    yard.tick(wait=False)
    yard.until("started")
    yard.tick(wait=False)
    for path in ("/", "/cards/1", "/cards/2"):
        page = desk.open(path, scheme, width=width, height=900)
        for details in page.locator("summary").all():
            details.click()
        assert faults(page) == [], path
        page.context.close()
    assert desk.noise == []


def test_everything_can_be_reached_with_the_tab_key_and_the_focus_is_seen(desk: Desk) -> None:
    desk.yard.make("asks")
    desk.yard.settled()
    page = desk.open(**DESK)
    wanted = page.evaluate(
        "[...document.querySelectorAll('a[href],button,input:not([type=hidden]),select,textarea')].length"
    )
    seen = set()
    for _ in range(wanted + 5):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("[...document.querySelectorAll('body *')].indexOf(document.activeElement)"))
        ring = "document.activeElement === document.body || getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(ring) != "none"
    assert len(seen - {-1}) >= wanted
    page.keyboard.press("Home")
    page.get_by_role("link", name="Skip to the content").press("Enter")
    assert page.url.endswith("#main")


def test_what_people_write_is_text_and_never_a_script(desk: Desk) -> None:
    desk.yard.make(
        "<img src=x onerror=alert(1)> </script><script>alert(2)</script>",
        labels=("<b>x</b>",),
        url="javascript:alert(3)",
    )
    desk.yard.settled()
    page = desk.open()
    assert page.locator("img, b > script").count() == 0
    assert page.get_by_role("heading", name=re.compile("onerror=alert")).first.is_visible()
    page = desk.open("/cards/1")
    assert page.get_by_role("heading", level=1).inner_text().startswith("#1 <img src=x")
    assert page.get_by_text("javascript:alert(3)").is_visible()
    assert page.locator("a[href^='javascript:']").count() == 0
    assert desk.noise == []


def test_a_fact_of_a_question_that_is_empty_is_said_to_be_empty(desk: Desk) -> None:
    desk.yard.bot(FORM.replace("vars:\n", 'vars:\n  hint: string = ""\n', 1).replace("go on?", "go on? {{vars.hint}}"))
    desk.yard.make("the release")
    desk.yard.settled()
    facts = desk.open().locator("form .facts").first.locator("dt, dd").all_inner_texts()
    assert dict(zip(facts[::2], facts[1::2], strict=True)) == {"hint": "(empty)", "title": "the release"}


def test_cards_are_moved_and_talked_about_and_pick_up_is_switched_from_the_pages(desk: Desk) -> None:
    yard = desk.yard
    card = yard.make("Take me", column="inbox")
    page = desk.open("/cards/1", **DESK)
    page.get_by_label("To column").select_option(label="Backlog")
    page.get_by_label("Reason").fill("later")
    page.get_by_role("button", name="Move").click()
    page.get_by_text("The card is moved.").wait_for()
    page.get_by_label("To column").get_by_text("Inbox").wait_for(state="attached")
    page.get_by_label("To column").select_option(label="Inbox")
    page.get_by_role("button", name="Move").click()
    page.locator(".state", has_text="Inbox").wait_for()
    page.get_by_label("To column").get_by_text("Backlog").wait_for(state="attached")
    page.get_by_label("To column").select_option(label="Backlog")
    page.get_by_role("button", name="Move").click()
    page.locator(".state", has_text="Backlog").wait_for()
    page.get_by_label("New comment").fill("Look at this")
    page.get_by_role("button", name="Comment").click()
    page.get_by_text("The comment is added.").wait_for()
    page.get_by_text("Look at this").wait_for()
    assert yard.column(card) == "backlog"
    assert [comment.text for comment in yard.comments(card)] == ["Look at this"]
    assert next(event.data.get("reason") for event in yard.board.history(card) if event.type == "card_moved") == "later"
    page.get_by_role("navigation", name="Where").get_by_role("link").click()
    page.get_by_role("button", name="Pause pick-up").click()
    page.get_by_text("Pick-up is paused.").wait_for()
    yard.tick()
    page.evaluate("refresh(true)")
    page.get_by_role("button", name="Resume pick-up").wait_for()
    assert yard.daemon.state()["desired"]["state"] == "paused"  # type: ignore[index]


def test_a_run_is_cancelled_from_the_page_after_a_question(desk: Desk) -> None:
    yard = desk.yard
    yard.bot(waits(yard.folder))
    card = yard.make("works")
    yard.tick(wait=False)
    yard.until("started")
    yard.tick(wait=False)
    page = desk.open()
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Cancel the run of card 1").click()
    assert yard.run(card).status == "running"
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Cancel the run of card 1").click()
    page.get_by_text("The run of card 1 is cancelled.").wait_for()
    yard.join()
    yard.tick()
    assert (yard.run(card).status, yard.column(card)) == ("cancelled", "backlog")


def test_a_browser_signs_in_with_the_token_once(yard: Yard, browser: Browser) -> None:
    """The token is asked for by a page; a wrong one is refused; what was given holds for the next pages."""
    yard.tick()
    desk = Desk(yard, browser, token="s3cret")
    try:
        page = desk.open(**DESK)
        assert faults(page) == []
        page.get_by_role("textbox").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("This is not the token.").wait_for()
        page.get_by_role("textbox").fill("s3cret")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="yard").wait_for()
        page.goto(f"{desk.address}/cards/9")
        page.get_by_role("heading", name="That did not work").wait_for()
        assert faults(page) == []
        page.goto(desk.address)
        assert page.get_by_text("Nobody is waited for.").is_visible()
        cookies = page.context.cookies()
        assert [(each["httpOnly"], each["sameSite"]) for each in cookies] == [(True, "Strict")]
        assert "s3cret" not in cookies[0]["value"]
        with httpx.Client(base_url=desk.address, trust_env=False) as client:
            assert client.get("/", headers={"Accept": "text/html"}).status_code == 401
            assert client.get("/api/cards").json()["error"]["code"] == "unauthorized"
            cookie = {"Cookie": f"pointsman_session={cookies[0]['value']}"}
            assert client.get("/api/cards", headers=cookie).status_code == 200
            forged = {"Cookie": f"pointsman_session={'9' * 10}.{'0' * 64}"}
            assert client.get("/api/cards", headers=forged).status_code == 401
            page.context.clear_cookies()
            page.evaluate("refresh()")
            page.get_by_text("Your sign-in has ended.").wait_for()
            abroad = {**cookie, "Origin": "https://evil.example"}
            assert client.post("/api/dispatcher/pause", headers=abroad, json={}).status_code == 403
    finally:
        desk.close()


def test_files_are_given_to_a_question_on_the_page(desk: Desk, tmp_path: Path) -> None:
    """A typed file field takes one, and others come beside it; both arrive as files of the run."""
    desk.yard.bot(
        FORM.replace("  approved: bool\n", "  approved: bool\n  paper: file\n").replace("  extra: json\n", "")
    )
    (tmp_path / "paper.txt").write_text("signed")
    (tmp_path / "photo.bin").write_bytes(bytes(range(256)))
    card = desk.yard.make("the contract")
    desk.yard.settled()
    page = desk.open()
    page.get_by_label("level").select_option("low")
    for name, text in (("count", "1"), ("ratio", "2"), ("note", "n")):
        page.get_by_label(name).fill(text)
    page.get_by_label("paper").set_input_files(tmp_path / "paper.txt")
    page.get_by_text("Add files").click()
    page.get_by_label("Files").set_input_files([tmp_path / "photo.bin", tmp_path / "paper.txt"])
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("The answer is taken").wait_for()
    taken = settled(desk, card)
    assert Path(taken["paper"]["path"]).read_text() == "signed"
    assert [Path(each["path"]).read_bytes() for each in taken["_attachments"]] == [bytes(range(256)), b"signed"]
    assert desk.noise == []
