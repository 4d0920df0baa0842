"""How many decisions does the service give over HTTP, beside Cerbos in the same run?

Both are asked by wrk on the loopback, in turn. Cerbos is given twelve actions, one for each gate, and tells for each
with its metadata what decided it; ours answers with the whole explanation. Read the ratios: wrk takes a part of the
same processors.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Any

from tests.bench.peers import common_leaf, infix
from tests.bench.subjects import TWELVE, nested
from tests.engine.decision import shipped_case
from tests.rules.policy_files import gate, policy

from oncemore.rules.expression import leaves
from oncemore.rules.parsing import parse
from oncemore.rules.vocabulary import FACTS

ROUNDS, SECONDS, BATCH = 3, 5, 50

WHEN = 'turn.status == "completed"'


@dataclass(frozen=True)
class Load:
    """What wrk told: requests per second, and latency in milliseconds."""

    rate: float
    p50: float
    p99: float


@dataclass(frozen=True)
class Target:
    """Something that is asked over HTTP.

    Attributes:
        decisions: how many one request brings.
        pid: of the process whose memory, with its children's, counts.
    """

    name: str
    url: str
    body: str
    headers: Mapping[str, str]
    decisions: int
    pid: int


def measure(rounds: int = ROUNDS, seconds: int = SECONDS) -> None:
    """Print rates, latencies and memory, and their ratios to Cerbos."""
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not here; Debian: apt install wrk")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cerbos = stack.enter_context(_cerbos(folder / "cerbos"))
        equal = stack.enter_context(_ours(folder / "equal", _twelve))
        seven = stack.enter_context(_ours(folder / "seven", None))
        for connections, targets in ((1, [cerbos[0], equal[0], seven[0]]), (32, [cerbos[0], equal[0], seven[0]])):
            _compare(f"one decision, {connections} connections", targets, connections, folder, rounds, seconds)
        for connections in (1, 32):
            _compare(
                f"{BATCH} decisions a request, {connections} connections",
                [cerbos[1], equal[1], seven[1]], connections, folder, rounds, seconds,
            )  # fmt: skip
        print("\nresident memory after all of it")
        sizes = {one[0].name: _resident_mb(one[0].pid) for one in (cerbos, equal, seven)}
        for name, size in sizes.items():
            print(f"  {name:<44} {size:8.1f} MB {size / sizes[cerbos[0].name]:6.2f} x")


def _compare(title: str, targets: list[Target], connections: int, folder: Path, rounds: int, seconds: int) -> None:
    found: dict[str, list[Load]] = {target.name: [] for target in targets}
    for _ in range(rounds):
        for target in targets:
            found[target.name].append(_wrk(target, connections, folder, seconds))
    print(f"\n{title}")
    base = None
    for target in targets:
        loads = found[target.name]
        rate = statistics.median(load.rate for load in loads) * target.decisions
        p50, p99 = (statistics.median(getattr(load, name) for load in loads) for name in ("p50", "p99"))
        base = base or (rate, p99)
        ratio = f"{rate / base[0]:6.2f} x  p99 {p99 / base[1]:5.2f} x"
        print(f"  {target.name:<44} {rate:9.0f}/s  p50 {p50:7.2f} ms  p99 {p99:7.2f} ms  {ratio}")


def _wrk(target: Target, connections: int, folder: Path, seconds: int) -> Load:
    body = folder / "body.json"
    body.write_text(target.body)
    script = folder / "ask.lua"
    said = [f"wrk.headers[{json.dumps(name)}] = {json.dumps(value)}\n" for name, value in target.headers.items()]
    headers = "".join(said)
    read = f'local f = io.open("{body}"); wrk.body = f:read("*a"); f:close()'
    script.write_text(f'{read}\nwrk.method = "POST"\n{headers}')
    run = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds}s",
        "--latency",
        "--timeout",
        "30s",
        "-s",
        str(script),
        target.url,
    ]
    said = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in said or "Socket errors" in said:
        raise SystemExit(f"{target.name} did not answer every request:\n{said}")
    rate = float(_found(r"Requests/sec:\s+([\d.]+)", said))
    return Load(rate, _ms(_found(r"\n\s+50%\s+(\S+)", said)), _ms(_found(r"\n\s+99%\s+(\S+)", said)))


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, text
    return match[1]


def _ms(text: str) -> float:
    for unit, factor in (("us", 0.001), ("ms", 1.0), ("s", 1_000.0)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    raise ValueError(text)


# Cerbos ---------------------------------------------------------------------------------------------------------------


@contextmanager
def _cerbos(folder: Path) -> Iterator[tuple[Target, Target]]:
    program = Path(sys.prefix, "cerbos/node_modules/@cerbos/cerbos-linux-x64/cerbos-linux-x64")
    policies = folder / "policies"
    policies.mkdir(parents=True)
    actions = [f"g{number:02d}" for number in range(len(TWELVE))]
    rules = [
        {
            "actions": [name],
            "effect": "EFFECT_ALLOW",
            "roles": ["agent"],
            "condition": {"match": {"expr": _as_cel(text)}},
        }
        for name, text in zip(actions, TWELVE, strict=True)
    ]
    resource = {"resource": "gates", "version": "default", "rules": rules}
    (policies / "gates.json").write_text(json.dumps({"apiVersion": "api.cerbos.dev/v1", "resourcePolicy": resource}))
    http, grpc = _port(), _port()
    (folder / "conf.yaml").write_text(
        json.dumps(
            {
                "server": {"httpListenAddr": f"127.0.0.1:{http}", "grpcListenAddr": f"127.0.0.1:{grpc}"},
                "telemetry": {"disabled": True},
                "audit": {"enabled": False},
                "storage": {"driver": "disk", "disk": {"directory": str(policies), "watchForChanges": False}},
            }
        )
    )
    attributes = nested(_of_the_twelve())

    def body(count: int) -> str:
        resources = [
            {"resource": {"kind": "gates", "id": f"q{number}", "attr": attributes}, "actions": actions}
            for number in range(count)
        ]
        principal = {"id": "oncemore", "roles": ["agent"]}
        asked = {"requestId": "r", "includeMeta": True, "principal": principal, "resources": resources}
        return json.dumps(asked)

    run = [str(program), "server", f"--config={folder / 'conf.yaml'}"]
    base = f"http://127.0.0.1:{http}"
    with _running(run, f"{base}/_cerbos/health") as pid:
        url, headers = f"{base}/api/check/resources", {"Content-Type": "application/json"}
        answer = json.loads(_post(url, body(1), headers))
        effects = answer["results"][0]["actions"]
        if set(effects.values()) != {"EFFECT_ALLOW"} or len(effects) != len(TWELVE):
            raise SystemExit(f"Cerbos does not answer as we do: {effects}")
        yield (
            Target("Cerbos, twelve gates", url, body(1), headers, 1, pid),
            Target("Cerbos, twelve gates", url, body(BATCH), headers, BATCH, pid),
        )


def _as_cel(text: str) -> str:
    """A condition over Cerbos's attributes; durations are milliseconds."""
    condition = parse(text)
    facts = sorted({leaf.fact for leaf in leaves(condition)}, key=len, reverse=True)
    said = infix(condition, ("&&", "||", "!"), common_leaf)
    for fact in facts:
        said = re.sub(rf"(?<![\w.]){re.escape(fact)}(?![\w.])", f"R.attr.{fact}", said)
    return said


# Ours -----------------------------------------------------------------------------------------------------------------


def _twelve(policies: Path) -> None:
    gates = [gate(f"'{text}'", f"g{number:02d}") for number, text in enumerate(TWELVE)]
    (policies / "levels.yaml").write_text("twelve: shadow\n")
    (policies / "twelve.yaml").write_text(policy(*gates, name="twelve", when=WHEN, then="{action: settle_turn}"))


@contextmanager
def _ours(home: Path, write: Callable[[Path], None] | None) -> Iterator[tuple[Target, Target]]:
    command = [sys.executable, "-m", "oncemore.adapters.cli"]
    subprocess.run([*command, "init", str(home)], check=True, capture_output=True)
    name = "Oncemore, seven policies"
    if write is not None:
        name = "Oncemore, twelve gates"
        shutil.rmtree(home / "policies")
        (home / "policies").mkdir()
        write(home / "policies")
    key = subprocess.run(
        [*command, "keys", "add", "--home", str(home), "bench", "--scope", "decide"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    port = _port()
    base = f"http://127.0.0.1:{port}"
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + _found(r"(om_[^_]+_\S+)", key)}
    case = {"facts": _written(shipped_case.FACTS if write is None else _of_the_twelve())}
    with _running([*command, "serve", "--home", str(home), "--port", str(port)], f"{base}/healthz") as pid:
        answer = json.loads(_post(f"{base}/v1/decide", json.dumps(case), headers))
        if write is not None and answer["fired"] != "twelve":
            raise SystemExit(f"the policy of twelve gates does not fire: {json.dumps(answer)[:2_000]}")
        yield (
            Target(name, f"{base}/v1/decide", json.dumps(case), headers, 1, pid),
            Target(name, f"{base}/v1/decide/batch", json.dumps([case] * BATCH), headers, BATCH, pid),
        )


def _of_the_twelve() -> dict[str, Any]:
    """The facts that the twelve gates and `when` look at, such that all hold."""
    names = {leaf.fact for text in (WHEN, *TWELVE) for leaf in leaves(parse(text))}
    return {name: value for name, value in shipped_case.FACTS.items() if name in names}


def _written(facts: Mapping[str, Any]) -> dict[str, Any]:
    """As a facts file has them."""
    return {name: f"{value}ms" if FACTS[name].type == "duration" else value for name, value in facts.items()}


# Processes ------------------------------------------------------------------------------------------------------------


@contextmanager
def _running(run: list[str], health: str) -> Iterator[int]:
    """A server, from its first good answer on."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ONCEMORE_")}
    with subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment) as process:
        try:
            deadline = time.monotonic() + 30
            while not _healthy(health):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"{run[0]} does not answer at {health}")
                time.sleep(0.05)
            yield process.pid
        finally:
            process.send_signal(signal.SIGTERM)


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def _post(url: str, body: str, headers: Mapping[str, str]) -> bytes:
    asked = urllib.request.Request(url, body.encode(), dict(headers))
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return bytes(answer.read())


def _port() -> int:
    with socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _resident_mb(pid: int) -> float:
    kb = int(_found(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()))
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return kb / 1_024 + sum(_resident_mb(int(child)) for child in children)
