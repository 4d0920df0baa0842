"""Every page, in English and Chinese, on a wide and on a narrow screen: whole, quiet, and open to everybody."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page
from tests.adapters.api.page.browser import Served, Window, window
from tests.adapters.api.page.conftest import decision_of

AXE = Axe()
VIOLATIONS = {"resultTypes": ["violations"]}
KINDS = ("login", "overview", "held", "hostile", "holds", "policies", "policy", "levels", "missing")

MOVES = """
window.moved = 0;
new PerformanceObserver((list) => list.getEntries().forEach((one) => { window.moved += one.value; }))
  .observe({type: "layout-shift", buffered: true});
"""


def address(served: Served, kind: str) -> str:
    requests = served.told.requests
    return {
        "login": "/login",
        "overview": "/",
        "held": f"/requests/{requests['letters']}",
        "hostile": f"/requests/{requests['slides']}",
        "holds": f"/decisions/{decision_of(served, 'letters', 'hold')}",
        "policies": "/policies",
        "policy": "/policies/continue-unfinished-work",
        "levels": "/levels",
        "missing": "/requests/r-000000000000",
    }[kind]


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_page_is_whole_and_quiet(browser: Browser, served: Served, lang: str, width: int) -> None:
    with window(browser, served, width=width, lang=lang, bypass_csp=True) as w:
        wrong = {kind: found for kind in KINDS if (found := _wrong(w, served, kind, lang))}
        assert wrong == {}
        assert w.elsewhere == []


def test_it_is_as_open_in_the_dark(browser: Browser, served: Served) -> None:
    with window(browser, served, width=390, bypass_csp=True, color_scheme="dark") as w:
        w.come_in(served.key("read", "act", "admin"))
        dark = {"runOnly": ["color-contrast"], "resultTypes": ["violations"]}
        assert {kind: found for kind in KINDS[1:] if (found := _violations(w.open(address(served, kind)), dark))} == {}
        assert w.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 21, 23)"


def test_the_browser_keeps_to_the_strict_policy_without_a_word(browser: Browser, served: Served) -> None:
    with window(browser, served) as w:
        w.come_in(served.key("read", "act", "admin"))
        for kind in KINDS[1:-1]:
            answer = w.page.goto(served.address + address(served, kind))
            assert answer is not None
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
            assert "unsafe" not in policy
            assert w.page.evaluate("typeof htmx.version") == "string"
            assert w.page.locator("[style], style, script:not([src])").count() == 0
        assert w.complaints == []


def test_nothing_moves_while_a_page_comes_up(browser: Browser, served: Served) -> None:
    with window(browser, served, width=390) as w:
        w.come_in(served.key("read", "act", "admin"))
        w.page.add_init_script(MOVES)
        for kind in ("overview", "held", "holds", "policies"):
            w.open(address(served, kind))
            assert w.page.evaluate("window.moved") == 0, kind


def _wrong(w: Window, served: Served, kind: str, lang: str) -> list[str]:
    """What is wrong with a page."""
    if kind == "overview":
        w.come_in(served.key("read", "act", "admin"))
    w.complaints.clear()
    page = w.open(address(served, kind))
    found = _violations(page)
    if page.locator("html").get_attribute("lang") != {"en": "en", "zh": "zh-Hans"}[lang]:
        found.append("it is in another language")
    if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        found.append("it is wider than the screen")
    if page.locator("h1").count() != 1 or page.locator("main").count() != 1:
        found.append("it has other than one heading and one main part")
    # Of a page that is not there, the browser itself says so.
    return found + (w.complaints if kind != "missing" else [])


def _violations(page: Page, options: dict[str, Any] = VIOLATIONS) -> list[str]:
    results: dict[str, Any] = AXE.run(page, options=options).response
    return [f"{one['id']}: {[node['html'][:120] for node in one['nodes']]}" for one in results["violations"]]
