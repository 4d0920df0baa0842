"""How does a folder of one's own begin? Everything that it needs, written once and never over something else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

CONFIGURATION = """\
# What Oncemore may use on this machine. Only you may write this file; docs: configuration.
journal: data/oncemore.db
policies: policies
levels: policies/levels.yaml       # fills the new journal; afterwards `oncemore levels` counts

runtimes:
  codex:
    home: data/codex               # Codex's own folder: its configuration, login and threads
    environment: [OPENAI_API_KEY]  # passed on as it is set for the worker

workspaces:
  first:
    path: workspace
    owner: {owner}
    level: workspace_write
    revision: 1                    # raise it with every change of the permission

budgets:                           # at most; what waits for one has spent nothing
  per_hour: 60                     # recoveries in any hour
  routes:
    codex: {{in_flight: 4}}
  breaker: {{in_a_row: 5}}           # after so many failures in a row nothing begins: `oncemore breaker`
"""

WORKFLOW = """\
# A GitHub workflow: copy it to .github/workflows/ of the repository that holds policies/.
name: rules
on: [push, pull_request]
permissions: {{contents: read}}
jobs:
  rules:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {{python-version: "3.12"}}
      - run: CPPFLAGS=-DPyEval_CallObject=PyObject_CallObject pip install "oncemore=={version}"
      - run: oncemore fmt --diff policies
      - run: oncemore check policies --format github
      - run: oncemore test policies --format github --junit rules.xml
      - run: oncemore test policies --format markdown >> "$GITHUB_STEP_SUMMARY"
        if: always()
"""

HOOKS = """\
# Hooks for pre-commit: copy them to .pre-commit-config.yaml of the repository that holds policies/.
repos:
  - repo: local
    hooks:
      - id: oncemore-fmt
        name: rules are in their one form
        entry: oncemore fmt policies
        language: system
        files: ^policies/
        pass_filenames: false
      - id: oncemore-check
        name: rules are sound
        entry: oncemore check policies
        language: system
        files: ^policies/
        pass_filenames: false
      - id: oncemore-test
        name: rules decide as their tests say
        entry: oncemore test policies
        language: system
        files: ^policies/
        pass_filenames: false
"""

README = """\
# Oncemore, here

    oncemore doctor                       # what is missing on this machine, with the command that mends it
    oncemore check                        # are the rules in policies/ sound?
    oncemore fmt                          # the rule files in their one form
    oncemore test                         # do they decide as their tests say?
    oncemore ask first "Write a summary." # a message to the workspace `first`; prints its Request
    oncemore work                         # answer it, and do once more what may be done once more
    oncemore serve                        # the same with an API and a page, instead of `work`; prints a key once
    oncemore requests                     # what waits, what is held, and which command helps
    oncemore levels                       # policies begin at `shadow`: decided and recorded, nothing done

| here | is |
|---|---|
| `oncemore.yaml` | folders, programs and permissions; only you may write it |
| `policies/` | the rules with their tests, yours to change |
| `docs/` | schemas by which editors complete and check the rules; `oncemore schema --write docs` renews them |
| `policies/levels.yaml` | the levels that a new journal begins with |
| `rules-workflow.yaml` | lines for continuous integration |
| `rules-pre-commit.yaml` | lines for pre-commit |
| `workspace/` | the folder that conversations work in |
| `data/` | the journal and the runtime's own folder; private, never to be committed |
"""

FOLDERS: Mapping[str, int] = {"data": 0o700, "data/codex": 0o700, "workspace": 0o755}
"""Folders that are made when they are absent, with the mode of a new one."""


class Occupied(Exception):
    """Files stand where new ones would; nothing was written.

    Attributes:
        files: all of them.
    """

    def __init__(self, files: list[Path]) -> None:
        super().__init__(", ".join(map(str, files)))
        self.files = files


def found(folder: Path, *, owner: str, version: str, shipped: Path, schemas: Path) -> list[Path]:
    """Write the files; which ones.

    Args:
        owner: who gives the permission for the first workspace.
        shipped: the folder of policies to copy.
        schemas: the folder of the schemas that their first lines name.

    Raises:
        Occupied: a file is there already, or something else where a folder is needed.
        OSError: the system refused; what had been written was removed again.
    """
    contents: dict[Path, tuple[bytes, int]] = {
        folder / "oncemore.yaml": (CONFIGURATION.format(owner=owner).encode(), 0o600),
        folder / "README.md": (README.encode(), 0o644),
        folder / "rules-workflow.yaml": (WORKFLOW.format(version=version).encode(), 0o644),
        folder / "rules-pre-commit.yaml": (HOOKS.encode(), 0o644),
        folder / ".gitignore": (b"/data/\n", 0o644),
    }
    for file in sorted(shipped.rglob("*.yaml")):
        contents[folder / "policies" / file.relative_to(shipped)] = (file.read_bytes(), 0o644)
    for file in sorted(schemas.glob("*.schema.json")):
        contents[folder / "docs" / file.name] = (file.read_bytes(), 0o644)
    folders = [folder / name for name in FOLDERS]
    taken = [file for file in contents if os.path.lexists(file)]
    needed = {*folders, *(parent for file in contents for parent in [file.parent]), folder}
    taken += sorted(one for one in needed if os.path.lexists(one) and not one.is_dir())
    if taken:
        raise Occupied(taken)
    made: list[Path] = []
    try:
        _make_folder(folder, 0o755, made)
        for name, mode in FOLDERS.items():
            _make_folder(folder / name, mode, made)
        for file, (content, mode) in contents.items():
            _make_folder(file.parent, 0o755, made)
            # O_EXCL: what appeared there since the look above is not overwritten either.
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
            made.append(file)
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(content)
    except BaseException:
        for one in reversed(made):
            if one.is_dir():
                one.rmdir()
            else:
                one.unlink()
        raise
    return list(contents)


def _make_folder(folder: Path, mode: int, made: list[Path]) -> None:
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(mode=mode if one == folder else 0o755)
        made.append(one)
        if one == folder:
            # Others may pass through or read as the mode says, whatever the umask; never write.
            one.chmod(mode)
