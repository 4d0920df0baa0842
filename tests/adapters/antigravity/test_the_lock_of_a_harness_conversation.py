"""Is a conversation of the harness never loaded twice, whatever became of its lock file?"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest
from tests.adapters.antigravity.workbench import Workbench

from oncemore.adapters.antigravity.lock import Lock
from oncemore.engine.errors import Busy

pytest.importorskip("websockets")


def removed(bench: Workbench) -> Path:
    path = Lock(bench.home, bench.threads[0].thread_id).path
    path.unlink()
    return path


def test_a_conversation_whose_lock_file_was_removed_is_not_loaded_beside_the_process_that_has_it(
    bench: Workbench,
) -> None:
    bench.run("request-1", "hello")
    path = removed(bench)
    with pytest.raises(Busy, match="lock file is gone"):
        bench.load(runtime=bench.another())
    assert not path.exists()
    bench.runtime.close()
    other = bench.another()
    bench.load(runtime=other)
    assert path.exists() and len(other.processes()) == 1


def test_where_the_kernel_does_not_tell_what_runs_it_is_not_loaded_at_all(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench.run("request-1", "hello")
    bench.runtime.close()
    removed(bench)
    monkeypatch.setattr("oncemore.adapters.antigravity.commands.PROCESSES", tmp_path / "nothing")
    with pytest.raises(Busy, match="lock file is gone"):
        bench.load()


def test_several_may_ask_at_once_whether_it_is_free(tmp_path: Path) -> None:
    lock = Lock(tmp_path, "one")
    os.close(lock.take())
    asks = os.open(lock.path, os.O_RDONLY)
    fcntl.flock(asks, fcntl.LOCK_SH)
    assert lock.free()
    os.close(asks)


def test_a_lock_is_free_only_when_nobody_holds_the_file_that_is_there(tmp_path: Path) -> None:
    lock = Lock(tmp_path, "one")
    assert not lock.free()
    held = lock.take()
    assert not lock.free()
    with pytest.raises(Busy):
        lock.take()
    os.close(held)
    assert lock.free()


def test_a_file_that_is_put_in_its_place_while_it_is_taken_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = Lock(tmp_path, "one")
    os.close(lock.take())
    flock = fcntl.flock

    def replaced(descriptor: int, how: int) -> None:
        flock(descriptor, how)
        lock.path.unlink()
        lock.path.touch()

    monkeypatch.setattr(fcntl, "flock", replaced)
    with pytest.raises(Busy, match="replaced"):
        lock.take()


def test_a_link_in_its_place_proves_nothing(tmp_path: Path) -> None:
    lock = Lock(tmp_path, "one")
    os.close(lock.take())
    lock.path.rename(lock.path.with_name("elsewhere"))
    lock.path.symlink_to("elsewhere")
    assert not lock.free()
