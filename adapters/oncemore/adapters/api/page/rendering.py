"""How does what an operator asked to see become a page?

Every text is escaped where it is put in, a name that is not there is an error, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from oncemore.adapters.api.page import moments
from oncemore.adapters.api.page.reasons import reasoned, whose
from oncemore.adapters.api.page.words import LANGUAGES, WORDS, Language, said
from oncemore.rules.diagnostics import acts

FOLDER = Path(__file__).parent

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not `no-referrer`: a browser would then hide the origin of our own forms from us.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""What every page carries."""

STATIC: Final = {
    "style.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "favicon.svg": "image/svg+xml",
}

LANGUAGE_COOKIE = "oncemore_language"
LANGUAGE_SECONDS = 365 * 24 * 3600

JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"
"""Format characters that only join or part the letters beside them."""


class Pages:
    """The templates and the files beside them, read once."""

    def __init__(self) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(FOLDER / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters["shown"] = shown
        self._files = {name: (FOLDER / "static" / name).read_bytes() for name in STATIC}
        self._tags = {name: hashlib.sha256(body).hexdigest()[:16] for name, body in self._files.items()}

    def html(self, template: str, *, lang: Language, now: int, **view: Any) -> str:
        """A page's text.

        Args:
            now: milliseconds since the epoch, for spans.
        """
        return self._environment.get_template(template).render(
            lang=lang,
            other="en" if lang == "zh" else "zh",
            now=now,
            t=partial(said, lang),
            has=WORDS[lang].__contains__,
            when=partial(moments.when, lang=lang, now=now),
            span=partial(moments.span, lang=lang),
            whose=partial(whose, lang=lang),
            reasoned=partial(reasoned, lang=lang),
            asset=self.asset,
            **view,
        )

    def asset(self, name: str) -> str:
        """Where a file stands; under another address when it changes."""
        return f"/static/{name}?{self._tags[name]}"

    def file(self, name: str) -> Response | None:
        """A file, kept by browsers for as long as it has this address."""
        if name not in STATIC:
            return None
        headers = {**HEADERS, "Cache-Control": "public, max-age=31536000, immutable", "Content-Type": STATIC[name]}
        return Response(self._files[name], headers=headers)


def page(html: str, status: int = 200) -> HTMLResponse:
    """An answer with what every page carries."""
    return HTMLResponse(html, status, headers=HEADERS)


def live(wrap: Callable[[str, str], str], inner: str, seen: str | None) -> str | None:
    """The part of a page that is asked for again and again; None when it is as it was seen.

    Args:
        wrap: puts the part, with its mark, into what asks for it again.
        seen: the mark of the part that is shown.
    """
    mark = hashlib.sha256(inner.encode()).hexdigest()[:16]
    return None if seen == mark else wrap(inner, mark)


def language(request: Request) -> Language:
    """What the visitor reads: as asked for, as chosen before, else as the browser says."""
    wished = [request.query_params.get("lang"), request.cookies.get(LANGUAGE_COOKIE)]
    wished += [part.split(";")[0].strip()[:2].lower() for part in request.headers.get("accept-language", "").split(",")]
    return next((known for one in wished for known in LANGUAGES if one == known), "en")


def keep_language(request: Request, response: Response) -> None:
    """Remember the language that was asked for."""
    if request.query_params.get("lang") in LANGUAGES:
        response.set_cookie(
            LANGUAGE_COOKIE,
            request.query_params["lang"],
            max_age=LANGUAGE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )


def shown(text: str) -> Markup:
    """What people and models wrote, with every character that would act instead of being seen written as its number."""
    if text.isprintable():
        return escape(text)
    return Markup("").join(
        Markup('<span class="acts">U+{:04X}</span>').format(ord(char)) if _acts(char) else char for char in text
    )


def _acts(char: str) -> bool:
    return char not in "\n\t" and char not in JOINERS and acts(char)


View = Mapping[str, Any]
"""What a template is given."""
