"""What does the service write down of what it does? A JSON object a line: ids, states and codes, and nobody's words."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from oncemore.rules import times

_OWN: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "color_message"}
"""What every record has; the rest is what the line is about."""


class AsJson(logging.Formatter):
    """A record as one line. Of an exception its kind and place stand there: its text could hold somebody's words."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        said: dict[str, Any] = {
            "time": times.format_ms(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        said |= {name: value for name, value in record.__dict__.items() if name not in _OWN and value is not None}
        if record.exc_info and record.exc_info[0] is not None:
            said["error"] = record.exc_info[0].__name__
            if (trace := record.exc_info[2]) is not None:
                while trace.tb_next is not None:
                    trace = trace.tb_next
                said["at"] = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
            if os.environ.get("ONCEMORE_DEBUG") == "1":
                said["trace"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=True, default=str)


@contextmanager
def logged() -> Iterator[None]:
    """The log of Oncemore and of the server, on standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(AsJson())
    before = {}
    for name, level in (("oncemore", logging.INFO), ("uvicorn", logging.WARNING)):
        log = logging.getLogger(name)
        before[log] = log.level
        log.setLevel(level)
        log.addHandler(handler)
    try:
        yield
    finally:
        for log, level in before.items():
            log.removeHandler(handler)
            log.setLevel(level)
