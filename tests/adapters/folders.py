"""A folder of a test as a runtime is given it."""

from __future__ import annotations

import os
from pathlib import Path

from oncemore.engine.ports import Workspace


def opened(folder: Path) -> Workspace:
    """The folder, opened; close it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    found = os.fstat(descriptor)
    return Workspace(str(folder), found.st_dev, found.st_ino, descriptor)
