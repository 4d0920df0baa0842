"""How are the limits of a Turn told to Codex, and is what it reports no wider?

Codex's sandbox confines the shell alone: web search, MCP servers, hooks, notifiers and sub-agents run beside it. So a
profile that is read-only and without network also switches those off, and is called restricted; that they are off is
read back from the process.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oncemore.engine.ports import Profile, Workspace

MODES: Mapping[str, str] = {"read_only": "read-only", "workspace_write": "workspace-write"}

FEATURES_OFF = (
    "apps",
    "browser_use",
    "computer_use",
    "hooks",
    "image_generation",
    "memories",
    "multi_agent",
    "multi_agent_v2",
    "plugins",
    "remote_plugin",
    "tool_suggest",
)
"""What a restricted process runs without."""

MUST_BE_OFF = frozenset({"apps", "hooks", "multi_agent", "plugins", "remote_plugin"})
"""Of these, what must be read back as off, not merely not as on."""


def restricted(profile: Profile) -> bool:
    """Whether a profile leaves nothing but reading, so that everything beside the shell is switched off too."""
    return profile.sandbox == "read_only" and not profile.network


def policy(profile: Profile) -> dict[str, Any]:
    """The limits as a turn takes them. They stick to the thread, so every turn is given its own."""
    if profile.sandbox == "read_only":
        return {"type": "readOnly", "networkAccess": profile.network}
    return {
        "type": "workspaceWrite",
        "writableRoots": list(profile.writable_roots),
        "networkAccess": profile.network,
        "excludeTmpdirEnvVar": True,
        "excludeSlashTmp": True,
    }


def overrides(home: Path, profile: Profile | None) -> list[str]:
    """Settings of a process, before any of its home's configuration.

    Args:
        profile: None for a process that only reads; it is restricted as well.
    """
    values = [
        'approval_policy="never"',
        "features.goals=false",  # a thread with a goal begins turns by itself
        "sandbox_workspace_write.exclude_tmpdir_env_var=true",
        "sandbox_workspace_write.exclude_slash_tmp=true",
    ]
    if profile is not None:
        values.append(f"sandbox_workspace_write.writable_roots={json.dumps(list(profile.writable_roots))}")
        values.append(f"sandbox_workspace_write.network_access={json.dumps(profile.network)}")
    if profile is None or restricted(profile):
        values += ['web_search="disabled"', "notify=[]", "agents.enabled=false"]
        values += [f"features.{name}=false" for name in FEATURES_OFF]
        values += [f"mcp_servers.{name}.enabled=false" for name in _mcp_servers(home)]
    return values


def widening(reported: Mapping[str, Any], profile: Profile, workspace: Workspace) -> str | None:
    """In what way a thread's reported limits are wider than the profile; None when they are not."""
    sandbox = reported.get("sandbox")
    if reported.get("approvalPolicy") != "never":
        return f"its approval policy is {reported.get('approvalPolicy')!r}, not never"
    if not isinstance(sandbox, Mapping) or sandbox.get("type") not in ("readOnly", "workspaceWrite"):
        return f"its sandbox is {sandbox!r}"
    if sandbox.get("networkAccess") is not False and not profile.network:
        return "it has network access"
    if sandbox["type"] == "readOnly":
        return None
    if profile.sandbox == "read_only":
        return "its sandbox may write"
    if sandbox.get("excludeTmpdirEnvVar") is not True or sandbox.get("excludeSlashTmp") is not True:
        return "its sandbox may write the temporary folders"
    roots = sandbox.get("writableRoots")
    if not isinstance(roots, Sequence) or not set(roots) <= {*profile.writable_roots, workspace.path}:
        return f"its sandbox may write {roots!r}"
    return None


def is_folder(path: str, workspace: Workspace) -> bool:
    """Whether a path leads to the very folder of the workspace now."""
    try:
        told = Path(path).stat()
    except OSError:
        return False
    return (told.st_dev, told.st_ino) == (workspace.device, workspace.inode)


def unrestricted(config: Mapping[str, Any]) -> str | None:
    """What a process, by its effective configuration, has beside the shell; None when nothing.

    A setting that is not reported as off counts as on where Codex switches it on by itself.
    """
    features = config.get("features")
    servers = config.get("mcp_servers")
    agents = config.get("agents")
    if not isinstance(agents, Mapping) or agents.get("enabled") is not False:
        return "sub-agents"  # the feature alone does not tell: a thread keeps the one that it began with
    if config.get("web_search") != "disabled":
        return "web search"
    if not isinstance(features, Mapping) or not isinstance(servers, Mapping):
        return "features or servers that it does not report"
    for name in FEATURES_OFF:
        if features.get(name) is not False and (name in MUST_BE_OFF or features.get(name) is not None):
            return f"the feature {name}"
    if any(not isinstance(server, Mapping) or server.get("enabled") is not False for server in servers.values()):
        return "an MCP server"
    if config.get("notify"):
        return "a notifier"
    return None


def _mcp_servers(home: Path) -> list[str]:
    # What cannot be read here is found by reading the process's configuration back.
    try:
        servers = tomllib.loads((home / "config.toml").read_text()).get("mcp_servers", {})
    except (OSError, ValueError):
        return []
    return [json.dumps(name) if not name.replace("_", "a").replace("-", "a").isalnum() else name for name in servers]
