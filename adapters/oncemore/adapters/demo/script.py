"""What does the scripted model of the demo do, being asked twice?

Like a real one it acts on what its commands print. Asked for both parts it writes the first, finds no source for the
second, says so and reports it. Asked to go on it looks at what is there first, and writes only what is missing.
"""

from __future__ import annotations

import json
import re
from typing import Final

from oncemore.adapters.demo.model import ModelRequest, Say, Script, Shell
from oncemore.engine.prompts import CONTINUATION
from oncemore.engine.response import Tags

MESSAGE: Final = "Please write part-one.md and part-two.md, each from its text in source/."

PARTS: Final = {"part-one.md": "source/one.txt", "part-two.md": "source/two.txt"}

MISSING: Final = "not available"

_WORD = re.compile(r"<oncemore-(\w+)>")


def answer(request: ModelRequest) -> Script:
    """The next reply of the model."""
    if is_continuation(request.last_user):
        return _go_on(request.tool_results_since_user)
    return _begin(request)


def is_continuation(text: str) -> bool:
    """Whether an input is Oncemore's own, not the person's message."""
    return text.startswith(CONTINUATION)


def _begin(request: ModelRequest) -> Script:
    first, second = PARTS
    partial = f"{first} is written. {second} is not: its source {PARTS[second]} is not available at the moment."
    # A source that is not there is told by a command that succeeds; a failed one would leave it open what it did.
    steps = (
        Shell(f"cat {PARTS[first]} > {first} && echo {first} written"),
        Shell(f"if [ -e {PARTS[second]} ]; then echo available; else echo {PARTS[second]}: {MISSING}; fi"),
    )
    done = request.tool_results_since_user
    if len(done) < len(steps):
        return steps[len(done)]
    if f"{first} written" not in done[0] or MISSING not in done[1]:
        return Say(f"I could not work as I was asked to. My commands said: {' / '.join(map(_output, done))}")
    return Say(f"{partial}\n{_report(request.last_user, first, second)}")


def _go_on(done: tuple[str, ...]) -> Script:
    if not done:
        return Shell("ls")
    missing = [part for part in PARTS if part not in done[0]]
    if len(done) == 1 and missing:
        written = " && ".join(f"cat {PARTS[part]} > {part}" for part in missing)
        return Shell(f"{written} && echo {', '.join(missing)} written")
    kept = [part for part in PARTS if part not in missing]
    if missing and "written" not in done[-1]:
        return Say(f"I could not write {', '.join(missing)}. My command said: {_output(done[-1])}")
    return Say(f"{', '.join(missing)} is written now. {', '.join(kept)} was there already; I left it as it was.")


def _output(result: str) -> str:
    """What a command printed, without what Codex says of the command."""
    return result.rpartition("Output:\n")[2].strip()


def _report(asked: str, completed: str, remaining: str) -> str:
    found = _WORD.search(asked)
    if found is None:
        return ""
    tags = Tags(found[1])
    report = {"completed": completed, "remaining": remaining, "effects_settled": True}
    return f"{tags.opening}{json.dumps({'report': report})}{tags.closing}"
