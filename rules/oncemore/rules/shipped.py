"""Where are the policies that Oncemore ships?"""

from __future__ import annotations

from pathlib import Path

from oncemore.rules.errors import NoPolicies


def shipped_policies() -> Path:
    """The folder of the shipped policies: the checkout's, else the copy inside the installed package.

    Raises:
        NoPolicies: neither is there; the installation is damaged.
    """
    package = Path(__file__).resolve().parent
    # In a checkout this file is rules/oncemore/rules/shipped.py; elsewhere three folders up could be anything.
    checkout = package.parents[2]
    if package.parts[-3:] == ("rules", "oncemore", "rules") and (checkout / "policies" / "groups").is_dir():
        return checkout / "policies"
    inside = package / "policies"
    if inside.is_dir():
        return inside
    raise NoPolicies("the shipped policies are missing from this installation; install oncemore again")
