"""A real browser, driven as a person would: keyboard, clicks, a narrow window. Chromium of the system, no download."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-gpu",
    "--disable-quic",
    "--no-proxy-server",
)
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1400, "height": 900}


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; the test is skipped, aloud, where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: the pages were NOT tested")
    if program is None:
        pytest.skip("chromium is not installed: the pages were NOT tested in a browser")
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def faults(page: Page) -> list[str]:
    """What a checker of accessibility would report of the page as it is now, one sentence each."""
    found: list[Any] = page.evaluate(_FAULTS)
    return [str(each) for each in found]


_FAULTS = r"""() => {
  const found = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const seen = (each) => each.checkVisibility({ checkVisibilityCSS: true });
  const words = (each) => (each.textContent || each.name || "").trim().slice(0, 40);
  const about = (each) => `${each.tagName.toLowerCase()} "${words(each)}"`;
  if (!document.documentElement.lang) found.push("the page names no language");
  if (!document.title.trim()) found.push("the page has no title");
  if (all("h1").length !== 1) found.push(`the page has ${all("h1").length} first headings`);
  for (const what of ["main", "header"]) if (all(what).length !== 1) found.push(`${all(what).length} times ${what}`);
  let level = 0;
  for (const heading of all("h1,h2,h3,h4,h5,h6")) {
    const now = Number(heading.tagName[1]);
    if (now > level + 1) found.push(`heading ${about(heading)} skips a level`);
    level = now;
  }
  const ids = all("[id]").map((each) => each.id);
  for (const id of new Set(ids)) {
    if (ids.filter((each) => each === id).length > 1) found.push(`the id ${id} is used twice`);
  }
  for (const each of all("[aria-labelledby],[aria-describedby],label[for]"))
    for (const name of ["aria-labelledby", "aria-describedby", "for"])
      for (const id of (each.getAttribute(name) || "").split(/\s+/).filter(Boolean))
        if (!document.getElementById(id)) found.push(`${about(each)} refers to ${id}, which is not there`);
  for (const control of all("input:not([type=hidden]),select,textarea")) {
    const label = [...(control.labels || [])].map((each) => each.textContent.trim()).join(" ");
    if (!label && !control.getAttribute("aria-label")) found.push(`${control.name} has no label`);
  }
  for (const each of all("button,a[href],summary")) {
    const name = each.textContent.trim() || each.getAttribute("aria-label");
    if (!name) found.push(`${about(each)} has no name`);
  }
  for (const each of all("nav:not([aria-label]):not([aria-labelledby])")) found.push(`${about(each)} has no name`);
  for (const each of all("img:not([alt])")) found.push("an image has no text");
  for (const each of all("[tabindex]")) if (each.tabIndex > 0) found.push(`${about(each)} changes the order of tabs`);
  for (const each of all("button,input[type=checkbox],select,summary").filter(seen)) {
    const box = each.getBoundingClientRect();
    if (box.height < 22 || box.width < 22) found.push(`${about(each)} is too small: ${box.width} x ${box.height}`);
  }
  if (document.documentElement.scrollWidth > window.innerWidth) found.push("the page is wider than its window");
  const parse = (text) => {
    const numbers = text.match(/[\d.]+/g).map(Number);
    return numbers.length < 4 ? [...numbers, 1] : numbers;
  };
  const light = ([r, g, b]) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [x, y, z] = [r, g, b].map((value) => linear(value / 255));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = (each) => {
    for (let at = each; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0.99) return colour;
    }
    return [255, 255, 255, 1];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const told = new Set();
  while (walker.nextNode()) {
    const each = walker.currentNode.parentElement;
    const silent = !walker.currentNode.data.trim() || each.closest("script,noscript,option,[disabled]");
    if (silent || !seen(each) || told.has(each)) continue;
    told.add(each);
    const ink = light(parse(getComputedStyle(each).color));
    const [a, b] = [ink, light(ground(each))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) found.push(`${about(each)} has a contrast of ${contrast.toFixed(2)}`);
  }
  return found;
}"""
