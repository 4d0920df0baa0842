"""Every code has a page, and what the page calls bad is refused with that code while what it calls good is not."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rules.policy_files import gate, policy, write

from oncemore.rules import check, source
from oncemore.rules.cases import load_facts, read_facts
from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.errors import FactsInvalid, RulesError
from oncemore.rules.loading import load_policies
from oncemore.rules.shipped import shipped_policies

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for path in (ROOT / "docs" / "errors").glob("R*.md") if path.stem != "README")
FENCE = re.compile(r"(Bad|Good):\n\n```yaml (\w+)\n(.*?)```\n", re.DOTALL)


def examples() -> Iterator[tuple[str, str, str, str]]:
    for page in PAGES:
        for verdict, kind, text in FENCE.findall(page.read_text(encoding="utf-8")):
            yield page.stem, verdict, kind, text


def whole(kind: str, text: str) -> str:
    """The example with a good policy around it."""
    if kind == "gate":
        return policy("".join(f"  {line}\n" for line in text.splitlines()), more="patience: 24h\n")
    if kind == "top":
        keys = {line.partition(":")[0] for line in text.splitlines()}
        head = policy().splitlines(keepends=True)
        kept = [line for line in head if line.partition(":")[0] not in keys]
        kept = [line for line in kept if not ("then" in keys and line.startswith("  {action"))]
        return "".join(kept) + text
    return text


IDLE = "group: idle\ngates:\n" + gate('native.run_state == "idle"', "idle")


def raised(folder: Path, kind: str, text: str) -> set[str]:
    """The code of the failure with which something ends that is given the example."""
    try:
        if kind == "rules":
            load_policies([write(folder, whole("top", text))])
        elif kind == "case":
            load_facts(write(folder, text, "facts.yaml"), 0)
        else:
            write(folder, text, "levels.yaml")
            if "beside p.yaml" in text:
                write(folder, policy())
            load_policies([folder])
    except RulesError as error:
        return {error.code}
    return set()


def in_a_folder(folder: Path, kind: str, text: str) -> list[Diagnostic]:
    """What is found in a folder of a policy and the example."""
    write(folder, policy())
    if kind == "levels":
        write(folder, text, "levels.yaml")
    elif kind == "second":
        write(folder, whole("top", text), "q.yaml")
    else:
        write(folder, whole("gate", text))
        write(folder, IDLE, "groups/idle.yaml")
    return check.check_paths([folder])


def found(folder: Path, kind: str, text: str) -> list[Diagnostic]:
    if kind in ("levels", "second", "uses"):
        return in_a_folder(folder, kind, text)
    if kind == "facts":
        try:
            read_facts(source.load(text, "facts.yaml"), 1_800_000_000_000)
        except FactsInvalid as error:
            return list(error.diagnostics)
        return []
    shutil.copytree(shipped_policies() / "groups", folder / "groups")
    path = folder / "p.yaml"
    if kind == "tests":
        path.write_text(policy(), encoding="utf-8")
        path = folder / "p_test.yaml"
    path.write_text(whole(kind, text), encoding="utf-8")
    return check.check_paths([path])


@pytest.mark.parametrize(
    ("code", "verdict", "kind", "text"), [pytest.param(*one, id=f"{one[0]}-{one[1]}") for one in examples()]
)
def test_an_example_is_what_its_page_calls_it(tmp_path: Path, code: str, verdict: str, kind: str, text: str) -> None:
    if kind in ("rules", "case", "folder"):
        assert raised(tmp_path, kind, text) == ({code} if verdict == "Bad" else set())
        return
    codes = {one.code for one in found(tmp_path, kind, text)}
    if kind == "file":
        assert (code in codes) is (verdict == "Bad")  # a bare file lacks a policy's keys besides
    else:
        assert codes == ({code} if verdict == "Bad" else set())


TOO_LONG = {"R412"}
"""Codes whose example would fill the page."""


def test_every_page_has_an_example_of_what_is_bad_and_of_what_is_good() -> None:
    shown = {(code, verdict) for code, verdict, _, _ in examples()}
    pages = {page.stem for page in PAGES} - TOO_LONG
    assert shown == {(page, verdict) for page in pages for verdict in ("Bad", "Good")}


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    folder = ROOT / "rules" / "oncemore" / "rules"
    used = {code for path in folder.glob("*.py") for code in re.findall(r'"(R\d{3})"', path.read_text("utf-8"))}
    assert {page.stem for page in PAGES} == used - {RulesError.code}


def test_the_list_of_codes_names_every_page() -> None:
    text = (ROOT / "docs" / "errors" / "README.md").read_text("utf-8")
    for page in PAGES:
        title = page.read_text("utf-8").splitlines()[0].partition(": ")[2]
        assert f"| [{page.stem}]({page.name}) | {title} |" in text
