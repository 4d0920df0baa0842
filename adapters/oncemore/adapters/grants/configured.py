"""Is a permission still what it was when the conversation began?

The permission is a workspace's entry in the operator's configuration, together with the folder that its path leads
to. Both are read at every call: an edit, a removal or a swapped folder shows at once. Only what equals the record in
every part is `intact`; a configuration that cannot be read says nothing, least of all that an entry is gone.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from oncemore.adapters.configuration import WorkspaceEntry, load_configuration
from oncemore.adapters.errors import AdapterError, FolderMissing, FolderUnreadable, FolderUnsafe
from oncemore.adapters.grants.folders import open_folder
from oncemore.engine.errors import Refused, Unreadable
from oncemore.engine.ports import GrantReading, GrantRef, Profile, Workspace
from oncemore.rules.case import MISSING, Evidence, Reading

State = Literal["intact", "changed", "revoked", "unavailable"]


def _wall_clock() -> int:
    return time.time_ns() // 1_000_000


class ConfiguredGrants:
    """The `Grants` port over one configuration file.

    Args:
        file: the operator's `oncemore.yaml`.
        clock: milliseconds since the epoch, for the evidence.
    """

    def __init__(self, file: Path, clock: Callable[[], int] = _wall_clock) -> None:
        self._file = file
        self._clock = clock

    def grant(self, workspace_id: str) -> GrantRef:
        """The permission as configured now, its folder recorded and closed again.

        Raises:
            Refused: no entry of that id, or its folder is not safe.
            Unreadable: the configuration or the folder could not be read, or the folder is not there.
        """
        try:
            entry = load_configuration(self._file).workspaces.get(workspace_id)
        except AdapterError as error:
            raise Unreadable(str(error)) from error
        if entry is None:
            raise Refused(f"no workspace {workspace_id!r} is configured")
        try:
            folder = open_folder(str(entry.path))
        except FolderUnsafe as error:
            raise Refused(str(error)) from error
        except (FolderMissing, FolderUnreadable) as error:
            raise Unreadable(str(error)) from error
        folder.close()
        return GrantRef(
            workspace_id=workspace_id,
            owner=entry.owner,
            level=entry.level,
            revision=entry.revision,
            root=replace(folder, descriptor=-1),
        )

    def read(self, grant: GrantRef) -> GrantReading:
        """The permission now, beside the record. Only an intact one brings a profile and the opened folder."""
        try:
            entry = load_configuration(self._file).workspaces.get(grant.workspace_id)
        except AdapterError as error:
            return self._unknown("the configuration could not be read", {"error": error.code})
        if entry is None:
            return self._reading("revoked", None, "the workspace is no longer configured")
        if difference := _difference(grant, entry):
            return self._reading("changed", entry, difference)
        try:
            folder = open_folder(str(entry.path))
        except FolderMissing as error:
            return self._reading("unavailable", entry, error.cause)
        except FolderUnsafe as error:
            return self._reading("changed", entry, error.cause)
        except FolderUnreadable as error:
            return self._unknown(error.cause, {"error": error.code}, entry)
        if not folder.same_folder(grant.root):
            folder.close()
            return self._reading("changed", entry, "another folder stands at the path")
        return self._reading("intact", entry, "", folder)

    def _reading(
        self, state: State, entry: WorkspaceEntry | None, cause: str, folder: Workspace | None = None
    ) -> GrantReading:
        evidence = Evidence(
            source="grants",
            observed_at=self._clock(),
            digest=_digest(state, entry, folder),
            details={"cause": cause} if cause else {},
        )
        readings = {
            "grant.state": Reading("known", state, evidence),
            "grant.level": MISSING if entry is None else Reading("known", entry.level, evidence),
        }
        if entry is not None and not entry.recovery:
            readings["request.opted_out"] = Reading("known", True, evidence)
        return GrantReading(
            readings=readings,
            profile=None if entry is None or folder is None else allowed(entry),
            workspace=folder,
        )

    def _unknown(self, cause: str, details: dict[str, str], entry: WorkspaceEntry | None = None) -> GrantReading:
        evidence = Evidence(source="grants", observed_at=self._clock(), details={"cause": cause, **details})
        reported = Reading("reported", None, evidence)
        level = reported if entry is None else Reading("known", entry.level, evidence)
        return GrantReading(readings={"grant.state": reported, "grant.level": level})


def allowed(entry: WorkspaceEntry) -> Profile:
    """The widest profile of a level. None allows the network, nor writing beside the workspace."""
    return Profile(sandbox="workspace_write" if entry.level == "workspace_write" else "read_only")


def _difference(grant: GrantRef, entry: WorkspaceEntry) -> str:
    """What the entry no longer shares with the record, in words without its values; empty when all is equal."""
    pairs = {
        "owner": (grant.owner, entry.owner),
        "level": (grant.level, entry.level),
        "revision": (grant.revision, entry.revision),
        "path": (grant.root.path, str(entry.path)),
    }
    names = [name for name, (then, now) in pairs.items() if then != now]
    return f"configured otherwise than recorded: {', '.join(names)}" if names else ""


def _digest(state: State, entry: WorkspaceEntry | None, folder: Workspace | None) -> str:
    read = {
        "state": state,
        "entry": None if entry is None else [entry.owner, entry.level, entry.revision, str(entry.path)],
        "folder": None if folder is None else [folder.device, folder.inode],
    }
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()
