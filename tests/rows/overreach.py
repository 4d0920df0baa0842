"""What does a model try that may do nothing but read?"""

from __future__ import annotations

import pytest

from oncemore.adapters.demo.model import Call, Patch

MORE_THAN_READING = pytest.mark.parametrize(
    "deed",
    [
        Call("exec_command", {"cmd": "echo x > written.md", "sandbox_permissions": "require_escalated"}),
        Patch("*** Begin Patch\n*** Add File: written.md\n+x\n*** End Patch"),
        Call("spawn_agent", {"task": "write it"}),
    ],
    ids=["a-command-out-of-the-sandbox", "a-patch", "a-delegation"],
)
