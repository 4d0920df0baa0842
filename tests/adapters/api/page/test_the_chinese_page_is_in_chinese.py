"""Nothing on the Chinese page is in English but what people, models and other programs said, and names."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from httpx import Client
from tests.adapters.api.page.browser import Served

import oncemore.adapters.standing
import oncemore.engine.journal
from oncemore.adapters.api.page.reasons import reason
from oncemore.adapters.api.page.words.sentences import in_chinese
from oncemore.adapters.standing import ENDS, TRIES
from oncemore.engine import events
from oncemore.engine.allowance_tables import BreakerChange
from oncemore.engine.tables import Request
from oncemore.rules.loading import load_policies
from oncemore.rules.shipped import shipped_policies

ENGINE = Path(oncemore.engine.journal.__file__).parent
ADAPTERS = Path(oncemore.adapters.standing.__file__).parent

REFUSALS = {"PortError", "Unreadable", "Busy", "Refused", "Uncertain", "NotSent", "OtherThanDecided", "_NoAnswer"}
"""Errors whose words the engine keeps as a reason."""

KEEPING = {
    *("due", "let_go", "withdraw", "settle", "Wait", "_hold", "_held", "_again", "_give_up", "_not_sent"),
    *("_set_state", "_rest", "_look_again", "_Refusal", "_end_alone", "finish"),
}
"""What the engine keeps a reason with."""

GIVING = {
    "dispatch.py": {"_reason"},
    "advice.py": {"_reason"},
    "running.py": {"_rejection"},
    "breaker.py": {"_too_often"},
    "standing.py": {"_why_it_rests"},
}
"""Functions that give one."""

ALONE = {"MERGED", "CANCELLED", "FOREIGN", "WHY", "detail"}
"""Names that one is given."""

NOT_SHOWN = {
    "the codex home {} exists already and is left as it is",
    "{} exists already and is left as it is",
}
"""Said to whoever sets up, on a terminal."""


def sentences() -> Iterator[tuple[str, str]]:
    """Each sentence that may be kept as a reason, with its place; what is filled in is a word."""
    engine = [*ENGINE.glob("*.py"), ADAPTERS / "standing.py"]
    outside = [
        path
        for name in ("codex", "antigravity", "inbox", "feishu", "grants")
        for path in (ADAPTERS / name).glob("*.py")
    ]
    for path in (*engine, *outside, ADAPTERS / "wire.py"):
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            for told in _told(node, path.name, path in engine):
                for text in _texts(told):
                    if (
                        re.search("[a-z]{2}", text.replace("x1", ""))
                        and " " in text
                        and text.replace("x1", "{}") not in NOT_SHOWN
                    ):
                        yield f"{path.name}:{told.lineno}", text


def _told(node: ast.AST, file: str, engine: bool) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in REFUSALS:
            yield from node.args[:1]
        elif engine and name in KEEPING:
            yield from node.args
            yield from (one.value for one in node.keywords if one.arg in ("held", "why", "detail", "reason"))
        elif engine and name == "update":
            yield from (one.value for one in node.keywords if one.arg in ("held", "detail", "reason"))
    elif isinstance(node, ast.FunctionDef) and node.name in GIVING.get(file, ()):
        yield from (one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value is not None)
    elif engine and isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ALONE:
        yield node.value


def _texts(node: ast.expr) -> Iterator[str]:
    """What an expression of text can say."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _texts(value)
    elif isinstance(node, ast.JoinedStr):
        parts = [
            (list(_texts(part.value)) or _filled(part.value))
            if isinstance(part, ast.FormattedValue)
            else list(_texts(part))
            for part in node.values
        ]
        for several in itertools.product(*parts):
            yield "".join(several)


def _filled(node: ast.expr) -> list[str]:
    """What may stand in a place that the expression fills."""
    called = getattr(getattr(node, "func", None), "id", "")
    if called == "_many":
        return ["one recovery", "2 recoveries"]
    named = ast.unparse(node)
    words = {
        "TRIES": list(TRIES.values()),
        "ENDS": list(ENDS.values()),
        "reason": ["", ": its process ended before it did"],
    }
    policies = {"refused.policy": ["retry-quota"]}
    return {**words, **policies}.get(named.partition(".get")[0], ["x1"])


def test_every_sentence_that_may_be_kept_as_a_reason_is_said_in_chinese() -> None:
    policies = load_policies([shipped_policies()])
    found = list(sentences())
    assert len({text for _, text in found}) > 120
    untold = []
    for place, text in found:
        told = reason(text, policies, "zh")
        assert told is not None
        plain = re.sub(r"x1\w*", "", told.text)
        if told.lang != "zh" or not re.search(r"[\u4e00-\u9fff]", plain) or english(plain):
            untold.append((place, text, told.text))
    assert untold == []


def test_a_sentence_within_a_sentence_is_said_too() -> None:
    told = in_chinese("r-1-work-1 may have run: not readable: codex ended (thread/read)")
    assert told == "r-1-work-1 可能已经运行：无法读取：Codex 已结束（thread/read）"


def test_what_is_none_of_ours_is_not_made_half_chinese() -> None:
    assert in_chinese("not started: some words of another program") is None
    told = reason("not started: some words of another program", load_policies([shipped_policies()]), "zh")
    assert told is not None
    assert (told.text, told.lang) == ("not started: some words of another program", "en")


KNOWN = {
    *("Oncemore", "UTC", "API", "English", "Codex", "Lark", "JSON", "Unicode", "app-server", "harness", "utf"),
    *("off", "shadow", "advise", "enforce"),
}
"""Names that are the same in Chinese, and levels, which are written as they are in files."""

CODE = re.compile(r"[a-z0-9]+([._:/-][A-Za-z0-9]+)+|[a-z]+-?\d+|[0-9a-f]{8,}")
"""How ids, facts, gates, policies, stages and codes look."""


def english(text: str) -> list[str]:
    """The English words in a text that are no names."""
    words = re.findall(r"[A-Za-z0-9][A-Za-z0-9._:/-]*", text)
    return [
        word
        for word in words
        if re.search("[A-Za-z]{2}", word) and word.strip(".:") not in KNOWN and not CODE.fullmatch(word.strip(".:"))
    ]


class Words(HTMLParser):
    """What a page says itself: not in quotations and not as code."""

    VOID = frozenset({"meta", "link", "input", "br", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self._open: list[bool] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.said += [str(given[name]) for name in ("aria-label", "title", "placeholder") if given.get(name)]
        if tag not in self.VOID:
            quoted = tag in ("blockquote", "bdi", "code", "pre", "script", "style", "time")
            self._open.append(quoted or given.get("class") == "language")

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not any(self._open):
            self.said.append(data)


@pytest.fixture(scope="module")
def reader(served: Served) -> Iterator[Client]:
    """Somebody who reads Chinese and came in."""
    with Client(base_url=served.address, trust_env=False, timeout=60, headers={"accept-language": "zh-CN"}) as made:
        token = re.search(r'name="token" value="([0-9a-f]{64})"', made.get("/login").text)
        assert token is not None
        made.post("/login", data={"key": served.key("read", "act", "admin"), "token": token[1], "next": "/"})
        yield made


@pytest.fixture(scope="module")
def troubled(served: Served) -> str:
    """A Request of which the engine had much to say; the breaker has opened by itself."""
    request = served.told.requests["letters"]
    journal = served.service.house.journal
    with journal.connected(), journal.transaction():
        now = journal.advance_clock().ms
        held = f"{request} may have run: the inventory is not complete"
        Request.update(held=held).where(Request.id == request).execute()
        events.append(
            request, "let_go", now, turn=request, why="busy: another process has the thread loaded", until=now
        )
        events.append(request, "ambiguous", now, turn=request, why="its end cannot be read")
        wait = "recoveries on codex begin one by one after its capacity came back"
        events.append(request, "waits_for_budget", now, policy="retry-quota", budget="spread:codex", why=wait)
        events.append(request, "withdrawn", now, turn=request, reason="no policy of that name any more")
        events.append(request, "advice_refused", now, policy="retry-quota", reason="the policy is at shadow")
        events.append(
            request, "not_sent", now, stage="answer", why="not sent: Lark's rate limit is reached; nothing was sent"
        )
        BreakerChange.insert(state="open", who="oncemore", why="2 recoveries in a row failed", at=now).execute()
    return request


def test_the_overview_has_no_english_of_ours(reader: Client, served: Served, troubled: str) -> None:
    page = reader.get("/").text
    assert "连续 2 次恢复失败" in page
    assert f"{troubled} 可能已经运行：运行时的清单不完整" in page
    assert left_in(page, served) == []


@pytest.mark.parametrize("path", ["/levels", "/policies", "/policies/retry-quota"])
def test_nor_have_policies_and_levels(reader: Client, served: Served, troubled: str, path: str) -> None:
    assert left_in(reader.get(path).text, served) == []


def test_nor_has_any_timeline(reader: Client, served: Served, troubled: str) -> None:
    for request in served.told.requests.values():
        page = reader.get(f"/requests/{request}").text
        assert left_in(page, served) == [], request
    shown = reader.get(f"/requests/{troubled}").text
    for words in (
        "被占用：另一进程载入了该线程",
        "读不到它的结束",
        "codex 的容量恢复后",
        "已没有该名称的策略",
        "已达飞书的频率上限",
    ):
        assert words in shown


def left_in(page: str, served: Served) -> list[str]:
    """The English words of a page that are nobody's and no name."""
    words = Words()
    words.feed(page)
    policies = {policy.name for policy in served.service.rules.policies}
    asked = served.told.requests
    names = {
        *asked,
        *asked.values(),
        *policies,
        *("codex", "inbox", "ann", "oncemore"),
        *("answer", "notice", "stop", "command", "work"),
    }
    return [word for text in words.said for word in english(text) if word not in names]


def test_who_opened_it_is_named_and_a_persons_reason_stays_as_it_was_written(
    reader: Client, served: Served, troubled: str
) -> None:
    page = reader.get("/levels").text
    assert "oncemore：" in page and "密钥 ann：" in page and "级别文件：" in page
    assert "Ann decides for now." in page
