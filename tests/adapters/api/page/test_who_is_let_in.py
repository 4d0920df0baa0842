"""Only who has a key that may read sees anything, and only what the key is for is there and can be done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from httpx import Client
from tests.adapters.api.conftest import served as serving
from tests.adapters.api.page.browser import Served
from tests.adapters.api.page.conftest import decision_of
from tests.adapters.api.page.world import MINUTE

from oncemore.adapters.api.keys import Scope
from oncemore.adapters.api.page.session import Sessions, Visitor
from oncemore.adapters.api.service import Service
from oncemore.engine.allowance_tables import LevelChange
from oncemore.engine.service_tables import EndedSession
from oncemore.engine.tables import Request

PAGES = ("/", "/policies", "/policies/retry-quota", "/levels")


@pytest.fixture
def visitor(served: Served) -> Iterator[Client]:
    """A browser without a window."""
    with Client(base_url=served.address, trust_env=False, timeout=60) as made:
        yield made


def come_in(visitor: Client, served: Served, *scopes: Scope) -> None:
    token = _token(visitor.get("/login").text)
    answer = visitor.post("/login", data={"key": served.key(*scopes), "token": token, "next": "/"})
    assert answer.status_code == 303, answer.text


def every_page(served: Served) -> list[str]:
    return [
        *PAGES,
        *(f"/requests/{request}" for request in served.told.requests.values()),
        f"/decisions/{decision_of(served, 'letters', 'hold')}",
    ]


def forms(served: Served) -> list[str]:
    request = served.told.requests["letters"]
    acting = [f"/requests/{request}/{word}" for word in ("stop", "release", "act")]
    return [*acting, "/policies/retry-quota/level", "/breaker", "/logout"]


def test_without_a_key_nothing_is_there(visitor: Client, served: Served) -> None:
    for path in every_page(served):
        answer = visitor.get(path)
        assert (answer.status_code, answer.text) == (303, "")
        assert answer.headers["location"].startswith("/login")
    for path in forms(served):
        assert visitor.post(path, data={"why": "x", "token": "y"}).headers["location"] == "/login"
    assert _untouched(served)


def test_a_part_that_is_asked_for_again_leads_to_the_door_too(visitor: Client) -> None:
    answer = visitor.get("/?seen=0", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.text, answer.headers["hx-redirect"]) == (200, "", "/login")


@pytest.mark.parametrize(
    "key", ["", "om_000000000000_" + "0" * 64, "om_", "' or 1=1 --", "\N{GRINNING FACE}", "om_0\u0000"]
)
def test_what_is_no_key_opens_nothing(visitor: Client, key: str) -> None:
    token = _token(visitor.get("/login").text)
    answer = visitor.post("/login", data={"key": key, "token": token})
    assert answer.status_code == 403
    assert "That key opens nothing" in answer.text
    assert "oncemore_session" not in answer.headers.get("set-cookie", "")


@pytest.mark.parametrize("scope", ["decide", "act", "admin"])
def test_a_key_that_may_not_read_is_not_let_in(visitor: Client, served: Served, scope: Scope) -> None:
    token = _token(visitor.get("/login").text)
    answer = visitor.post("/login", data={"key": served.key(scope), "token": token})
    assert answer.status_code == 403
    assert "may not read" in answer.text
    assert visitor.get("/").headers["location"] == "/login"


def test_the_form_for_the_key_is_ours(visitor: Client, served: Served) -> None:
    for token in ("", "0" * 64, "\u00e9"):
        visitor.get("/login")
        answer = visitor.post("/login", data={"key": served.key("read"), "token": token})
        assert answer.status_code == 403
    visitor.cookies.clear()
    token = _token(visitor.get("/login").text)
    visitor.cookies.clear()
    assert visitor.post("/login", data={"key": served.key("read"), "token": token}).status_code == 403


def test_the_cookie_says_nothing_and_is_for_us_alone(visitor: Client, served: Served) -> None:
    token = _token(visitor.get("/login").text)
    answer = visitor.post("/login", data={"key": served.key("read"), "token": token})
    cookie = next(one for one in answer.headers.get_list("set-cookie") if one.startswith("oncemore_session="))
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Max-Age=43200" in cookie
    assert served.key("read").rpartition("_")[2] not in cookie


def test_a_changed_cookie_is_nobodys(visitor: Client, served: Served) -> None:
    come_in(visitor, served, "read")
    cookie = visitor.cookies["oncemore_session"]
    key, until, word, seal = cookie.split(".")
    with served.service.house.journal.connected():
        other = served.service.keys.add("other", ("read", "act", "admin"))[0].id
    for changed in (
        f"{other}.{until}.{word}.{seal}",
        f"{key}.{int(until) + 1}.{word}.{seal}",
        "...",
        "a.b",
        cookie[:-1],
    ):
        visitor.cookies.clear()
        visitor.cookies.set("oncemore_session", changed)
        assert visitor.get("/").status_code == 303


def test_a_session_ends_after_twelve_hours(visitor: Client, served: Served) -> None:
    come_in(visitor, served, "read")
    before = served.told.offset
    try:
        served.told.offset = before + 12 * 60 * MINUTE - MINUTE
        assert visitor.get("/policies").status_code == 200
        served.told.offset = before + 12 * 60 * MINUTE
        assert visitor.get("/policies").status_code == 303
    finally:
        served.told.offset = before


def test_a_revoked_key_ends_its_sessions(visitor: Client, served: Served) -> None:
    with served.service.house.journal.connected():
        key, secret = served.service.keys.add("short", ("read",))
    token = _token(visitor.get("/login").text)
    visitor.post("/login", data={"key": secret, "token": token})
    assert visitor.get("/").status_code == 200
    with served.service.house.journal.connected():
        served.service.keys.revoke(key.id)
    assert visitor.get("/").status_code == 303


def test_whoever_signed_out_is_out_with_that_cookie(visitor: Client, served: Served) -> None:
    come_in(visitor, served, "read")
    cookie = visitor.cookies["oncemore_session"]
    visitor.post("/logout", data={"token": _token(visitor.get("/").text)})
    visitor.cookies.set("oncemore_session", cookie)
    assert visitor.get("/").status_code == 303


@contextmanager
def another(served: Served) -> Iterator[Client]:
    """A second process of the same journal, as far as what it remembers goes; a browser of it."""
    with (
        closing(Service(served.service.house, served.service.rules)) as service,
        serving(service) as address,
        Client(base_url=address, trust_env=False, timeout=60) as browser,
    ):
        yield browser


def test_who_signed_out_is_out_in_every_process_and_after_a_restart(visitor: Client, served: Served) -> None:
    come_in(visitor, served, "read")
    cookie = visitor.cookies["oncemore_session"]
    with another(served) as elsewhere:
        elsewhere.cookies.set("oncemore_session", cookie)
        assert elsewhere.get("/policies").status_code == 200
        visitor.post("/logout", data={"token": _token(visitor.get("/").text)})
        assert elsewhere.get("/policies").status_code == 303
    with another(served) as restarted:
        restarted.cookies.set("oncemore_session", cookie)
        for path in PAGES:
            assert restarted.get(path).headers["location"].startswith("/login"), path


def test_who_signed_out_in_one_window_sends_no_form_from_another(visitor: Client, served: Served) -> None:
    come_in(visitor, served, "read", "act", "admin")
    cookie, good = visitor.cookies["oncemore_session"], _token(visitor.get("/").text)
    visitor.post("/logout", data={"token": good})
    visitor.cookies.set("oncemore_session", cookie)
    for path in forms(served):
        assert visitor.post(path, data={"why": "x", "token": good}).headers["location"] == "/login", path
    assert _untouched(served)


def test_others_of_the_same_key_stay_when_one_signs_out(visitor: Client, served: Served) -> None:
    come_in(visitor, served, "read")
    with Client(base_url=served.address, trust_env=False, timeout=60) as other:
        come_in(other, served, "read")
        visitor.post("/logout", data={"token": _token(visitor.get("/").text)})
        assert other.get("/policies").status_code == 200


def test_what_is_kept_of_who_signed_out_goes_when_no_cookie_could_come_alive(visitor: Client, served: Served) -> None:
    come_in(visitor, served, "read")
    visitor.post("/logout", data={"token": _token(visitor.get("/").text)})
    later = served.told.now() + 50 * 60 * MINUTE
    sessions = Sessions(served.service.keys, lambda: later)
    journal = served.service.house.journal
    with journal.connected():
        before = EndedSession.select().count()
        key = served.service.keys.listed()[0]
        with journal.transaction():
            sessions.end(Visitor(key, f"{key.id}.{later}.{'0' * 32}", ""))
        assert before >= 1
        assert [row.until for row in EndedSession.select()] == [later]


def test_a_forged_form_does_nothing(visitor: Client, served: Served) -> None:
    come_in(visitor, served, "read", "act", "admin")
    good = _token(visitor.get("/").text)
    for path in forms(served):
        for fields in (
            {"why": "x"},
            {"why": "x", "token": ""},
            {"why": "x", "token": good[:-1] + ("0" if good[-1] != "0" else "1")},
        ):
            assert visitor.post(path, data=fields).status_code == 403, path
        assert visitor.post(path, json={"why": "x", "token": good}).status_code == 403
        body = f"token={good}&token={good}&why=x&level=off"
        headers = {"content-type": "application/x-www-form-urlencoded"}
        assert visitor.post(path, content=body, headers=headers).status_code == 403
    assert _untouched(served)


def test_the_token_of_another_session_does_nothing(visitor: Client, served: Served) -> None:
    come_in(visitor, served, "read", "act", "admin")
    other = _token(visitor.get("/").text)
    visitor.cookies.clear()
    come_in(visitor, served, "read", "act", "admin")
    assert visitor.post(forms(served)[0], data={"why": "x", "token": other}).status_code == 403
    assert _untouched(served)


def test_a_page_elsewhere_cannot_send_our_forms(visitor: Client, served: Served) -> None:
    come_in(visitor, served, "read", "act", "admin")
    token = _token(visitor.get("/").text)
    answer = visitor.post(
        forms(served)[0], data={"why": "x", "token": token}, headers={"origin": "https://evil.example"}
    )
    assert answer.status_code in (400, 403, 421)
    assert _untouched(served)


def test_who_may_only_read_is_shown_no_form_and_can_do_nothing(visitor: Client, served: Served) -> None:
    come_in(visitor, served, "read")
    for path in every_page(served):
        page = visitor.get(path).text
        assert re.findall(r'action="([^"]*)"', page) == ["/logout"], path
    token = _token(visitor.get("/").text)
    for path in forms(served)[:-1]:
        answer = visitor.post(path, data={"why": "x", "level": "off", "token": token})
        assert answer.status_code == 403
    assert _untouched(served)


def test_who_acts_is_not_who_changes_levels(visitor: Client, served: Served) -> None:
    come_in(visitor, served, "read", "act")
    assert "/level" not in visitor.get("/policies/retry-quota").text.replace("/levels", "")
    token = _token(visitor.get("/").text)
    fields = {"why": "x", "level": "off", "token": token}
    assert visitor.post("/policies/retry-quota/level", data=fields).status_code == 403
    with Client(base_url=served.address, trust_env=False, timeout=60) as admin:
        come_in(admin, served, "read", "admin")
        request = served.told.requests["letters"]
        assert "/stop" not in admin.get(f"/requests/{request}").text
        token = _token(admin.get("/").text)
        assert admin.post(f"/requests/{request}/stop", data={"why": "x", "token": token}).status_code == 403
    assert _untouched(served)


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("/requests/r-1", "/requests/r-1"),
        ("//evil.example/requests/", "/"),
        ("https://evil.example/", "/"),
        ("/policies\\evil", "/"),
        ("/policies\r\nx: y", "/"),
        ("/v1/keys", "/"),
    ],
)
def test_signing_in_leads_to_a_page_of_ours(visitor: Client, served: Served, path: str, inside: str) -> None:
    token = _token(visitor.get("/login").text)
    answer = visitor.post("/login", data={"key": served.key("read"), "token": token, "next": path})
    assert answer.headers["location"] == inside


def _untouched(served: Served) -> bool:
    """Nobody has stopped, released or levelled anything."""
    with served.service.house.journal.connected():
        row = Request.get_by_id(served.told.requests["letters"])
        changes = LevelChange.select().where(LevelChange.policy == "retry-quota", LevelChange.level == "off")
        return row.state == "open" and row.held is not None and not changes.exists()


def _token(page: str) -> str:
    found = re.search(r'name="token" value="([0-9a-f]{64})"', page)
    assert found is not None
    return found[1]
