"""The page follows what happens without being asked, leaves alone what somebody is at, and says when it cannot."""

from __future__ import annotations

from playwright.sync_api import Browser, expect
from tests.adapters.api.page.browser import Served, window

from oncemore.engine import intake


def test_what_another_operator_stops_disappears(browser: Browser, served: Served) -> None:
    request = served.told.requests["tables"]
    with window(browser, served) as w:
        w.come_in(served.key("read"))
        row = w.page.locator(f"#r-{request}")
        expect(row).to_be_visible()
        held = w.page.locator(f"#r-{served.told.requests['letters']}")
        held.focus()
        with served.service.house.journal.connected():
            intake.stop(served.service.house.journal, request, "operator", "Elsewhere.")
        expect(row).to_have_count(0, timeout=15_000)
        expect(held).to_be_focused()
        assert w.complaints == []


def test_what_did_not_change_is_not_sent_again(browser: Browser, served: Served) -> None:
    with window(browser, served) as w:
        w.come_in(served.key("read"))
        page = w.open(f"/requests/{served.told.requests['slides']}")
        page.locator("details.rest summary").first.click()
        with page.expect_response(lambda answer: "seen=" in answer.url) as asked:
            pass
        assert asked.value.status == 204
        assert page.locator("details.rest").first.get_attribute("open") is not None


def test_a_service_that_does_not_answer_is_told_of(browser: Browser, served: Served) -> None:
    with window(browser, served) as w:
        page = w.come_in(served.key("read"))
        told = page.locator(".lost")
        expect(told).to_be_empty()
        page.route("**/?seen=*", lambda route: route.abort())
        expect(told).not_to_be_empty(timeout=15_000)
        page.unroute("**/?seen=*")
        expect(told).to_be_empty(timeout=15_000)


def test_a_session_that_is_over_leads_to_the_door(browser: Browser, served: Served) -> None:
    with window(browser, served) as w:
        page = w.come_in(served.key("read"))
        w.context.clear_cookies()
        page.wait_for_url("**/login", timeout=15_000)
