"""How is a conversation read, and how is the truth that is told of it held against its folder and the kernel?"""

from __future__ import annotations

from pathlib import Path

from tests.adapters.states.truth import Read, Report, Truth, living, report, until

from oncemore.engine.ports import NativeTurn, Runtime, TurnView

LOOPS = "echo begun > begun; while [ ! -e stop ]; do sleep 0.05; done; echo ended > ended"
"""A command that leaves its marks in its folder, and runs until it finds a file `stop` there."""


class Measured:
    """A conversation whose commands run in a folder of its own.

    Attributes:
        lived: whether a command lived at the last reading; None before.
    """

    folder: Path
    runtime: Runtime
    lived: bool | None

    def stop_the_command(self) -> None:
        (self.folder / "stop").touch()
        until((self.folder / "ended").exists)
        until(lambda: not living(self.folder))

    def reading(self, native: NativeTurn | None, runtime: Runtime | None = None) -> Read:
        """What is reported whenever it is asked for; and whether a command lives then."""
        asked = runtime or self.runtime
        watched = native or NativeTurn("none", "none")

        def read() -> Report:
            inventory = asked.inventory(self.session, TurnView("request-1", native))
            self.lived = living(self.folder)
            return report(inventory, native, lambda: asked.observe(watched, 0))

        return read

    def measure(self, truth: Truth) -> None:
        """Hold the truth that is told against what the folder and the kernel say."""
        changed = {path.name for path in self.folder.iterdir()} - {"stop"}
        assert bool(changed) == (truth.acted == "something"), changed
        assert self.lived is None or self.lived == truth.runs
