"""Without JavaScript they are plain pages, and everything on them can be done."""

from __future__ import annotations

from playwright.sync_api import Browser
from tests.adapters.api.page.browser import Served, window
from tests.adapters.api.page.conftest import decision_of


def test_a_request_is_found_read_and_stopped(browser: Browser, served: Served) -> None:
    request = served.told.requests["notes"]
    with window(browser, served, java_script_enabled=False) as w:
        page = w.come_in(served.key("read", "act", "admin"))
        page.click(f"#r-{request}")
        assert "请写第三季度的总结" in (page.locator(".message blockquote").text_content() or "")
        page.fill("#stop-why", "No longer wanted.")
        page.click("form[action$='/stop'] button")
        assert page.url.endswith(f"/requests/{request}?done=stopped")
        assert page.locator(".badge.stopped").count() == 1
        assert "No longer wanted." in (page.locator(".timeline").text_content() or "")


def test_a_decision_is_unfolded(browser: Browser, served: Served) -> None:
    with window(browser, served, java_script_enabled=False) as w:
        w.come_in(served.key("read"))
        page = w.open(f"/decisions/{decision_of(served, 'letters', 'hold')}")
        assert page.locator(".gate.fail details").first.get_attribute("open") is not None
        assert "recalled" in (page.locator(".gate.decides").text_content() or "")
        page.locator(".gate.pass summary").first.click()
        assert page.locator(".gate.pass .operands").first.is_visible()


def test_a_level_is_changed_and_the_language_too(browser: Browser, served: Served) -> None:
    with window(browser, served, java_script_enabled=False) as w:
        w.come_in(served.key("read", "act", "admin"))
        page = w.open("/policies/retry-route")
        page.check("input[value='enforce']")
        page.select_option("#lasts", "8h")
        page.fill("#why", "The week of watching is over.")
        page.click("form[action$='/level'] button")
        assert page.locator(".first .badge.level.enforce").count() == 1
        page.click(".language")
        assert page.locator("html").get_attribute("lang") == "zh-Hans"
        assert page.locator("h1").text_content() == "retry-route"
        page.click("nav a[href='/levels']")
        assert "The week of watching is over." in (page.locator("main").text_content() or "")
        assert page.locator("html").get_attribute("lang") == "zh-Hans"


def test_somebody_leaves(browser: Browser, served: Served) -> None:
    with window(browser, served, java_script_enabled=False) as w:
        page = w.come_in(served.key("read"))
        page.click("form[action='/logout'] button")
        assert page.url == served.address + "/login"
        w.open("/")
        assert page.url == served.address + "/login"
