"""The shipped policies and schemas are found in a checkout and in an installed package."""

from __future__ import annotations

import shutil
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from oncemore.rules import shipped
from oncemore.rules.errors import NoPolicies


def placed(folder: Path) -> ModuleType:
    """The module as it would be imported from another folder."""
    folder.mkdir(parents=True)
    path = Path(shutil.copy(str(shipped.__file__), folder))
    spec = spec_from_file_location("placed_shipped", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert "placed_shipped" not in sys.modules
    return module


def test_a_checkout_reads_its_own_policies() -> None:
    assert shipped.shipped_policies() == Path(__file__).parents[2] / "policies"


def test_an_installed_package_reads_those_inside_it(tmp_path: Path) -> None:
    module = placed(tmp_path / "site-packages" / "oncemore" / "rules")
    (tmp_path / "policies" / "groups").mkdir(parents=True)  # a stranger's folder of that name
    inside = tmp_path / "site-packages" / "oncemore" / "rules" / "policies"
    inside.mkdir()
    assert module.shipped_policies() == inside


def test_a_package_without_policies_says_so_and_takes_no_others(tmp_path: Path) -> None:
    module = placed(tmp_path / "site-packages" / "oncemore" / "rules")
    (tmp_path / "policies" / "groups").mkdir(parents=True)
    with pytest.raises(NoPolicies, match="install"):
        module.shipped_policies()


def test_the_schemas_are_found_in_a_checkout_and_in_an_installed_package(tmp_path: Path) -> None:
    assert shipped.shipped_schemas() == Path(__file__).parents[2] / "docs"
    module = placed(tmp_path / "site-packages" / "oncemore" / "rules")
    with pytest.raises(NoPolicies, match="schemas"):
        module.shipped_schemas()
    inside = tmp_path / "site-packages" / "oncemore" / "rules" / "schemas"
    inside.mkdir()
    assert module.shipped_schemas() == inside
