"""What can go wrong at the edge, before the engine is asked? One family, each with a code.

OncemoreError
└── AdapterError            A1xx
    ├── ConfigurationInvalid    A101  oncemore.yaml does not say what it should; carries its diagnostics
    ├── ConfigurationRefused    A102  oncemore.yaml is absent, unreadable, or somebody else could write it
    └── FolderError             A11x  a workspace folder was not opened
        ├── FolderMissing           A111  nothing is there
        ├── FolderUnsafe            A112  a link, another kind of file, or open to other people's writing
        └── FolderUnreadable        A113  the system could not say

What the engine calls through a port raises `PortError` instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncemore.engine.errors import OncemoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oncemore.rules.diagnostics import Diagnostic


class AdapterError(OncemoreError):
    """A failure of an adapter that is not a port's answer."""

    code = "A100"


class ConfigurationInvalid(AdapterError):
    """The operator's file has mistakes.

    Attributes:
        diagnostics: every mistake, in the order of the file.
    """

    code = "A101"

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        others = len(self.diagnostics) - 1
        super().__init__(self.diagnostics[0].compact() + (f" (and {others} more)" if others else ""))


class ConfigurationRefused(AdapterError):
    """The operator's file may not be used as it stands; the text says what mends it."""

    code = "A102"


class FolderError(AdapterError):
    """A folder could not be opened as a workspace.

    Attributes:
        cause: the same without any path, for readers who are not the operator.
    """

    code = "A110"

    def __init__(self, path: str, cause: str, advice: str = "") -> None:
        self.cause = cause
        super().__init__(f"{path}: {cause}" + (f"; {advice}" if advice else ""))


class FolderMissing(FolderError):
    """Nothing is at that path now."""

    code = "A111"


class FolderUnsafe(FolderError):
    """The path leads through a link or a file, or somebody else can change what it leads to."""

    code = "A112"


class FolderUnreadable(FolderError):
    """The system did not let us look; nothing is known of the folder."""

    code = "A113"
