"""Is a Codex that does not reach its model told from one that works?"""

from __future__ import annotations

from tests.adapters.codex.stage import Stage, values

from oncemore.adapters.demo.model import Drop, Hang, ModelRequest, Say, Script


def allow(stage: Stage, retries: int) -> None:
    config = stage.home / "config.toml"
    text = config.read_text()
    assert "stream_max_retries = 0" in text
    config.write_text(text.replace("stream_max_retries = 0", f"stream_max_retries = {retries}"))


def failing(stage: Stage, times: int) -> None:
    """A model whose stream breaks so many times before it answers."""

    def script(request: ModelRequest) -> Script:
        return Drop("half") if stage.model.calls < times else Say("the answer")

    stage.script = script


def test_a_turn_that_recovers_reads_as_completed_with_its_retries_counted(stage: Stage) -> None:
    allow(stage, 3)
    failing(stage, 2)
    native, seen = stage.run("request-1", "hello")
    assert (seen.status, seen.ended, seen.answer, seen.error) == ("completed", True, "the answer", "none")
    assert seen.retries == 2
    assert stage.model.calls == 3
    wanted = {"status": "completed", "final_answers": 1, "effects": "none", "error": "none", "normal_final": True}
    assert values(stage.inventory("request-1", native), *wanted) == wanted


def test_the_count_rises_while_the_turn_runs(stage: Stage) -> None:
    allow(stage, 2)
    stage.script = lambda request: Drop("half") if stage.model.calls < 2 else Hang(stage.release)
    native = stage.start("request-1", "hello")
    assert stage.model.wait_for_calls(2)
    between = stage.runtime.observe(native, 0.01)
    assert stage.model.wait_for_calls(3)
    late = stage.runtime.observe(native, 0.01)
    assert (between.status, late.status) == ("in_progress", "in_progress")
    assert 1 <= between.retries <= late.retries == 2
    stage.release.set()
    assert stage.runtime.observe(native, 30).retries == 2


def test_a_turn_that_never_recovers_is_a_failed_one_after_all_its_retries(stage: Stage) -> None:
    allow(stage, 2)
    failing(stage, 100)
    native, seen = stage.run("request-1", "hello")
    assert (seen.status, seen.ended, seen.answer) == ("failed", True, None)
    assert seen.error == "other"  # codex has no word of its own for a stream that broke
    assert seen.retries == 2
    assert values(stage.inventory("request-1", native), "error", "effects") == {"error": "other", "effects": "none"}


def test_a_runtime_without_retries_counts_none(stage: Stage) -> None:
    failing(stage, 100)
    _, seen = stage.run("request-1", "hello")
    assert (seen.status, seen.retries) == ("failed", 0)


def test_retries_of_one_turn_are_not_those_of_the_next(stage: Stage) -> None:
    allow(stage, 2)
    failing(stage, 1)
    assert stage.run("request-1", "hello")[1].retries == 1
    assert stage.run("request-2", "more")[1].retries == 0
