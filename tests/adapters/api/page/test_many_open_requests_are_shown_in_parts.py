"""More open Requests than one page holds: it says which it shows, leads to the others, and stays what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

import pytest
from axe_playwright_python.sync_playwright import Axe
from httpx import Client
from playwright.sync_api import expect
from tests.adapters.api.conftest import CONFIGURATION, World, opened, served
from tests.adapters.api.page import browser as browsers
from tests.adapters.api.page.world import Told

from oncemore.adapters.api.page import overview
from oncemore.engine import intake
from oncemore.engine.tables import Request, Session, database

OPEN = 250


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, str]]:
    """A service with so many open Requests, of which each third is held."""
    with opened(tmp_path_factory.mktemp("crowd"), CONFIGURATION) as world, served(world.service) as address:
        world.ask("question 0")
        journal, first = world.service.house.journal, Session.get()
        like = dict(first.__data__)
        with journal.transaction():
            for number in range(1, OPEN):
                session = f"s-{number:04d}"
                Session.insert(**{**like, "id": session, "conversation": f"c-{number}"}).execute()
                text = f"question {number}"
                request = intake.accept(journal, session, intake.Arrival(message=text, sender="ann", text=text))
                if number % 3 == 0:
                    held = {"held": "its answer could not be delivered", "due_at": None}
                    Request.update(**held).where(Request.id == request).execute()
        yield world, address


@pytest.fixture(params=["en", "zh"])
def reader(request: pytest.FixtureRequest, crowded: tuple[World, str]) -> Iterator[tuple[Client, str]]:
    world, address = crowded
    headers = {"accept-language": {"en": "en-GB", "zh": "zh-CN"}[request.param]}
    with Client(base_url=address, trust_env=False, timeout=60, headers=headers) as made:
        token = re.search(r'name="token" value="([0-9a-f]{64})"', made.get("/login").text)
        assert token is not None
        made.post("/login", data={"key": world.tokens["all"], "token": token[1], "next": "/"})
        yield made, request.param


PARTS = {
    "en": ["1 to 100 of 250 open", "101 to 200 of 250 open", "201 to 250 of 250 open"],
    "zh": ["共 250 个未结请求，本页为第 1 至 100 个", "第 101 至 200 个", "第 201 至 250 个"],
}


def listed(page: str) -> list[str]:
    return re.findall(r'id="r-(r-[0-9a-f]+)"', page)


def test_each_open_request_stands_on_one_page_and_each_page_says_which_it_shows(reader: tuple[Client, str]) -> None:
    client, lang = reader
    seen: list[str] = []
    address: str | None = "/"
    for part in PARTS[lang]:
        assert address is not None
        page = client.get(address).text
        assert part in page
        seen += listed(page)
        tally = [int(count) for count in re.findall(r"<strong>(\d+)</strong> <span>", page)]
        assert sum(tally) == len(listed(page))
        following = re.search(r'rel="next" href="([^"]+)"', page)
        address = following[1] if following else None
    assert address is None
    assert len(seen) == len(set(seen)) == OPEN


def test_those_for_a_person_come_first(reader: tuple[Client, str]) -> None:
    client, _ = reader
    first = set(listed(client.get("/").text))
    held = {row.id for row in Request.select(Request.id).where(Request.held.is_null(False))}
    assert len(held) == 83
    assert held < first


@pytest.mark.parametrize("asked", ["0", "-1", "x", "1e3", "9" * 30, "\u0664", ""])
def test_a_page_that_is_none_is_the_first_and_one_past_the_last_is_the_last(
    reader: tuple[Client, str], asked: str
) -> None:
    client, lang = reader
    assert PARTS[lang][0] in client.get("/", params={"page": asked}).text
    assert PARTS[lang][-1] in client.get("/", params={"page": "999999"}).text


def test_what_follows_by_itself_and_the_other_language_stay_on_the_page(reader: tuple[Client, str]) -> None:
    client, lang = reader
    page = client.get("/?page=2").text
    again = re.search(r'data-hx-get="([^"]+)"', page)
    other = re.search(r'class="language" href="([^"]+)"', page)
    assert again is not None and other is not None
    polled, asked = again[1].replace("&amp;", "&"), {"hx-request": "true"}
    assert PARTS[lang][1] in client.get(polled.replace("seen=", "seen=x"), headers=asked).text
    assert client.get(polled, headers=asked).status_code == 204
    assert PARTS["zh" if lang == "en" else "en"][1] in client.get("/" + other[1].replace("&amp;", "&")).text


def test_a_page_asks_the_journal_no_more_the_more_is_open(
    crowded: tuple[World, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, _ = crowded
    said: list[str] = []
    execute = database.obj.execute_sql

    def counted(sql: str, *more: object) -> object:
        said.append(sql)
        return execute(sql, *more)

    monkeypatch.setattr(database.obj, "execute_sql", counted)
    found = overview.overview(world.service.rules.published, "en", world.clock.ms, 3)
    lines = [line for _, lines in found["groups"] for line in lines]
    assert len(lines) == 50
    assert len(said) < 8 * len(lines)


@pytest.mark.parametrize(("lang", "width"), [("en", 1440), ("zh", 390)])
def test_the_parts_are_open_to_everybody_and_worked_by_keyboard(
    crowded: tuple[World, str], lang: str, width: int
) -> None:
    world, address = crowded
    with browsers.chromium() as browser:
        stage = browsers.Served(cast(Told, None), world.service, address)
        with browsers.window(browser, stage, width=width, lang=lang, bypass_csp=True) as w:
            page = w.come_in(world.tokens["all"])
            assert Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"] == []
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            page.locator("#to-next").focus()
            page.keyboard.press("Enter")
            page.wait_for_url("**/?page=2")
            expect(page.locator(".part")).to_contain_text(PARTS[lang][1])
            assert w.complaints == [] and w.elsewhere == []
