"""Is a permission still what it was, when the operator's file or the folder has changed meanwhile?"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any

import pytest

from oncemore.engine.errors import Refused, Unreadable
from oncemore.engine.ports import GrantReading, GrantRef, Grants, Profile
from oncemore.rules.case import Value
from oncemore.rules.vocabulary import FACTS

pytestmark = pytest.mark.usefixtures("held_open")


def known(reading: GrantReading, fact: str = "grant.state") -> Value | None:
    found = reading.readings[fact]
    return found.value if found.status == "known" else None


def assert_gives_nothing(reading: GrantReading) -> None:
    assert reading.profile is None
    assert reading.workspace is None


def test_a_permission_that_nothing_touched_is_intact_and_brings_its_folder(
    place: Any, held_open: Callable[[], int]
) -> None:
    grants: Grants = place.grants
    recorded = grants.grant("one")
    assert (recorded.owner, recorded.level, recorded.revision) == ("ou_1", "workspace_write", 3)
    assert recorded.root.descriptor == -1
    assert held_open() == 0
    reading = grants.read(recorded)
    assert known(reading) == "intact"
    assert known(reading, "grant.level") == "workspace_write"
    assert reading.workspace is not None
    assert reading.workspace.same_folder(recorded.root)
    assert os.fstat(reading.workspace.descriptor).st_ino == recorded.root.inode
    assert held_open() == 1
    reading.workspace.close()


@pytest.mark.parametrize(
    ("level", "sandbox"),
    [("workspace_read", "read_only"), ("portfolio_read", "read_only"), ("workspace_write", "workspace_write")],
)
def test_a_level_gives_its_profile_and_never_the_network(place: Any, level: str, sandbox: Any) -> None:
    place.configure(level=level)
    reading = place.grants.read(place.grants.grant("one"))
    assert reading.profile == Profile(sandbox=sandbox, writable_roots=(), network=False, approvals="never")
    reading.workspace.close()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"level": "workspace_read"}, "level"),
        ({"level": "portfolio_read"}, "level"),
        ({"owner": "ou_2"}, "owner"),
        ({"revision": 4}, "revision"),
        ({"revision": 2}, "revision"),
        ({"path": "rooms/two"}, "path"),
    ],
)
def test_an_edited_entry_is_changed_at_once(place: Any, change: dict[str, object], said: str) -> None:
    grants = place.grants
    recorded = grants.grant("one")
    place.configure(**change)
    reading = grants.read(recorded)
    assert known(reading) == "changed"
    assert known(reading, "grant.level") == change.get("level", "workspace_write")
    evidence = reading.readings["grant.state"].evidence
    assert evidence is not None
    assert evidence.details["cause"] == f"configured otherwise than recorded: {said}"
    assert_gives_nothing(reading)


def test_a_wider_level_is_changed_too(place: Any) -> None:
    place.configure(level="workspace_read")
    recorded = place.grants.grant("one")
    place.configure(level="workspace_write")
    reading = place.grants.read(recorded)
    assert known(reading) == "changed"
    assert_gives_nothing(reading)


def test_an_entry_that_is_put_back_is_intact_again(place: Any) -> None:
    recorded = place.grants.grant("one")
    place.configure(revision=9)
    assert known(place.grants.read(recorded)) == "changed"
    place.configure()
    reading = place.grants.read(recorded)
    assert known(reading) == "intact"
    reading.workspace.close()


def test_a_removed_entry_is_revoked_and_has_no_level(place: Any) -> None:
    recorded = place.grants.grant("one")
    place.file.write_text("journal: data/oncemore.db\n")
    reading = place.grants.read(recorded)
    assert known(reading) == "revoked"
    assert reading.readings["grant.level"].status == "missing"
    assert_gives_nothing(reading)


@pytest.mark.parametrize("damage", ["invalid", "not yaml", "gone", "writable", "not utf-8", "a folder"])
def test_a_configuration_that_cannot_be_read_is_unknown_and_not_revoked(place: Any, damage: str) -> None:
    recorded = place.grants.grant("one")
    if damage == "invalid":
        place.configure(level="everything")
    elif damage == "not yaml":
        place.file.write_text("journal: [\n")
    elif damage == "writable":
        place.file.chmod(0o666)
    elif damage == "not utf-8":
        place.file.write_bytes(b"journal: \xff\n")
    else:
        place.file.unlink()
        if damage == "a folder":
            place.file.mkdir()
    reading = place.grants.read(recorded)
    assert {name: one.status for name, one in reading.readings.items()} == {
        "grant.state": "reported",
        "grant.level": "reported",
    }
    assert_gives_nothing(reading)
    with pytest.raises(Unreadable):
        place.grants.grant("one")


def test_a_folder_that_is_gone_is_unavailable(place: Any) -> None:
    recorded = place.grants.grant("one")
    place.workspace.rmdir()
    reading = place.grants.read(recorded)
    assert known(reading) == "unavailable"
    assert known(reading, "grant.level") == "workspace_write"
    assert_gives_nothing(reading)


def test_another_folder_in_the_same_place_is_changed(place: Any) -> None:
    recorded = place.grants.grant("one")
    place.workspace.rename(place.workspace.parent / "moved")
    place.workspace.mkdir(mode=0o755)
    reading = place.grants.read(recorded)
    assert known(reading) == "changed"
    assert_gives_nothing(reading)


def test_a_link_in_the_place_of_the_folder_is_changed_even_when_it_leads_to_the_same_one(place: Any) -> None:
    recorded = place.grants.grant("one")
    moved = place.workspace.parent / "moved"
    place.workspace.rename(moved)
    place.workspace.symlink_to(moved)
    reading = place.grants.read(recorded)
    assert known(reading) == "changed"
    assert_gives_nothing(reading)


@pytest.mark.parametrize("which", ["workspace", "parent"])
def test_a_folder_that_others_can_write_now_is_changed(place: Any, which: str) -> None:
    recorded = place.grants.grant("one")
    (place.workspace if which == "workspace" else place.workspace.parent).chmod(0o777)
    reading = place.grants.read(recorded)
    assert known(reading) == "changed"
    assert_gives_nothing(reading)


def test_a_folder_that_the_system_will_not_show_is_unknown(place: Any) -> None:
    long = "x" * 300
    recorded = place.grants.grant("one")
    place.configure(path=long)
    root = dataclasses.replace(recorded.root, path=str(place.file.parent / long))
    reading = place.grants.read(dataclasses.replace(recorded, root=root))
    assert reading.readings["grant.state"].status == "reported"
    assert known(reading, "grant.level") == "workspace_write"
    assert_gives_nothing(reading)


def test_a_new_conversation_needs_a_configured_safe_folder_that_is_there(place: Any) -> None:
    with pytest.raises(Refused, match="no workspace 'two' is configured"):
        place.grants.grant("two")
    place.workspace.chmod(0o777)
    with pytest.raises(Refused, match="can be written by everybody"):
        place.grants.grant("one")
    place.workspace.rmdir()
    with pytest.raises(Unreadable, match="not there"):
        place.grants.grant("one")


def test_what_is_read_is_dated_and_told_apart_by_its_digest(place: Any) -> None:
    recorded: GrantRef = place.grants.grant("one")
    digests = set()
    for change in ({}, {"revision": 4}, {"revision": 5}):
        place.configure(**change)
        reading = place.grants.read(recorded)
        evidence = reading.readings["grant.state"].evidence
        assert evidence.source == "grants"
        assert evidence.observed_at == place.now
        digests.add(evidence.digest)
        if reading.workspace is not None:
            reading.workspace.close()
    assert len(digests) == 3


def test_no_evidence_names_a_path(place: Any) -> None:
    recorded = place.grants.grant("one")
    place.workspace.chmod(0o777)
    evidence = place.grants.read(recorded).readings["grant.state"].evidence
    assert evidence.details
    assert not any("/" in detail for detail in evidence.details.values())


def test_every_value_is_one_that_the_vocabulary_declares(place: Any) -> None:
    reading = place.grants.read(place.grants.grant("one"))
    reading.workspace.close()
    for name, one in reading.readings.items():
        assert one.value in FACTS[name].values
