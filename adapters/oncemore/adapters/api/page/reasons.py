"""What stops a Request, in the reader's language?

The journal keeps why something is held as a sentence in English, and so is a Request's standing told. A gate is said in
its policy's own words; `words.sentences` has the others in Chinese. What is none of them stays as it is, marked as
English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from oncemore.adapters.api.page.words import WORDS, Language, said
from oncemore.adapters.api.page.words.sentences import in_chinese
from oncemore.rules.loading import PolicySet

_NAME = r"[a-z0-9][a-z0-9_-]*"
_WOULD = re.compile(rf"(?P<policy>{_NAME}): would fire, is at (?P<level>\w+)")
_GATE = re.compile(rf"(denied: )?(?P<policy>{_NAME}): (?P<gate>{_NAME})")

_OF_POLICY = re.compile(rf"(?P<policy>{_NAME})(?:: | (?=was to act))(?P<text>.*)", re.DOTALL)

_SEVERAL = re.compile(rf"{_NAME}: {_NAME}(, {_NAME}: {_NAME})+")


OURS = ("oncemore", "levels file")
"""Whose reasons are sentences of ours."""


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
    if lang == "zh" and _SEVERAL.fullmatch(text) is not None:
        return Reason("；".join(_verdict(part) for part in text.split(", ")), "zh")
    found = None if _SEVERAL.fullmatch(text) else _OF_POLICY.fullmatch(text)
    if found is not None and policies.get(found["policy"]) is not None:
        told, read = spoken(found["text"], lang)
        if read == lang:
            return Reason(told, lang, found["policy"])
    return Reason(*spoken(text, lang))


def spoken(text: str, lang: Language) -> tuple[str, Language]:
    """A sentence of ours in the reader's language, and in which it is now."""
    if lang == "zh" and (chinese := in_chinese(text)) is not None:
        return chinese, "zh"
    return (text if text.startswith("r-") else text[:1].upper() + text[1:]) if lang == "en" else text, "en"


def whose(who: str, lang: Language) -> str:
    """Who did something, as records name it."""
    for english, key in (("key ", "who.key"), ("levels file", "who.file")):
        if who.startswith(english):
            return said(lang, key, name=who.removeprefix(english))
    return who


def reasoned(who: str, why: str, lang: Language) -> tuple[str, Language | None]:
    """Why somebody changed something, and in which language that is: a person's words stay as they are."""
    return spoken(why, lang) if who in OURS else (why, None)


def _verdict(text: str) -> str:
    policy, _, outcome = text.partition(": ")
    return f"{policy}：{WORDS['zh'].get(f'outcome.{outcome}', outcome)}"
