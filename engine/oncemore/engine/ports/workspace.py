"""In which folder does a Turn work, and within which limits?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder, opened without following a link in any component.

    Attributes:
        path: as configured, absolute.
        device, inode: what the opened descriptor is; a path that resolves to another pair is another folder.
        descriptor: the open directory; -1 when it is only recorded. The holder closes it.
    """

    path: str
    device: int
    inode: int
    descriptor: int = -1

    def close(self) -> None:
        """Close the descriptor, if one is held."""
        if self.descriptor >= 0:
            os.close(self.descriptor)

    def same_folder(self, other: Workspace) -> bool:
        """Whether both are the same folder of the file system."""
        return (self.device, self.inode) == (other.device, other.inode)


@dataclass(frozen=True, slots=True)
class Profile:
    """Under what limits a Turn runs; recorded with it, passed explicitly, compared with what the runtime reports.

    Attributes:
        writable_roots: folders beside the workspace that may be written.
        approvals: `never`: nobody is asked, what would need asking is refused.
    """

    sandbox: Literal["read_only", "workspace_write"]
    writable_roots: tuple[str, ...] = ()
    network: bool = False
    approvals: Literal["never"] = "never"

    def narrowed(self, other: Profile) -> Profile:
        """The limits that both allow; never wider than either."""
        read_only = "read_only" in (self.sandbox, other.sandbox)
        return Profile(
            sandbox="read_only" if read_only else "workspace_write",
            writable_roots=() if read_only else tuple(r for r in self.writable_roots if r in other.writable_roots),
            network=self.network and other.network,
        )
