"""Spans go out where `OTEL_*` names a collector, with ids and kinds and nothing that anybody wrote."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any, cast

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from oncemore.adapters.tracing import Tracing, traced, wanted, watched
from oncemore.engine.errors import Unreadable
from oncemore.engine.observing import SILENT
from oncemore.engine.ports import Ports

CANARY = "zugunruhe"


class Collector:
    """A collector that speaks OTLP over HTTP."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.bodies.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def spans(self) -> list[Any]:
        found = []
        for body in self.bodies:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                found += [span for scope in resource.scope_spans for span in scope.spans]
        return found


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    made = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", made.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    for name in ("OTEL_TRACES_EXPORTER", "OTEL_SDK_DISABLED"):
        monkeypatch.delenv(name, raising=False)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("environment", "so"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, False),
    ],
)
def test_spans_are_wanted_where_an_exporter_is_named(environment: dict[str, str], so: bool) -> None:
    assert wanted(environment) is so


def test_without_a_collector_the_observer_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    with traced(SILENT) as observer:
        assert observer is SILENT
        ports = Ports()
        assert watched(ports, observer) is ports


def test_a_look_its_decision_and_its_calls_are_one_trace(collector: Collector) -> None:
    source = SimpleNamespace(name="inbox", key_window=0, read=lambda reference: {"text": CANARY})
    with traced() as observer:
        assert isinstance(observer, Tracing)
        ports = watched(Ports(sources=cast(Any, {"inbox": source})), observer)
        assert ports.sources["inbox"].key_window == 0
        with observer.span("advance", request="r-1"):
            assert ports.sources["inbox"].read(cast(Any, CANARY)) == {"text": CANARY}
            with observer.span("decide", request="r-1", stage="admission"):
                pass
    spans = {span.name: span for span in collector.spans()}
    assert set(spans) == {"oncemore advance", "oncemore source.read", "oncemore decide"}
    assert len({span.trace_id for span in spans.values()}) == 1
    assert spans["oncemore source.read"].parent_span_id == spans["oncemore advance"].span_id
    attributes = {one.key: one.value.string_value for one in spans["oncemore decide"].attributes}
    assert attributes == {"oncemore.request": "r-1", "oncemore.stage": "admission"}
    assert CANARY.encode() not in b"".join(collector.bodies)


def test_what_failed_is_told_by_its_kind_alone(collector: Collector) -> None:
    def fails(reference: object) -> None:
        raise Unreadable(f"cannot read {CANARY}")

    with traced() as observer:
        ports = watched(Ports(sources=cast(Any, {"inbox": SimpleNamespace(read=fails)})), observer)
        with pytest.raises(Unreadable):
            ports.sources["inbox"].read(cast(Any, None))
    (span,) = collector.spans()
    told = {one.key: one.value.string_value for one in span.attributes}
    assert told == {"oncemore.adapter": "inbox", "error.type": "Unreadable"}
    assert span.events == []
    assert CANARY.encode() not in b"".join(collector.bodies)
