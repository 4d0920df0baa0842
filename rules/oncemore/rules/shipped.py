"""Where are the policies, the schemas of rule files and the pages of codes that Oncemore ships?"""

from __future__ import annotations

from pathlib import Path

from oncemore.rules.errors import NoPolicies


def shipped_policies() -> Path:
    """The folder of the shipped policies: the checkout's, else the copy inside the installed package.

    Raises:
        NoPolicies: neither is there; the installation is damaged.
    """
    return _shipped("policies", "policies", "groups")


def shipped_schemas() -> Path:
    """The folder of the JSON Schemas of rule files: the checkout's, else the copy inside the installed package.

    Raises:
        NoPolicies: neither is there; the installation is damaged.
    """
    return _shipped("schemas", "docs", "policy.schema.json")


def shipped_pages() -> Path:
    """The folder of the pages that say what each code means: the checkout's, else the copy in the installed package.

    Raises:
        NoPolicies: neither is there; the installation is damaged.
    """
    return _shipped("pages", "docs/errors", "R001.md")


def _shipped(inside: str, checked_out: str, known: str) -> Path:
    """A folder by its name in the package and in a checkout, where it holds something known."""
    package = Path(__file__).resolve().parent
    # In a checkout this file is rules/oncemore/rules/shipped.py; elsewhere three folders up could be anything.
    checkout = package.parents[2]
    if package.parts[-3:] == ("rules", "oncemore", "rules") and (checkout / checked_out / known).exists():
        return checkout / checked_out
    if (package / inside).is_dir():
        return package / inside
    raise NoPolicies(f"the shipped {inside} are missing from this installation; install oncemore again")
