"""A proxy ends TLS before the service: the session of a page that came over https never goes over http."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.adapters.api.conftest import CONFIGURATION, opened


@pytest.mark.parametrize(("scheme", "secure"), [("https", True), ("http", False)])
def test_the_session_is_kept_to_the_scheme_that_the_browser_names(tmp_path: Path, scheme: str, secure: bool) -> None:
    with opened(tmp_path, f"{CONFIGURATION}serve: {{hosts: [desk.example]}}\n") as world:
        host = {"host": "desk.example"}
        door = world.call("GET", "/login", key=None, headers=host)
        found = re.search(r'name="token" value="([0-9a-f]{64})"', door.text)
        assert found is not None
        headers = {**host, "origin": f"{scheme}://desk.example", "cookie": door.headers["set-cookie"].split(";")[0]}
        form = {"key": world.tokens["read"], "token": found[1]}
        inside = world.call("POST", "/login", key=None, headers=headers, data=form)
        assert inside.status_code == 303
        (session,) = [one for one in inside.headers.get_list("set-cookie") if one.startswith("oncemore_session=")]
        assert ("; secure" in session.lower()) is secure
