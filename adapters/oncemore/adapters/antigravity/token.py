"""Where does the language server's token come from? From one place that the operator names, each time it is needed.

It changes with every start of the server and is a secret of the person who runs it: it is never kept here, never
shown, and leaves this program in one request header only.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from oncemore.engine.errors import Refused

BYTES = 4096
_VISIBLE = re.compile(r"[!-~]+\Z")


@dataclass(frozen=True, slots=True)
class Token:
    """The place of a token: an environment variable or a file of which only the owner may read.

    Attributes:
        environment: the variable's name.
        file: read when no variable is named.
    """

    environment: str | None = None
    file: Path | None = None

    def read(self) -> str:
        """The token as it is now.

        Raises:
            Refused: it is not there, empty, more than one word, or open to others; the text never shows it.
        """
        if self.environment is not None:
            text, place = os.environ.get(self.environment, ""), f"the environment variable {self.environment}"
        elif self.file is not None:
            text, place = _of_file(self.file), f"the file {self.file}"
        else:
            raise Refused("no place of the language server's token is configured")
        word = text.strip()
        if not _VISIBLE.match(word):
            raise Refused(f"{place} does not hold one token")
        return word


def _of_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise Refused(f"the file {path} can be read or changed by others: make it mode 600")
            return file.read(BYTES).decode("ascii", "replace")
    except OSError as error:
        raise Refused(f"the file {path} cannot be read: {error.strerror}") from None
