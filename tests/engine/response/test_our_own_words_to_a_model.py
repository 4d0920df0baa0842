"""The words that are added to a model's input, and the continuation's fixed text."""

from __future__ import annotations

from oncemore.engine import prompts
from oncemore.engine.intake import random_word
from oncemore.engine.response import Tags


def test_the_message_stays_as_it_was_and_our_note_follows() -> None:
    text = prompts.request_input("Write {both} parts.\n", "w0rd")
    assert text.startswith("Write {both} parts.\n")
    assert Tags("w0rd").opening in text
    assert Tags("w0rd").closing in text


def test_the_continuation_is_the_same_text_for_every_request_but_for_its_word() -> None:
    assert prompts.continuation_input("a").replace("oncemore-a", "oncemore-b") == prompts.continuation_input("b")


def test_every_word_is_new() -> None:
    words = {random_word() for _ in range(1_000)}
    assert len(words) == 1_000
    assert all(len(word) == 32 for word in words)


def test_every_text_for_people_is_there_in_both_languages() -> None:
    for texts in (prompts.NO_TEXT, prompts.STOPPED, prompts.FAILED, prompts.NOT_CONTINUED):
        assert set(texts) == {"en", "zh"}
        assert prompts.in_language(texts, "fr") == texts["en"]
