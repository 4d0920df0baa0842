"""What stops a Request, in the reader's language?

The journal keeps why something is held as a sentence in English, and so is a Request's standing told. Here its known
forms are said in Chinese; a sentence that is not known stays as it is, marked as English.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from oncemore.adapters.api.page.words import Language, said
from oncemore.adapters.standing import ENDS, TRIES
from oncemore.rules.loading import PolicySet

_NAME = r"[a-z0-9][a-z0-9_-]*"
_WOULD = re.compile(rf"(?P<policy>{_NAME}): would fire, is at (?P<level>\w+)")
_GATE = re.compile(rf"(denied: )?(?P<policy>{_NAME}): (?P<gate>{_NAME})")

_TRIES: Final[Mapping[str, str]] = {
    "work": "唯一一次续办",
    "review": "唯一一次审阅",
    "quota": "用量受限后的重试",
    "route": "线路失败后的重试",
}
_ENDS: Final[Mapping[str, str]] = {
    "failed": "失败了",
    "withdrawn": "未启动即撤回",
    "ambiguous": "可能已经运行，也可能没有",
}

_FORMS: Final = (
    (r"every policy is off", "所有策略均已关闭"),
    (r"no policy concerns it", "没有策略适用"),
    (r"it waited for its turn longer than it may", "排队时间超过上限"),
    (r"nothing was decided on it", "尚未作出任何判定"),
    (r"its answer could not be delivered", "回答无法送达"),
    (r"the review's answer leaves something to a person", "审阅后的回答把事项留给了人"),
    (r"what the review was handed is no longer what the runtime holds", "审阅所用的材料与运行时现有的不再一致"),
    (r"it did not come to rest in (\d+) steps", r"执行 \1 步后仍未停下"),
    (r"a step failed: (\w+)", r"某一步出错：\1"),
    (r"the reply (\S+) may have been sent", r"回复 \1 可能已经发出"),
    (r"(\S+) may have run: (.*)", r"\1 可能已经运行：\2"),
    (r"nothing to deliver: (.*)", r"没有可送达的内容：\1"),
    (r"not delivered: (.*)", r"未送达：\1"),
    (r"not started: (.*)", r"未启动：\1"),
    (r"the runtime does not keep to what was granted: (.*)", r"运行时没有遵守授权范围：\1"),
)
_BUDGETS: Final = (
    (r"the breaker is open", "熔断已打开"),
    (r"(?:one recovery|(\d+) recoveries) an hour at most", r"每小时最多 \1 次恢复"),
    (r"(?:one recovery|(\d+) recoveries) an hour at most for (.*)", r"每小时最多为 \2 恢复 \1 次"),
    (r"(?:one recovery|(\d+) recoveries) on (\S+) at most at once", r"\2 上同时最多 \1 次恢复"),
    (r"recoveries on (\S+) begin one by one after its capacity came back", r"\1 的容量恢复后，各次恢复逐一开始"),
    (r"waited (\S+) for a budget: (.*)", r"为配额等待了 \1：\2"),
    (r"was to act, and did not: (.*)", r"本应执行，但没有执行：\1"),
)
_BUDGET: Final = [(re.compile(form, re.DOTALL), words) for form, words in _BUDGETS]
_OF_POLICY = re.compile(rf"(?P<policy>{_NAME})(?:: | (?=was to act))(?P<text>.*)", re.DOTALL)

_CHINESE: Final = [(re.compile(form, re.DOTALL), words) for form, words in _FORMS]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something stands as it does.

    Attributes:
        policy, gate: where a gate is the reason; both None otherwise.
        text: the gate's own sentence, else the whole reason.
        lang: the language of `text`.
    """

    text: str
    lang: Language
    policy: str | None = None
    gate: str | None = None


def reason(text: str | None, policies: PolicySet, lang: Language) -> Reason | None:
    """A reason in the reader's language; None where there is none."""
    if text is None:
        return None
    found = _GATE.fullmatch(text)
    policy = None if found is None else policies.get(found["policy"])
    if found is not None and policy is not None:
        gate = next((one for one in policy.gates if one.id == found["gate"]), None)
        why = {} if gate is None else gate.why
        read: Language = "zh" if lang == "zh" and "zh" in why else "en"
        return Reason(why.get(read, ""), read, policy.name, found["gate"])
    if (would := _WOULD.fullmatch(text)) is not None:
        return Reason(said(lang, "reason.would", level=would["level"]), lang, would["policy"])
    found = _OF_POLICY.fullmatch(text)
    if found is not None and policies.get(found["policy"]) is not None:
        limited = _said(_BUDGET, found["text"])
        if limited is not None:
            told = limited if lang == "zh" else _sentence(found["text"])
            return Reason(told, lang, found["policy"])
    if lang == "en":
        return Reason(text if text.startswith("r-") else _sentence(text), "en")
    chinese = _chinese(text)
    return Reason(chinese, "zh") if chinese is not None else Reason(text, "en")


def _chinese(text: str) -> str | None:
    for kind, tried in TRIES.items():
        for state, ended in ENDS.items():
            head = f"{tried} {ended}"
            if text == head or text.startswith(f"{head}: "):
                return _TRIES[kind] + _ENDS[state] + text.removeprefix(head).replace(": ", "：", 1)
    return _said(_CHINESE, text)


def _said(forms: Iterable[tuple[re.Pattern[str], str]], text: str) -> str | None:
    found = ((form.fullmatch(text), words) for form, words in forms)
    return next((_filled(match, words) for match, words in found if match is not None), None)


def _filled(found: re.Match[str], words: str) -> str:
    """The words with their places filled; a number that is not written is one."""
    return re.sub(r"\\(\d)", lambda place: found[int(place[1])] or "1", words)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
