"""The pictures of docs/page.md, of the page as it is over the world of its tests.

python -m tests.adapters.api.page.screens    make all of them anew, in docs/screens
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.adapters.api.page.browser import Served, Window, chromium, served, window
from tests.adapters.api.page.conftest import ROOT, decision_of
from tests.adapters.api.page.world import KEY, build

SCREENS = ROOT / "docs" / "screens"
TALLEST = {1440: 900, 390: 844}
"""Pixels of a page that are shown, by its width."""

DARK = (("overview", "en", 1440), ("request", "en", 1440), ("decision", "zh", 390))


def take(made: Served, w: Window, lang: str, width: int, dark: bool) -> None:
    """The pictures in one language and at one width."""
    addresses = {
        "overview": "/",
        "request": f"/requests/{made.told.requests['reports']}",
        "decision": f"/decisions/{decision_of(made, 'letters', 'hold')}",
        "policies": "/policies",
    }
    w.come_in(made.key("read", "act", "admin"))
    for name, address in addresses.items():
        if dark and (name, lang, width) not in DARK:
            continue
        page = w.open(address)
        page.set_viewport_size({"width": width, "height": TALLEST[width]})
        file = SCREENS / f"{name}-{lang}-{width}{'-dark' if dark else ''}.png"
        page.screenshot(path=file)


def main() -> None:
    """Make all pictures."""
    os.environ[KEY] = "none"
    SCREENS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        told = build(Path(folder))
        with served(told) as made, chromium() as browser:
            for lang in ("en", "zh"):
                for width in (1440, 390):
                    for dark in (False, True):
                        scheme = "dark" if dark else "light"
                        with window(browser, made, width=width, lang=lang, color_scheme=scheme) as w:
                            take(made, w, lang, width, dark)
    size = sum(file.stat().st_size for file in SCREENS.iterdir())
    print(f"{len(list(SCREENS.iterdir()))} pictures in {SCREENS.relative_to(ROOT)}, {size // 1024} KiB")


if __name__ == "__main__":
    main()
