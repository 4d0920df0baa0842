"""When do rule files change? For `--watch`: run again on every change, until interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from oncemore.adapters.cli import output
from oncemore.adapters.cli.output import Exit

PAUSE_S = 0.2
"""How often files are looked at, seconds."""

Seen = dict[Path, tuple[int, int, int]]


def watch(run: Callable[[], Exit], folders: Callable[[], Iterable[Path]]) -> Exit:
    """Run, and again whenever a file changes, appears or goes; how the last run ended, once interrupted.

    Args:
        folders: files, and folders with their `groups/`, to look at; asked before each run.
    """
    ended = Exit.YES
    try:
        while True:
            # Looked at before the run, so that what is saved while it runs is not missed.
            seen = _seen(folders())
            ended = run()
            output.note("watching; Ctrl-C ends it")
            while _seen(folders()) == seen:
                time.sleep(PAUSE_S)
            output.say()
    except KeyboardInterrupt:
        return ended


def _seen(paths: Iterable[Path]) -> Seen:
    found: Seen = {}
    for path in paths:
        try:
            files = [*path.glob("*.yaml"), *path.glob("groups/*.yaml")] if path.is_dir() else [path]
        except OSError:  # the folder went just now
            continue
        for file in files:
            try:
                stat = file.stat()
            except OSError:
                continue
            found[file] = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    return found
