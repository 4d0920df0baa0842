"""Does a home of our own begin with a configuration, and is an existing one left alone?"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from oncemore.adapters.codex.home import write_config
from oncemore.engine.errors import Refused


def test_a_new_home_is_private_and_names_one_provider(tmp_path: Path) -> None:
    home = tmp_path / "home"
    path = write_config(home, "http://127.0.0.1:1/v1", "KEY")
    config = tomllib.loads(path.read_text())
    assert config["model_providers"]["oncemore"]["base_url"] == "http://127.0.0.1:1/v1"
    assert config["model_providers"]["oncemore"]["env_key"] == "KEY"
    assert not config["analytics"]["enabled"]
    assert home.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_existing_configuration_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("model = 'mine'\n")
    with pytest.raises(Refused):
        write_config(tmp_path, "http://127.0.0.1:1/v1", "KEY")
    assert (tmp_path / "config.toml").read_text() == "model = 'mine'\n"


def test_a_link_in_the_place_of_the_configuration_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused):
        write_config(tmp_path, "http://127.0.0.1:1/v1", "KEY")
    assert not (tmp_path / "elsewhere").exists()
