"""What does Prometheus read of this service? Counts and times under fixed names, without a text or a person's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from oncemore.engine.gauges import Gauges
from oncemore.engine.observing import UNNAMED

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
"""Upper bounds of the histogram of decisions; one takes about a millisecond."""


class Metrics:
    """The engine's observer, as Prometheus's counters.

    Args:
        gauges: counts what stands in the journal; asked at every reading. None: only counters are told.
        trouble: why the newest policies are not in force; None when they are.
    """

    def __init__(
        self, gauges: Callable[[], Gauges] | None = None, trouble: Callable[[], str | None] = lambda: None
    ) -> None:
        # When each counter began is told by its own going back to nothing, and would double every line.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._decisions = Counter(
            "oncemore_decisions",
            "Decisions of policies, of every look and every posted case.",
            ("policy", "outcome", "reason", "level"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "oncemore_decision_duration_seconds",
            "How long all policies took over one case.",
            buckets=SECONDS,
            registry=self.registry,
        )
        self._unknown = Counter(
            "oncemore_evidence_unknown",
            "Gates that could not be judged for a fact that was to be read here.",
            ("fact", "cause"),
            registry=self.registry,
        )
        self._actions = Counter(
            "oncemore_actions",
            "Actions that were reserved, had to wait for a budget, and how they ended.",
            ("action", "result"),
            registry=self.registry,
        )
        self._known: dict[tuple[object, ...], Counter] = {}
        if gauges is not None:
            self.registry.register(_Standing(gauges, trouble))

    def decided(self, policy: str, outcome: str, reason: str, level: str) -> None:
        """Count one."""
        self._of(self._decisions, policy, outcome, reason, level).inc()

    def decision_took(self, seconds: float) -> None:
        """Put it into its bucket."""
        self._seconds.observe(seconds)

    def unknown(self, fact: str, cause: str) -> None:
        """Count one."""
        self._of(self._unknown, fact, cause).inc()

    def acted(self, action: str, result: str) -> None:
        """Count one."""
        self._of(self._actions, action, result).inc()

    def span(self, name: str, **ids: str) -> AbstractContextManager[None]:
        """Spans are not counted."""
        return UNNAMED

    def told(self) -> tuple[bytes, str]:
        """Everything, and its media type. The calling thread is connected to the journal."""
        return exposition(self), CONTENT_TYPE

    def _of(self, counter: Counter, *labels: str) -> Counter:
        """The counter of these labels; looking it up at the library costs more than counting."""
        key = (id(counter), *labels)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = counter.labels(*labels)
        return found


def exposition(metrics: Metrics) -> bytes:
    """Everything, in Prometheus's text form. Reads the journal: the calling thread is connected."""
    return generate_latest(metrics.registry)


class _Standing(Collector):
    """What stands in the journal, counted when it is asked for."""

    def __init__(self, gauges: Callable[[], Gauges], trouble: Callable[[], str | None]) -> None:
        self._gauges, self._trouble = gauges, trouble

    def describe(self) -> list[Metric]:
        """Nothing is counted for it."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Count."""
        now = self._gauges()
        requests = GaugeMetricFamily("oncemore_requests", "Open requests by what they do.", labels=["doing"])
        for doing, count in now.requests.items():
            requests.add_metric([doing], count)
        yield requests
        told = (("used", "Recoveries counted", now.used), ("limit", "Recoveries allowed", now.limits))
        for name, said, values in (*told, ("waiting", "Requests that wait", now.waiting)):
            family = GaugeMetricFamily(f"oncemore_budget_{name}", f"{said}, by budget.", labels=["budget"])
            for budget, value in values.items():
                family.add_metric([budget], value)
            yield family
        yield GaugeMetricFamily(
            "oncemore_breaker_open", "1 while the breaker lets no recovery begin.", int(now.breaker_open)
        )
        yield GaugeMetricFamily(
            "oncemore_due_oldest_seconds", "For how long the longest due request is due.", now.oldest_due / 1000
        )
        yield GaugeMetricFamily(
            "oncemore_policies_trouble",
            "1 while the newest content of the policies' folder cannot be used.",
            int(self._trouble() is not None),
        )
