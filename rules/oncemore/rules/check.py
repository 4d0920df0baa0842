"""What is wrong with rule files, and what is legal but hardly meant?

Errors keep files from loading, and no mistake keeps another one from being seen. Findings are warnings: those of `lint`
on gates, a group that nobody takes, a level for no policy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from oncemore.rules.allowing import without_allowed
from oncemore.rules.cases import read_tests
from oncemore.rules.cells import Undecided
from oncemore.rules.diagnostics import Diagnostic, in_order
from oncemore.rules.errors import FactsInvalid
from oncemore.rules.expectations import Known, known_beside, known_from
from oncemore.rules.folder import test_files
from oncemore.rules.levels import read_levels
from oncemore.rules.lint import findings
from oncemore.rules.loading import read_policies
from oncemore.rules.reading import Group, Loaded
from oncemore.rules.rivals import Rivals
from oncemore.rules.source import Document, read
from oncemore.rules.typecheck import nearest
from oncemore.rules.witness import facts_text

NEEDED_ELSEWHERE = ("R410", "R411")
"""Findings that a gate does nothing: one of a group may do nothing in one policy and be needed in another."""


def check_paths(paths: Sequence[Path]) -> list[Diagnostic]:
    """Everything there is to say about rule files, in order.

    Of a folder its policies, groups, levels and tests are looked at; of a file that file and the groups it takes.

    Raises:
        NoPolicies: there is no rule file.
    """
    tests = [path for path in paths if path.name.endswith("_test.yaml")]
    levels = [path for path in paths if path.name.startswith("levels") and path.suffix == ".yaml"]
    rules = [path for path in paths if path not in tests and path not in levels]
    folders = [path for path in rules if path.is_dir()]
    tests += [file for folder in folders for file in test_files(folder)]
    levels += [file for folder in folders for file in sorted(folder.glob("levels*.yaml"))]
    found: list[Diagnostic] = []
    loaded = None
    if rules or not (tests or levels):
        loaded = read_policies(rules)
        found += _rules(loaded, folders)
    found += (one for path in levels for one in _levels(read(path), loaded if folders else None))
    found += (one for path in tests for one in _tests(read(path), known_beside(path)))
    return in_order(found)


def _rules(loaded: Loaded, folders: Sequence[Path]) -> list[Diagnostic]:
    found = list(loaded.diagnostics)
    found += _semantic(loaded)
    found += _unused_groups(loaded, folders)
    found += _rivals(loaded)
    judged = {reading.document.file for reading in loaded.readings if reading.whole}
    if all(reading.whole for reading in loaded.readings):
        # What a group's gates are found to be depends on who takes them: only all policies together show that.
        judged |= {group.document.file for group in loaded.groups if _folder_of(group) in folders}
    for document in loaded.documents:
        # Which policies meet is known when all those of the folder are checked, and all of them load.
        alone = bool(loaded.errors) or Path(document.file).parent not in folders
        found = without_allowed(document, found, unneeded=document.file in judged, unsought=("R408",) if alone else ())
    return found


def _semantic(loaded: Loaded) -> Iterator[Diagnostic]:
    """The findings on each policy; those on a group's gate once, and that it decides nothing only if so in all."""
    said: dict[tuple[str, int, int, str], list[Diagnostic]] = {}
    takers: Counter[str] = Counter()
    for reading in loaded.readings:
        takers.update({use.found.document.file for use in reading.uses if reading.whole})
        for one in findings(reading):
            said.setdefault((one.file, one.line, one.column, one.code), []).append(one)
    groups = {group.document.file for group in loaded.groups}
    for (file, _, _, code), alike in said.items():
        if file in groups and code in NEEDED_ELSEWHERE and len(alike) < takers[file]:
            continue
        yield from alike if file not in groups else list({one.message: one for one in alike}.values())


def _rivals(loaded: Loaded) -> Iterator[Diagnostic]:
    """Pairs of policies that both fire on some case: then neither acts."""
    if loaded.errors:
        return
    documents = {reading.name: reading.document for reading in loaded.readings}
    rivals = Rivals(loaded.policies)
    for first, second in combinations(sorted(policy.name for policy in loaded.policies), 2):
        document = documents[second]
        assert document.root is not None
        names = f"`{first}` and `{second}`"
        case = None
        try:
            witness = rivals.both_fire(first, second)
        except Undecided:
            message = f"{names} have too many combinations to say whether both can fire on one case"
            help_ = "say in `when` which case each of them is for"
        else:
            if witness is None:
                continue
            message = f"{names} can both fire on one case, and then neither acts"
            help_ = "give one a `when` or a gate that the other does not pass, or keep one of them off `enforce`"
            case = facts_text(witness)
        place = document.root.keys["policy"]
        yield document.diagnostic("R408", message, place, help=help_, severity="warning", path=("policy",), case=case)


def _unused_groups(loaded: Loaded, folders: Sequence[Path]) -> Iterator[Diagnostic]:
    if not known_from(loaded).whole or not all(reading.ids_known for reading in loaded.readings):
        return  # what could not be read may take it
    for group in loaded.groups:
        root = group.document.root
        if _folder_of(group) in folders and not group.used and root is not None and "group" in root.keys:
            yield group.document.diagnostic(
                "R404",
                f"no policy takes the group `{Path(group.name).stem}`",
                root.keys["group"],
                help="take it with `- use:`, or delete the file",
                severity="warning",
            )


def _folder_of(group: Group) -> Path:
    return Path(group.document.file).parent.parent


def _levels(document: Document, loaded: Loaded | None) -> Iterator[Diagnostic]:
    levels, diagnostics = read_levels(document)
    yield from diagnostics
    if loaded is None or document.root is None:
        return
    policies = known_from(loaded)
    if not policies.whole:
        return
    for name in levels:
        if name not in policies.gates:
            close = nearest(name, policies.names)
            yield document.diagnostic(
                "R405",
                f"there is no policy `{name}`",
                document.root.keys[name],
                path=(name,),
                help=f"did you mean `{close}`?" if close else None,
                severity="warning",
            )


def _tests(document: Document, known: Known | None) -> Sequence[Diagnostic]:
    try:
        read_tests(document, known)
    except FactsInvalid as error:
        return error.diagnostics
    return ()
