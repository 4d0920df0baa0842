"""What does the owner allow? Permissions over workspaces, read back from the operator's configuration."""

from __future__ import annotations

from oncemore.adapters.grants.configured import ConfiguredGrants
from oncemore.adapters.grants.folders import open_folder

__all__ = ["ConfiguredGrants", "open_folder"]
