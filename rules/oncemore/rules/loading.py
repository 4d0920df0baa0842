"""Which policies do the rule files of a folder hold?

All files are read, and everything wrong in any of them is reported together, in order. What loads is good: conditions
type-checked, gates bounded, actions and tries fitting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oncemore.rules.digests import digest_of
from oncemore.rules.errors import NoPolicies, RulesInvalid
from oncemore.rules.folder import GROUPS, policy_files
from oncemore.rules.policy import Policy
from oncemore.rules.reading import Loaded, add_group, add_policy
from oncemore.rules.source import Document, load, read


@dataclass(frozen=True, slots=True)
class PolicySet:
    """Policies that load.

    Attributes:
        policies: sorted by name.
        digest: `sha256:` over the names and digests of the policies.
        directory: where they were taken from.
    """

    policies: tuple[Policy, ...]
    digest: str
    directory: str

    def get(self, name: str) -> Policy | None:
        """The policy of that name."""
        return next((policy for policy in self.policies if policy.name == name), None)


def load_policies(paths: Sequence[Path]) -> PolicySet:
    """The policies in folders and files.

    Of a folder every `*.yaml` but tests and levels is a policy; groups stand in its `groups/`. The groups of a single
    file stand in `groups/` beside it.

    Raises:
        NoPolicies: there is no rule file.
        RulesInvalid: with every error of every file.
    """
    loaded = read_policies(paths)
    if loaded.errors:
        raise RulesInvalid(loaded.errors)
    if not loaded.policies:
        raise NoPolicies(f"there are groups, but no policy; looked in {', '.join(str(path) for path in paths)}")
    policies = tuple(sorted(loaded.policies, key=lambda policy: policy.name))
    directory = paths[0] if paths[0].is_dir() else paths[0].parent
    return PolicySet(policies, digest_of({policy.name: policy.digest for policy in policies}), str(directory))


def read_policies(paths: Sequence[Path]) -> Loaded:
    """The same without raising for errors in files: what could be made, and every diagnostic.

    Raises:
        NoPolicies: there is no rule file.
    """
    files = list(dict.fromkeys(file for path in paths for file in policy_files(path)))
    if not files:
        looked = ", ".join(str(path) for path in paths) or "nowhere"
        raise NoPolicies(f"no rule file was found; looked in {looked}")
    loaded = Loaded()
    for path in files:
        if path.absolute().parent.name == GROUPS:
            add_group(loaded, path.stem, read(path), path.name)
    files = [path for path in files if path.absolute().parent.name != GROUPS]
    for folder in dict.fromkeys(file.parent for file in files):
        groups = {}
        for path in sorted((folder / GROUPS).glob("[!.]*.yaml")):
            groups[path.stem] = add_group(loaded, path.stem, read(path), _named(folder, path))
        for path in files:
            if path.parent == folder:
                add_policy(loaded, read(path), _named(folder, path), groups)
    return loaded


def read_group(path: Path) -> Document:
    """A group's file by itself, with everything that is wrong with it."""
    loaded = Loaded()
    return add_group(loaded, path.stem, read(path), path.name).document


def policy_from_texts(file: str, texts: Mapping[str, str]) -> Policy:
    """A policy from the texts kept with a decision, as in `Policy.file` and `Policy.texts`.

    Raises:
        RulesInvalid: the texts do not load.
    """
    loaded = Loaded()
    groups = {}
    for name, text in texts.items():
        if name != file:
            stem = Path(name).stem
            groups[stem] = add_group(loaded, stem, load(text, name), name)
    add_policy(loaded, load(texts[file], file), file, groups)
    if loaded.errors or not loaded.policies:
        raise RulesInvalid(loaded.errors)
    return loaded.policies[0]


def _named(folder: Path, path: Path) -> str:
    return f"{folder.resolve().name}/{path.relative_to(folder).as_posix()}"
