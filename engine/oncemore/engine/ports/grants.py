"""What does the engine need of the owner's permissions?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from oncemore.engine.ports.workspace import Profile, Workspace
from oncemore.rules.case import Reading


@dataclass(frozen=True, slots=True)
class GrantRef:
    """A grant as it stood when the Session was made.

    Attributes:
        workspace_id: the configured id of the workspace.
        level: `workspace_read`, `workspace_write` or `portfolio_read`.
        root: the folder as it was then, without an open descriptor.
    """

    workspace_id: str
    owner: str
    level: str
    revision: int
    root: Workspace


@dataclass(frozen=True, slots=True)
class GrantReading:
    """A grant as it stands now.

    Attributes:
        readings: `grant.state` and `grant.level`; `request.opted_out`, true, where the owner wants no recoveries.
        profile: the widest profile that it allows; None when it allows none.
        workspace: the folder, opened; None when it could not be opened. The caller closes it.
    """

    readings: Mapping[str, Reading]
    profile: Profile | None = None
    workspace: Workspace | None = None


class Grants(Protocol):
    """The owner's permissions, read back."""

    def grant(self, workspace_id: str) -> GrantRef:
        """The grant as configured now, for a new Session.

        Raises:
            Refused: there is none of that id.
            Unreadable: it cannot be read.
        """

    def read(self, grant: GrantRef) -> GrantReading:
        """The grant now, compared with what was recorded."""
