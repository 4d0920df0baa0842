"""What may one value of `oncemore.yaml` be?"""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from oncemore.adapters.errors import ConfigurationRefused
from oncemore.adapters.wire import Wire
from oncemore.engine.postgres import is_url, url_amiss
from oncemore.rules import durations

INBOX = "inbox"
"""The App's own Source, which is always there."""

STRICT = ConfigDict(strict=True, extra="forbid", frozen=True)
"""Of every part of the file: its keys and no others, its types and no conversions."""


def _duration(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("write a duration with its unit, such as 2s or 15m")
    ms = durations.parse(value)
    if ms == 0:
        raise ValueError("a duration here is longer than 0s")
    return ms


def age(value: object) -> int:
    """How long ago, milliseconds: days, or a duration.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, str) and re.fullmatch("[0-9]{1,5}d", value) and int(value[:-1]) > 0:
        return int(value[:-1]) * 86_400_000
    try:
        return _duration(value)
    except ValueError as error:
        raise ValueError(f"write an age in days, such as 90d, or as a duration ({error})") from None


def _path(text: str) -> str:
    if not text or "\0" in text:
        raise ValueError("a path is not empty and holds no NUL")
    if text.startswith("~"):
        raise ValueError("~ is not expanded here; write the whole path, or one relative to this file's folder")
    return text


def _journal(text: str) -> str:
    if not is_url(text):
        return _path(text)
    if (amiss := url_amiss(text)) is not None:
        raise ValueError(amiss)
    return text


def _id(text: str) -> str:
    if not re.fullmatch("[a-z0-9][a-z0-9-]{0,63}", text):
        raise ValueError("an id has 1 to 64 characters: a to z, 0 to 9 and, not at its start, hyphens")
    return text


def _source_id(text: str) -> str:
    if text == INBOX:
        raise ValueError(f"{INBOX} is the App's own, and is always there; choose another id")
    return _id(text)


def _variable(text: str) -> str:
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", text, re.ASCII):
        raise ValueError("write the name of a variable alone, without its value")
    return text


def _owner(text: str) -> str:
    if not re.fullmatch(r"\S{1,200}", text) or not text.isprintable():
        raise ValueError("an owner is written as the Source names people, 1 to 200 characters without spaces")
    return text


def _name(text: str) -> str:
    if not re.fullmatch("[!-~]{1,200}", text):
        raise ValueError("1 to 200 visible characters without spaces are wanted here")
    return text


def _chat(text: str) -> str:
    if not re.fullmatch("[A-Za-z0-9_-]{1,128}", text):
        raise ValueError("a chat is written as the Source names it: letters, digits, _ and -")
    return text


def _lease(ms: int) -> int:
    if ms < 1_000:
        raise ValueError("a lease is 1s or longer; a worker that is only slow must not be taken for gone")
    return ms


def _base(text: str) -> str:
    _may_be_asked(text)
    return text


def _server(text: str) -> str:
    _may_be_asked(text, own_certificate=True)
    if urlsplit(text).path not in ("", "/"):
        raise ValueError("the server's address has no path")
    return text


def _url(text: str) -> str:
    base, rest = parted(text)
    _may_be_asked(base)
    steps = rest.split("?")[0].split("/")
    if not re.fullmatch(r"/(?!/)[!-~]*", rest) or "\\" in rest or "#" in rest or ".." in steps:
        raise ValueError("behind the host stands a plain path, without a fragment; other characters are escaped")
    return text


def parted(text: str) -> tuple[str, str]:
    """An address up to its host, and what stands behind it."""
    found = re.match("[^/]*//[^/?#]*", text)
    base = text if found is None else found[0]
    rest = text[len(base) :]
    return base, rest if rest.startswith("/") else f"/{rest}"


def _may_be_asked(base: str, *, own_certificate: bool = False) -> None:
    try:
        Wire([base], self_signed=own_certificate).close()
    except ConfigurationRefused as error:
        raise ValueError(str(error)) from None


def _steps(text: str) -> str:
    if len(text) > 200 or not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", text):
        raise ValueError("write the keys that lead to the value with dots between them, such as quota.state")
    return text


def _scalar(value: object) -> object:
    if not isinstance(value, (bool, int, str)):
        raise ValueError("a text, a whole number, true or false is wanted here")
    return value


def _host(text: str) -> str:
    if not re.fullmatch(r"([a-z0-9-]+(\.[a-z0-9-]+)*|\[[0-9a-f:]+\])(:[0-9]{1,5})?", text):
        raise ValueError("a host is written as browsers send it: lower case, with a port or without, such as a.example")
    return text


def _port(number: int) -> int:
    if not 0 <= number < 2**16:
        raise ValueError("a port is a number from 1 to 65535, or 0 for any that is free")
    return number


def _origin(text: str) -> str:
    scheme, _, rest = text.partition("://")
    if scheme not in ("http", "https"):
        raise ValueError("an origin is written as browsers send it, such as https://a.example")
    _host(rest)
    return text


Span = Annotated[int, BeforeValidator(_duration)]
Age = Annotated[int, BeforeValidator(age)]
Count = Annotated[int, Field(ge=1, lt=2**31)]
Id = Annotated[str, AfterValidator(_id)]
Host = Annotated[str, AfterValidator(_host)]
Origin = Annotated[str, AfterValidator(_origin)]
Port = Annotated[int, AfterValidator(_port)]
SourceId = Annotated[str, AfterValidator(_source_id)]
Variable = Annotated[str, AfterValidator(_variable)]
Owner = Annotated[str, AfterValidator(_owner)]
Name = Annotated[str, AfterValidator(_name)]
Chat = Annotated[str, AfterValidator(_chat)]
WrittenJournal = Annotated[str, AfterValidator(_journal)]
WrittenPath = Annotated[str, AfterValidator(_path)]
Base = Annotated[str, AfterValidator(_base)]
ServerUrl = Annotated[str, AfterValidator(_server)]
Url = Annotated[str, AfterValidator(_url)]
Steps = Annotated[str, AfterValidator(_steps)]
Scalar = Annotated[Any, BeforeValidator(_scalar)]
Lease = Annotated[Span, AfterValidator(_lease)]
