"""What people and models wrote is shown and does nothing: no markup, no script, no turned direction, no broken page."""

from __future__ import annotations

from playwright.sync_api import Browser
from tests.adapters.api.page.browser import Served, window
from tests.adapters.api.page.world import HOSTILE


def test_a_hostile_message_and_answer_are_texts(browser: Browser, served: Served) -> None:
    request = served.told.requests["slides"]
    with window(browser, served, width=390) as w:
        page = w.come_in(served.key("read"))
        page = w.open(f"/requests/{request}")
        assert page.title() == f"{request} · Oncemore"
        quotes = page.locator("details blockquote.words")
        assert quotes.count() == 2
        for place in range(2):
            text = quotes.nth(place).text_content() or ""
            assert text.startswith("<script>document.title = 'taken'</script><img src=x onerror=")
            assert "{{ 7 * 7 }}" in text and "W" * 3_000 in text
            assert quotes.nth(place).locator("*:not(span.acts)").count() == 0
        assert page.locator("main h1").count() == 1
        assert page.locator("main img, main script").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert w.complaints == [] and w.elsewhere == []


def test_what_would_turn_the_direction_is_written_as_its_number(browser: Browser, served: Served) -> None:
    acting = {f"U+{ord(char):04X}" for char in HOSTILE if char in "\u202e\u2066\u2069\u0007\u001b\u200b"}
    with window(browser, served) as w:
        w.come_in(served.key("read"))
        page = w.open(f"/requests/{served.told.requests['slides']}")
        assert acting <= set(page.locator(".acts").all_text_contents())
        shown = page.locator("main").text_content() or ""
        assert not set(shown) & set("\u202e\u2066\u2069\u0007\u001b\u200b")


def test_a_hostile_reason_is_a_text_too(browser: Browser, served: Served) -> None:
    request = served.told.requests["tables"]
    with window(browser, served) as w:
        w.come_in(served.key("read", "act"))
        page = w.open(f"/requests/{request}")
        page.fill("#stop-why", HOSTILE[:190])
        page.click("form[action$='/stop'] button")
        page.wait_for_url("**?done=stopped")
        assert "<img src=x" in (page.locator(".moment.failed blockquote").last.text_content() or "")
        assert page.title() == f"{request} · Oncemore"
        assert w.complaints == []


def test_what_was_typed_into_a_refused_form_is_still_there_and_nothing_more(browser: Browser, served: Served) -> None:
    typed = "</textarea><script>document.title = 'taken'</script>"
    with window(browser, served) as w:
        w.come_in(served.key("read", "admin"))
        page = w.open("/policies/retry-route")
        page.fill("#why", typed)
        page.check("input[value='off']")
        page.evaluate("document.querySelector('input[value=off]').value = 'no such level'")
        page.click("form[action$='/level'] button")
        assert "The level was not changed." in (page.locator(".wrong").text_content() or "")
        assert page.input_value("#why") == typed
        assert page.title() == "retry-route · Oncemore"
        assert page.locator("main script").count() == 0
