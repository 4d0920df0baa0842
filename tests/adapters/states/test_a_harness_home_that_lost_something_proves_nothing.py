"""Is what was lost from a harness's home taken for what never was, or a call that was turned down for no call?"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.adapters.antigravity.stand import values
from tests.adapters.antigravity.workbench import READ, Workbench, opened

from oncemore.adapters.antigravity import store
from oncemore.adapters.antigravity.outbox import Outbox
from oncemore.adapters.demo.model import Call, Say, Shell
from oncemore.engine.ports import Inventory

pytest.importorskip("websockets")

LOST = {"native.read": "unreadable", "native.coverage": "partial"}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    with opened(tmp_path) as made:
        yield made


def remove_store(bench: Workbench) -> None:
    for path in (bench.home / "save").glob(f"{bench.threads[0].thread_id}.db*"):
        path.unlink()


def is_lost(inventory: Inventory) -> bool:
    return not inventory.complete and values(inventory.readings, *LOST) == LOST


def test_a_turn_whose_store_is_gone_is_not_proven_absent(bench: Workbench) -> None:
    native, _ = bench.run("request-1", "hello")
    remove_store(bench)
    assert is_lost(bench.inventory("request-1", native))
    bench.runtime.close()
    inventory = bench.inventory("request-1", native)
    assert is_lost(inventory)
    evidence = inventory.readings["native.read"].evidence
    assert evidence is not None and "store is gone" in evidence.details["why"]


def test_a_turn_whose_home_was_replaced_is_not_proven_absent(bench: Workbench) -> None:
    native, _ = bench.run("request-1", "hello")
    bench.runtime.close()
    shutil.rmtree(bench.home)
    assert is_lost(bench.inventory("request-1", native))
    bench.home.mkdir()
    assert is_lost(bench.inventory("request-1", native))


def test_a_conversation_without_a_store_into_which_nothing_was_sent_is_empty(bench: Workbench) -> None:
    bench.load()
    bench.runtime.close()
    remove_store(bench)
    assert bench.inventory("request-1").complete
    Outbox(bench.home, bench.threads[0].thread_id).write("request-1", 0, "hello")
    assert is_lost(bench.inventory("request-1"))


def test_a_store_that_ends_before_its_executor_did_is_not_whole(bench: Workbench) -> None:
    bench.script = lambda request: [Shell("echo made > made"), Say("made")]
    native, _ = bench.run("request-1", "hello")
    bench.runtime.close()
    with closing(sqlite3.connect(store.path_of(bench.home, native.thread_id))) as database, database:
        database.execute("delete from steps where idx = (select max(idx) from steps)")
    assert is_lost(bench.inventory("request-1", native))


def test_a_lock_file_that_is_gone_proves_neither_rest_nor_an_end(bench: Workbench) -> None:
    native = bench.start("request-1", "hang")
    assert bench.model.wait_for_calls(1)
    (bench.home / "locks" / f"{native.thread_id}.lock").unlink()
    inventory = bench.inventory("request-1", native, bench.another())
    assert inventory.observation is None and not inventory.complete
    assert values(inventory.readings, "native.run_state", "native.background", "native.status") == {
        "native.run_state": "reported",
        "native.background": "reported",
        "native.status": "reported",
    }


@pytest.mark.parametrize("call", [Shell("echo x > made"), Call("teleport", {"to": "there"})])
def test_a_call_that_was_turned_down_is_neither_no_effect_nor_mere_reading(
    bench: Workbench, call: Shell | Call
) -> None:
    bench.script = lambda request: [call, Say("done")]
    native, seen = bench.run("request-1", "hello", READ)
    inventory = bench.inventory("request-1", native)
    assert seen.answer == "done"
    assert values(inventory.readings, "native.effects") == {"native.effects": "reported"}
    assert inventory.only_reading is None
    assert not (bench.folder / "made").exists()


def test_a_call_that_was_carried_out_and_only_looked_is_mere_reading(bench: Workbench) -> None:
    bench.script = lambda request: [Call("list_dir", {"DirectoryPath": str(bench.folder)}), Say("done")]
    native, _ = bench.run("request-1", "hello", READ)
    inventory = bench.inventory("request-1", native)
    assert values(inventory.readings, "native.effects") == {"native.effects": "none"}
    assert inventory.only_reading is True
