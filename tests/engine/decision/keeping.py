"""Which decisions were kept on an earlier day, and how were they explained then?

python -m tests.engine.decision.keeping NAME    keep today's decisions of `CASES` under a new name

What is kept is never written again: a later day's rendering is compared with it, byte for byte.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.engine.decision import shipped_case

from oncemore.engine.canonical import canonical
from oncemore.engine.decision import decide
from oncemore.engine.evaluation import Evaluator
from oncemore.engine.explanation import explain
from oncemore.engine.records import judged_by, render

KEPT = Path(__file__).with_name("kept")

CASES: dict[str, dict[str, Any]] = {
    "fires": {},
    "waits": {"turn.ended_ago": 37_000},
    "held": {"source.state": "edited"},
    "denied": {"response.has_gate": True},
    "unread": {"native.read": None},
}
"""What is different from the case on which the shipped continuation fires; None for missing."""


def rendered(stored: bytes, texts: dict[str, dict[str, str]]) -> Iterator[tuple[str, bytes]]:
    """Every rendering of a stored pass, by file name."""
    records = render(stored, texts)
    yield "records.json", canonical(records)
    for lang in ("en", "zh"):
        for audience in ("operator", "agent", "user"):
            for form, ending in (("pretty", "txt"), ("markdown", "md"), ("json", "json")):
                said = "\n".join(explain(record, lang, audience, form) for record in records)  # type: ignore[arg-type]
                yield f"{lang}.{audience}.{ending}", said.encode()


def texts_of(name: str) -> dict[str, dict[str, str]]:
    """The texts that the decisions of a day were judged by, by their digests."""
    texts: dict[str, dict[str, str]] = json.loads((KEPT / name / "texts.json").read_text("utf-8"))
    return texts


def main(name: str) -> None:
    """Keep today's decisions of the continuation."""
    policy = shipped_case.shipped().get(shipped_case.CONTINUE)
    assert policy is not None
    evaluator = Evaluator([policy])
    texts = {policy.digest: dict(policy.texts)} | judged_by()
    (KEPT / name).mkdir(parents=True)
    (KEPT / name / "texts.json").write_text(json.dumps(texts, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    for case, changes in CASES.items():
        folder = KEPT / name / case
        folder.mkdir()
        decided = decide(evaluator, shipped_case.spoil(shipped_case.case(), changes), request="r-1")
        (folder / "stored.json").write_bytes(decided.stored)
        for file, content in rendered(decided.stored, texts):
            (folder / file).write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1])
