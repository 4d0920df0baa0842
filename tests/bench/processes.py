"""How long does a whole command take, beside an empty Python, and what does our pytest plugin cost others?"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.engine.decision import shipped_case

RUNS = 15


def measure() -> dict[str, float]:
    """Medians in milliseconds, the commands interleaved."""
    with tempfile.TemporaryDirectory() as folder:
        facts = Path(folder, "facts.json")
        written = {
            name: f"{value}ms" if name == "turn.ended_ago" else value for name, value in shipped_case.FACTS.items()
        }
        facts.write_text(json.dumps({"facts": written}))
        command = [sys.executable, "-c", "from oncemore.adapters.cli import main; main()"]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "oncemore --version": [*command, "--version"],
            "oncemore decide": [*command, "decide", "--facts", str(facts)],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(RUNS):
            for name, arguments in commands.items():
                start = time.perf_counter()
                done = subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=folder)
                times[name].append((time.perf_counter() - start) * 1_000)
                if done.returncode != 0:
                    raise SystemExit(f"{name} ended with {done.returncode}: {done.stderr}")
    return {name: statistics.median(found) for name, found in times.items()}


def plugin_import() -> float:
    """Median milliseconds of importing the plugin into a pytest that is there already; every run of pytest pays it."""
    code = (
        "import pytest, time; began = time.perf_counter(); import pytest_oncemore; print(time.perf_counter() - began)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(RUNS)]
    return statistics.median(float(run.stdout) * 1_000 for run in runs)
