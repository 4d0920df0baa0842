"""What can go wrong with rules and facts? One family, each with a code.

RulesError
├── ExpressionError   R301  a condition cannot be read
├── TooComplex        R212  a condition has too many terms
├── RulesInvalid      R001  rule files do not load; carries every diagnostic
├── FactsInvalid      R002  a facts or test file does not load; carries every diagnostic
└── NoPolicies        R003  there is nothing to load
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oncemore.rules.diagnostics import Diagnostic
    from oncemore.rules.expression import Span


class RulesError(Exception):
    """A failure of rules or facts that Oncemore names."""

    code: ClassVar[str] = "R000"


class ExpressionError(RulesError):
    """The text of a condition cannot be read.

    Attributes:
        span: where in the text, code points.
        expected: what could have stood there, in words; empty when that says nothing.
        help: what to write instead.
    """

    code = "R301"

    def __init__(self, message: str, span: Span, expected: tuple[str, ...] = (), help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.expected = expected
        self.help = help


class TooComplex(RulesError):
    """A condition has more terms than are evaluated.

    Attributes:
        count: how many there are, at least.
        limit: how many there may be.
    """

    code = "R212"

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(f"this condition has {count} combinations of comparisons; at most {limit} are evaluated")
        self.count = count
        self.limit = limit


class _Invalid(RulesError):
    """Files with errors; the first one speaks for all in `str()`."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(diagnostics[0].compact() if diagnostics else "")
        self.diagnostics = tuple(diagnostics)


class RulesInvalid(_Invalid):
    """Rule files do not load."""

    code = "R001"


class FactsInvalid(_Invalid):
    """A facts file or a test file does not load."""

    code = "R002"


class NoPolicies(RulesError):
    """No rule file was found where one was looked for."""

    code = "R003"
