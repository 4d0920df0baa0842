"""What a policy only advises is acted on with one key; the breaker is opened and closed with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.adapters.api.page.browser import Served, window
from tests.adapters.api.page.conftest import decision_of, served_apart
from tests.adapters.api.page.world import Told

from oncemore.engine.allowance_tables import Advice, BreakerChange
from oncemore.engine.tables import Delivery, Request


@pytest.fixture
def served(world: Told, tmp_path: Path) -> Iterator[Served]:
    """For each test a service of its own: what one decides would be decided for the next."""
    with served_apart(world, tmp_path / "world") as made:
        yield made


def _taken(served: Served) -> tuple[str, str, str, bool]:
    with served.service.house.journal.connected():
        row = Advice.get(Advice.request == served.told.requests["plans"])
        due = Request.get_by_id(served.told.requests["plans"]).due_at
    return row.state, row.who, row.why, due is not None


def test_one_key_acts_from_the_overview(browser: Browser, served: Served) -> None:
    with window(browser, served) as w:
        page = w.come_in(served.key("read", "act"))
        expect(page.locator("button[accesskey]")).to_have_count(1)
        w.one_key("a")
        page.wait_for_url("**?done=acted")
        assert _taken(served) == ("taken", "key key-read-act", "As advised.", True)
        assert page.locator(".advice").count() == 0
        assert "An operator acted on the advice" in (page.locator(".timeline").text_content() or "")
        assert w.complaints == []


def test_a_reason_of_ones_own_from_the_decision(browser: Browser, served: Served) -> None:
    with window(browser, served, lang="zh", width=390) as w:
        w.come_in(served.key("read", "act"))
        page = w.open(f"/decisions/{decision_of(served, 'plans', 'fire')}")
        page.fill(".advice input[name='why']", "安想要这份计划。")
        page.press(".advice input[name='why']", "Enter")
        page.wait_for_url("**?done=acted")
        assert _taken(served)[2:] == ("安想要这份计划。", True)


def test_advice_that_somebody_else_took_is_not_taken_twice(browser: Browser, served: Served) -> None:
    with window(browser, served) as first, window(browser, served) as second:
        first.come_in(served.key("read", "act"))
        page = second.come_in(served.key("read", "act"))
        page = second.open(f"/requests/{served.told.requests['plans']}")
        first.one_key("a")
        first.page.wait_for_url("**?done=acted")
        page.fill(".advice input[name='why']", "Too late.")
        page.press(".advice input[name='why']", "Enter")
        expect(page.locator(".wrong")).to_contain_text("It was not acted on.")
        assert _taken(served)[2] == "As advised."


def test_who_may_only_read_sees_the_advice_and_no_key(browser: Browser, served: Served) -> None:
    with window(browser, served) as w:
        page = w.come_in(served.key("read"))
        expect(page.locator(".row.advised")).to_have_count(1)
        assert page.locator("[accesskey]").count() == 0
        w.one_key("a")
        assert _taken(served)[0] == "waiting"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_was_seen_of_an_uncertain_reply_is_asked_for(browser: Browser, served: Served, lang: str) -> None:
    request = served.told.requests["drafts"]
    with window(browser, served, lang=lang) as w:
        w.come_in(served.key("read", "act"))
        page = w.open(f"/requests/{request}")
        choices = page.locator("input[name='saw']")
        assert [choices.nth(place).input_value() for place in range(3)] == ["delivered", "not-delivered", ""]
        assert page.is_checked("input[name='saw'][value='']")
        assert page.locator("html").get_attribute("lang") == {"en": "en", "zh": "zh-Hans"}[lang]


def test_an_uncertain_reply_that_somebody_saw_is_settled(browser: Browser, served: Served) -> None:
    request = served.told.requests["drafts"]
    with window(browser, served) as w:
        w.come_in(served.key("read", "act"))
        page = w.open(f"/requests/{request}")
        page.check("input[name='saw'][value='delivered']")
        page.check("input[name='close']")
        page.fill("#release-why", "It stands in the conversation.")
        page.click("form[action$='/release'] button")
        page.wait_for_url("**?done=closed")
        assert page.locator("form[action^='/requests/']").count() == 0
        with served.service.house.journal.connected():
            assert Delivery.get(Delivery.request == request).state == "verified"
            assert Request.get_by_id(request).state == "answered"


def test_the_breaker_is_opened_seen_and_closed(browser: Browser, served: Served) -> None:
    with window(browser, served) as w:
        w.come_in(served.key("read", "admin"))
        page = w.open("/levels")
        page.fill("#breaker-why", "The route is being repaired.")
        page.click("form[action='/breaker'] button")
        page.wait_for_url("**?done=opened")
        page = w.open("/")
        expect(page.locator("#live .wrong")).to_contain_text("The route is being repaired.")
        page.click("#to-breaker")
        page.fill("#breaker-why", "It is repaired.")
        page.click("form[action='/breaker'] button")
        page.wait_for_url("**?done=shut")
        w.open("/")
        expect(page.locator("#live .wrong")).to_have_count(0)
        assert w.complaints == []
    with served.service.house.journal.connected():
        changes = [(row.state, row.who, row.why) for row in BreakerChange.select().order_by(BreakerChange.id)]
    who = "key key-read-admin"
    assert changes == [("open", who, "The route is being repaired."), ("closed", who, "It is repaired.")]
