"""How do OpenTelemetry's spans come of what the engine does, where somebody collects them?

Only where the extra `otel` is installed and an exporter is named by `OTEL_*`. A span has a name, ids and a time, and
nothing that anybody wrote; what went wrong inside is there as the kind of error alone.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from oncemore.engine.observing import SILENT, Observer
from oncemore.engine.ports import Ports

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Tracer

log = logging.getLogger("oncemore.tracing")

NAMED = ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""One of these says that somebody collects spans."""


def wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment names an exporter."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if environment.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none":
        return False
    return any(environment.get(name, "").strip() for name in NAMED)


@contextmanager
def traced(observer: Observer = SILENT) -> Iterator[Observer]:
    """The observer, with spans where the environment wants some; they are sent before this ends."""
    provider = _provider() if wanted() else None
    if provider is None:
        yield observer
        return
    try:
        yield Tracing(observer, provider.get_tracer("oncemore"))
    finally:
        provider.shutdown()


class Tracing:
    """An observer whose spans are OpenTelemetry's; everything else is told on.

    Args:
        to: learns everything else.
    """

    def __init__(self, to: Observer, tracer: Tracer) -> None:
        self._to, self._tracer = to, tracer

    def decided(self, policy: str, outcome: str, reason: str, level: str) -> None:
        """Told on."""
        self._to.decided(policy, outcome, reason, level)

    def decision_took(self, seconds: float) -> None:
        """Told on."""
        self._to.decision_took(seconds)

    def unknown(self, fact: str, cause: str) -> None:
        """Told on."""
        self._to.unknown(fact, cause)

    def acted(self, action: str, result: str) -> None:
        """Told on."""
        self._to.acted(action, result)

    @contextmanager
    def span(self, name: str, **ids: str) -> Iterator[None]:
        """A span of that name; the ids are its attributes."""
        from opentelemetry.trace import StatusCode

        attributes = {f"oncemore.{key}": value for key, value in ids.items()}
        with self._tracer.start_as_current_span(
            f"oncemore {name}", attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except Exception as error:
                # Its text may quote what somebody wrote.
                span.set_status(StatusCode.ERROR)
                span.set_attribute("error.type", type(error).__name__)
                raise


def watched(ports: Ports, observer: Observer) -> Ports:
    """The same outside; every call to it is a span of its own."""
    if not isinstance(observer, Tracing):
        return ports

    def named(kind: str, one: Any, name: str) -> Any:
        return cast(Any, _Watched(one, observer, kind, name))

    return replace(
        ports,
        runtimes={name: named("runtime", one, name) for name, one in ports.runtimes.items()},
        sources={name: named("source", one, name) for name, one in ports.sources.items()},
        grants=None if ports.grants is None else named("grants", ports.grants, "grants"),
        capacity={name: named("capacity", one, name) for name, one in ports.capacity.items()},
    )


class _Watched:
    """An adapter, whose calls are spans named after it; its arguments and answers are not looked at."""

    def __init__(self, one: Any, observer: Observer, kind: str, name: str) -> None:
        self._one, self._observer, self._kind, self._name = one, observer, kind, name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(self._one, attribute)
        if not callable(found):
            return found
        call = cast(Callable[..., Any], found)

        @functools.wraps(call)
        def within(*arguments: Any, **named: Any) -> Any:
            with self._observer.span(f"{self._kind}.{attribute}", adapter=self._name):
                return call(*arguments, **named)

        return within


def _provider() -> TracerProvider | None:
    """What sends spans as the environment says; None where it cannot be had, which is told."""
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        exporter = _exporter(os.environ.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower())
    except ImportError:
        log.error("spans are wanted by OTEL_*, and the extra `otel` is not installed; none are sent")
        return None
    if exporter is None:
        log.error("OTEL_TRACES_EXPORTER names neither otlp nor console; no spans are sent")
        return None
    named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "oncemore"}
    provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _exporter(name: str) -> SpanExporter | None:
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter()
    if name in ("", "otlp"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter()
    return None
