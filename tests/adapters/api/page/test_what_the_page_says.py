"""The page says the same in both languages, and everything that it says is there."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from oncemore.adapters.api.page import moments
from oncemore.adapters.api.page.reasons import Reason, reason
from oncemore.adapters.api.page.rendering import FOLDER, shown
from oncemore.adapters.api.page.words import LANGUAGES, WORDS, said
from oncemore.engine.explanation import Language
from oncemore.rules.loading import load_policies
from oncemore.rules.shipped import shipped_policies
from oncemore.rules.times import parse

SHIPPED = load_policies([shipped_policies()])
NOW = parse("2026-03-01T12:00:00Z")


def _places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_both_languages_have_the_same_texts_with_the_same_places() -> None:
    english, chinese = WORDS["en"], WORDS["zh"]
    assert english.keys() == chinese.keys()
    # What is said of one alone may leave the number out.
    several = [key for key in english if not key.endswith(".one")]
    assert {key: _places(english[key]) for key in several} == {key: _places(chinese[key]) for key in several}


def test_no_text_is_left_in_the_other_language() -> None:
    names = {key for key in WORDS["zh"] if key in ("html.lang", "other", "other.lang")}
    untranslated = {key for key in WORDS["zh"] if WORDS["zh"][key] == WORDS["en"][key]} - names
    assert untranslated == set()
    assert [key for key in WORDS["en"] if key != "other" and re.search(r"[\u4e00-\u9fff]", WORDS["en"][key])] == []


def test_every_text_that_a_template_names_is_there_and_no_other_words_stand_in_it() -> None:
    for file in sorted((FOLDER / "templates").iterdir()):
        template = re.sub(r"\{% macro english.*", "", file.read_text("utf-8"))
        named = set(re.findall(r"\bt\('([a-z_.]+)'(?!\s*~)[,)]", template))
        assert named <= WORDS["en"].keys(), (file.name, named - WORDS["en"].keys())
        bare = re.sub(r"\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", " ", template, flags=re.S)
        words = set(re.findall(r"[A-Za-z\u4e00-\u9fff]{3,}", bare))
        assert words <= {"Oncemore", "oncemore", "keys", "add", "narrow", "middle", "wide"}, file.name


@pytest.mark.parametrize(
    ("told", "lang", "expected"),
    [
        (
            "continue-unfinished-work: backoff",
            "zh",
            Reason("轮次结束后先静置一分钟。", "zh", "continue-unfinished-work", "backoff"),
        ),
        (
            "denied: retry-quota: tries-left",
            "en",
            Reason("All three quota tries are used.", "en", "retry-quota", "tries-left"),
        ),
        ("retry-quota: patience", "en", Reason("", "en", "retry-quota", "patience")),
        ("the one continuation failed: runtime_error", "zh", Reason("唯一一次续办失败了：runtime_error", "zh")),
        (
            "the retry after a usage limit may or may not have run",
            "zh",
            Reason("用量受限后的重试可能已经运行，也可能没有", "zh"),
        ),
        ("the reply answer may have been sent", "zh", Reason("回复 answer 可能已经发出", "zh")),
        ("no policy concerns it", "en", Reason("No policy concerns it", "en")),
        ("a sentence of tomorrow", "zh", Reason("a sentence of tomorrow", "en")),
        ("gone-policy: backoff", "zh", Reason("gone-policy：backoff", "zh")),
        ("retry-route: would fire, is at shadow", "zh", Reason("本会触发，级别为 shadow", "zh", "retry-route")),
    ],
)
def test_what_stops_a_request_is_said_in_the_readers_language(told: str, lang: Language, expected: Reason) -> None:
    assert reason(told, SHIPPED, lang) == expected


@pytest.mark.parametrize(
    ("moment", "english", "chinese"),
    [
        ("2026-03-01T11:59:30Z", "11:59:30 · less than a minute ago", "11:59:30 · 不到一分钟前"),
        ("2026-03-01T12:05:00Z", "12:05:00 · in 5 min", "12:05:00 · 5 分钟后"),
        ("2026-02-28T12:00:00Z", "28 Feb, 12:00:00 · 24 h ago", "2月28日 12:00:00 · 24 小时前"),
        ("2025-12-31T12:00:00Z", "31 Dec 2025, 12:00:00 · 60 days ago", "2025年12月31日 12:00:00 · 60 天前"),
    ],
)
def test_a_time_is_read_with_its_distance(moment: str, english: str, chinese: str) -> None:
    for lang, expected in zip(LANGUAGES, (english, chinese), strict=True):
        text = moments.when(moment, lang=lang, now=NOW)
        assert f'datetime="{moment.replace("Z", ".000Z")}"' in text
        assert text.striptags().replace("  ", " ") == expected.replace(" · ", " ")


def test_one_and_several_are_told_apart() -> None:
    assert said("en", "entry.unconcerned", count=1) == "One more policy was not concerned"
    assert said("en", "entry.unconcerned", count=3) == "3 more policies were not concerned"


def test_what_joins_letters_stays_and_what_turns_them_is_written_down() -> None:
    family = "\U0001f468\u200d\U0001f469"
    assert shown(f"{family}\u202e<b>\n") == f'{family}<span class="acts">U+202E</span>&lt;b&gt;\n'
