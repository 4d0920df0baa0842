"""Everything on the page is reached and done with the keyboard, and where one stands is seen."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page
from tests.adapters.api.page.browser import Served, window
from tests.adapters.api.page.conftest import decision_of

TABS = 120
"""More than any page has stops."""


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_from_the_key_to_a_release(browser: Browser, served: Served, lang: str, width: int) -> None:
    request = served.told.requests["letters"]
    with window(browser, served, width=width, lang=lang) as w:
        page = w.open("/login")
        _tab_to(page, "#key")
        page.keyboard.type(served.key("read", "act"))
        page.keyboard.press("Enter")
        page.wait_for_url(served.address + "/")
        _tab_to(page, f"#r-{request}")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/requests/{request}")
        _tab_to(page, "#release-why")
        page.keyboard.type("Ann put the message back.")
        _tab_to(page, "form[action$='/release'] button")
        page.keyboard.press("Enter")
        page.wait_for_url("**?done=released")
        assert page.locator(".notice").text_content()
        assert w.complaints == []


def test_the_first_stop_leads_past_the_frame(browser: Browser, served: Served) -> None:
    with window(browser, served) as w:
        w.come_in(served.key("read", "act"))
        page = w.open("/policies")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_every_stop_is_seen(browser: Browser, served: Served) -> None:
    with window(browser, served) as w:
        w.come_in(served.key("read", "act"))
        page = w.open("/")
        stops = []
        for _ in range(TABS):
            page.keyboard.press("Tab")
            stop = page.evaluate(
                "(() => { const e = document.activeElement; if (e === document.body) return null;"
                " const s = getComputedStyle(e), r = e.getBoundingClientRect();"
                " return {outline: s.outlineStyle, width: s.outlineWidth, height: r.height}; })()"
            )
            if stop is None:
                break
            stops.append(stop)
        assert len(stops) > 10
        assert {stop["outline"] for stop in stops} == {"solid"}
        assert all(stop["height"] > 0 for stop in stops)


def test_a_gate_opens_and_closes(browser: Browser, served: Served) -> None:
    with window(browser, served) as w:
        w.come_in(served.key("read", "act"))
        page = w.open(f"/decisions/{decision_of(served, 'letters', 'hold')}")
        gate = page.locator(".gate.pass details").first
        _tab_to(page, ".gate.pass summary")
        assert gate.get_attribute("open") is None
        page.keyboard.press("Enter")
        assert gate.get_attribute("open") is not None
        assert gate.locator(".operands").is_visible()


def test_no_single_letter_does_anything(browser: Browser, served: Served) -> None:
    """Assistive technology and people who dictate have the letters for themselves."""
    with window(browser, served) as w:
        w.come_in(served.key("read", "act"))
        page = w.open("/")
        before = page.content()
        for letter in "abcdefghijklmnopqrstuvwxyz?/":
            page.keyboard.press(letter)
        assert page.url == served.address + "/"
        assert page.content() == before


def _tab_to(page: Page, selector: str) -> None:
    """Press Tab until something is reached."""
    for _ in range(TABS):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"no Tab leads to {selector}")
