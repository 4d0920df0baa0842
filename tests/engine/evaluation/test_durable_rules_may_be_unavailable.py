"""What happens where durable-rules cannot be loaded?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SYMBOL = "undefined symbol: PyEval_CallObject"

LOADING = """
from oncemore.engine import native
from oncemore.engine.errors import EngineUnavailable
try:
    native.load()
except EngineUnavailable as error:
    print(error.code, error)
"""


def run(folder: Path, text: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_build_that_this_python_cannot_load_is_answered_with_what_mends_it(tmp_path: Path) -> None:
    text = f"raise ImportError('durable_rules_engine.so: {SYMBOL}')"
    (tmp_path / "durable_rules_engine.py").write_text(text)
    said = run(tmp_path, LOADING)
    assert said.startswith("E101 ")
    assert "CPPFLAGS=-DPyEval_CallObject=PyObject_CallObject" in said
    assert SYMBOL in said


def test_where_it_loads_nothing_is_said(tmp_path: Path) -> None:
    assert run(tmp_path, LOADING) == ""


def test_evaluation_brings_in_neither_pydantic_nor_the_parser(tmp_path: Path) -> None:
    text = """
import sys
import oncemore.engine.evaluation, oncemore.engine.decision, oncemore.engine.records
print(sorted({"pydantic", "lark", "yaml", "peewee", "httpx"} & set(sys.modules)))
"""
    assert run(tmp_path, text) == "[]\n"
