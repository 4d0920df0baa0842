"""What can go wrong at the edge, before the engine is asked? One family, each with a code.

OncemoreError
└── AdapterError            A1xx
    ├── ConfigurationInvalid    A101  oncemore.yaml does not say what it should; carries its diagnostics
    ├── ConfigurationRefused    A102  oncemore.yaml is absent, unreadable, or somebody else could write it
    ├── FolderError             A11x  a workspace folder was not opened
    │   ├── FolderMissing           A111  nothing is there
    │   ├── FolderUnsafe            A112  a link, another kind of file, or open to other people's writing
    │   └── FolderUnreadable        A113  the system could not say
    └── CallRefused             A2xx  a call over HTTP; says at which status and, in a body, at which place
        ├── NotJson                 A201  the body is not strict JSON
        ├── NotValid                A202  a body or parameter is not what the route takes
        ├── TooLarge                A203  the body is too large
        ├── OtherType               A204  the body is of another content type
        ├── NoKey                   A205  no key, or one that opens nothing
        ├── OutOfScope              A206  the key is not for this
        ├── OtherPlace              A207  Host or Origin is not configured
        ├── TooMany                 A208  too many calls
        ├── NoRoute                 A209  nothing is there, or not with that method
        ├── NotBelieved             A210  an event that is not the app's own, of now
        ├── NotReady                A211  not now; asking again may help
        └── TooSlow                 A213  the body did not come whole in time

What the engine calls through a port raises `PortError` instead.
"""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing to mend in a body or in the parameters of a call.

    Attributes:
        pointer: where in the body, as a JSON pointer; empty for the whole.
        parameter: which parameter of the address instead.
        code: our code of it, which has a page.
        help: what to write instead.
    """

    code: str
    detail: str
    pointer: str | None = None
    parameter: str | None = None
    help: str | None = None


class CallRefused(AdapterError):
    """A call over HTTP that is not done; nothing was changed.

    Attributes:
        status: of the answer.
        mistakes: each with its place.
        after: seconds after which asking again may help; None when it does not.
    """

    code = "A200"
    status = 400

    def __init__(self, detail: str, mistakes: Sequence[Mistake] = (), *, after: int | None = None) -> None:
        super().__init__(detail)
        self.mistakes = tuple(mistakes)
        self.after = after


class NotJson(CallRefused):
    """The body is not strict JSON."""

    code = "A201"


class NotValid(CallRefused):
    """The body, or a parameter, is not what the route takes."""

    code = "A202"
    status = 422


class TooLarge(CallRefused):
    """The body is larger than is read."""

    code = "A203"
    status = 413


class OtherType(CallRefused):
    """The body is of a content type that the route does not take."""

    code = "A204"
    status = 415


class NoKey(CallRefused):
    """There is no key with the call, or it opens nothing."""

    code = "A205"
    status = 401


class OutOfScope(CallRefused):
    """The key is right, and not for this."""

    code = "A206"
    status = 403


class OtherPlace(CallRefused):
    """The call was meant for another host, or a page of another origin made it."""

    code = "A207"
    status = 403


class TooMany(CallRefused):
    """More calls than are taken in this time."""

    code = "A208"
    status = 429


class NoRoute(CallRefused):
    """Nothing is at that address, or not with that method."""

    code = "A209"
    status = 404


class NotBelieved(CallRefused):
    """An event of a Source that is not its own word of now."""

    code = "A210"
    status = 403


class TooSlow(CallRefused):
    """The body did not come whole in time."""

    code = "A213"
    status = 408


class NotReady(CallRefused):
    """It cannot be done at the moment."""

    code = "A211"
    status = 503
