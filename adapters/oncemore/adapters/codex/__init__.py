"""The runtime Codex: its app-server over stdio, read back by fresh processes, judged only by what it stored."""
