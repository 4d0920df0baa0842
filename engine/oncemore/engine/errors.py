"""What can go wrong in the engine? One family, each with a code.

OncemoreError
├── EngineUnavailable   E101  durable-rules cannot be loaded
├── EngineFault         E102  an evaluation broke an invariant
├── JournalError        E2xx
│   ├── JournalRefused      E201  folder, file or second writer refused
│   │   └── JournalInterrupted  E206  the database server broke it off
│   ├── Conflict            E202  same identity, other content
│   ├── FactsChanged        E203  the journal moved between decision and transaction
│   ├── NotFound            E204
│   └── LeaseLost           E205  another worker works on the Session now
└── PortError           E3xx  the outside could not be read or told; its facts become unknown
    ├── Unreadable          E301
    ├── Busy                E302  somebody else holds the native writer lock
    ├── Refused             E303  the outside answered no, and did nothing
    ├── Uncertain           E304  no answer; it may or may not have happened
    └── OtherThanDecided    E305  what was read is other than what was decided on
"""

from __future__ import annotations

from typing import ClassVar


class OncemoreError(Exception):
    """A failure that Oncemore names."""

    code: ClassVar[str] = "E000"


class EngineUnavailable(OncemoreError):
    """durable-rules cannot be loaded."""

    code = "E101"


class EngineFault(OncemoreError):
    """An evaluation broke an invariant: no outcome may be taken from it."""

    code = "E102"


class JournalError(OncemoreError):
    """The journal refused something."""

    code = "E200"


class JournalRefused(JournalError):
    """The data folder or file may not be used: too open, not ours, or held by another worker."""

    code = "E201"


class Conflict(JournalError):
    """The same identity with other content; nothing was overwritten."""

    code = "E202"


class FactsChanged(JournalError):
    """The journal no longer says what the decision was made on; the decision is discarded."""

    code = "E203"


class NotFound(JournalError):
    """Nothing of that name is in the journal."""

    code = "E204"


class LeaseLost(JournalError):
    """Another worker has taken the Session over. Whoever held it before can write nothing for it any more."""

    code = "E205"


class JournalInterrupted(JournalRefused):
    """The database server broke the work off: it was not reached, or two units of work waited for each other.

    Attributes:
        undone: the server itself said so, and nothing was written. Otherwise the connection broke, and where that was
            at the very end, what was done may have been kept.
    """

    code = "E206"

    def __init__(self, text: str, *, undone: bool = False) -> None:
        super().__init__(text)
        self.undone = undone


class PortError(OncemoreError):
    """The outside could not be read or told. What it would have supplied is unknown, never a default."""

    code = "E300"


class Unreadable(PortError):
    """A read failed or was incomplete."""

    code = "E301"


class Busy(PortError):
    """Somebody else holds what the call needs, such as the native writer lock; nothing happened."""

    code = "E302"


class Refused(PortError):
    """The outside answered no; it is certain that nothing happened."""

    code = "E303"


class Uncertain(PortError):
    """No answer arrived: the call may or may not have had its effect."""

    code = "E304"


class OtherThanDecided(PortError):
    """What was read is other than what was decided on: it was read, and is not used."""

    code = "E305"
