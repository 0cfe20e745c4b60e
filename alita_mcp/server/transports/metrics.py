"""Metrics of one server for Prometheus, on an address of their own; the only user of prometheus_client.

As exporters do, it asks for no token: the address is for operators alone, and no label names a tool or a person.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from alita_mcp.app.activity import Activity, Work
from alita_mcp.errors import UsageError
from alita_mcp.extras import extra_imports
from alita_mcp.sandbox.choose import LazySandbox
from alita_mcp.sandbox.workers.pooled import PooledSandbox

with extra_imports("team", "ALITA_METRICS"):
    from prometheus_client import PROCESS_COLLECTOR, CollectorRegistry, Histogram, start_http_server
    from prometheus_client.core import GaugeMetricFamily, Metric
    from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from alita_mcp.server.transports.readiness import Readiness
    from alita_mcp.server.transports.sessions import ResumableSessions

SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 1200)
"""Bounds of the histogram: from a warm call to a task."""


class Metrics(Collector):
    """What a server counts, and what it reads when it is asked."""

    def __init__(self, max_workers: int, readiness: Readiness, sessions: ResumableSessions) -> None:
        self._max_workers, self._readiness, self._sessions = max_workers, readiness, sessions
        self._loop = anyio.lowlevel.current_token()
        self.registry = CollectorRegistry()
        meaning = "Searches, calls of tools, syntheses, runs of code and tasks that ended here."
        labels = ("kind", "outcome")
        self._work = Histogram("alita_work_seconds", meaning, labels, registry=self.registry, buckets=SECONDS)
        self.registry.register(PROCESS_COLLECTOR)
        self.registry.register(self)

    def record(self, event: Activity | Work) -> None:
        """Counts work that ended; a listener of the feed."""
        if isinstance(event, Work) and event.outcome:
            self._work.labels(event.kind, event.outcome).observe(max(0.0, event.changed - event.began))

    def collect(self) -> Iterator[Metric]:
        """The state of now, read on the event loop for the thread that was asked."""
        yield from anyio.from_thread.run_sync(lambda: [*self._read()], token=self._loop)

    def _read(self) -> Iterator[Metric]:
        readiness, app = self._readiness, self._readiness.app
        yield _gauge("sessions", "Sessions of protocols before 2026-07-28.", {(): self._sessions.count})
        if app is None:
            return
        problems = readiness.find_problems(app)
        works = {(part,): part not in problems for part in ("sandbox", "database")}
        yield _gauge("works", "Whether a part works, as /readyz says.", works, "part")
        yield _gauge("jobs", "Jobs that are known here.", app.jobs.count_by_state(), "tool", "state")
        if (database := app.library.storage.database) is not None:
            age = {(): database.silent_s}
            yield _gauge("mirror_age_seconds", "Since the mirror took in what others did.", age)
        sandbox: object = app.sandbox.chosen if isinstance(app.sandbox, LazySandbox) else app.sandbox
        if isinstance(sandbox, PooledSandbox):
            pool = sandbox.figures()
            workers = {("busy",): pool.busy, ("idle",): pool.idle}
            yield _gauge("sandbox_workers", "Workers of the sandbox.", workers, "state")
            yield _gauge("sandbox_waiting", "Calls that wait for a worker.", {(): pool.waiting})
            used = {(): (pool.busy + pool.waiting) / self._max_workers}
            yield _gauge("sandbox_utilization_ratio", "Workers in use or waited for; 1 is all of them.", used)


def _gauge(name: str, meaning: str, values: Mapping[Any, float], *labels: str) -> Metric:
    gauge = GaugeMetricFamily(f"alita_{name}", meaning, labels=labels)
    for said, value in values.items():
        gauge.add_metric(said, value)
    return gauge


@asynccontextmanager
async def serve_metrics(address: str, metrics: Metrics) -> AsyncIterator[None]:
    """Serves `/metrics` at `ADDRESS:PORT` while the block runs; port 0 takes a free port.

    Raises:
        UsageError: the address cannot be bound.
    """
    host, _, port = address.rpartition(":")
    try:
        server, _thread = start_http_server(int(port), host.strip("[]"), metrics.registry)
    except OSError as refused:
        raise UsageError(
            f"Cannot serve metrics at {address}: {refused}.", hint="Set ALITA_METRICS to another address."
        ) from refused
    sys.stderr.write(f"alita: serving metrics at http://{host}:{server.server_port}/metrics\n")
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(server.shutdown)
        server.server_close()
