"""Traces by OpenTelemetry where its `OTEL_*` variables ask for them; the only module that imports it.

Spans name tools and outcomes, never arguments, code, queries or who asked.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from alita_mcp.extras import extra_imports
from alita_mcp.settings import wants_traces

FLUSH_S = 0.5
"""What the last spans may take of the time in which a server ends."""


def start_tracing(version: str) -> None:
    """Exports the spans of this process over OTLP; all but the names is read from the variables by the SDK.

    Raises:
        ExtraMissing: the extra `team` is not installed.
    """
    with extra_imports("team", "OpenTelemetry"):
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    names = Resource({"service.name": "alita", "service.version": version})
    provider = TracerProvider(resource=names.merge(Resource.create()))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def flush_traces() -> None:
    """Sends the spans that wait, if there are any, without holding up the end of the process."""
    if wants_traces():
        from opentelemetry import trace

        flush = getattr(trace.get_tracer_provider(), "force_flush", lambda: None)
        flushing = threading.Thread(target=flush, daemon=True)
        flushing.start()
        flushing.join(FLUSH_S)


@contextmanager
def trace_work(work: Any) -> Iterator[None]:
    """A span around a piece of work of the activity feed, below the span of its caller."""
    from opentelemetry import trace

    with trace.get_tracer("alita").start_as_current_span(
        f"{work.kind} {work.tool}".rstrip(), record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield
        finally:
            said = {"alita.kind": work.kind, "alita.tool": work.tool, "alita.outcome": work.outcome}
            span.set_attributes({name: value for name, value in said.items() if value})


@contextmanager
def continue_trace(carrier: Mapping[str, str]) -> Iterator[None]:
    """Spans of the block belong to the trace that a carrier names, if it does."""
    from opentelemetry import context, propagate

    token = context.attach(propagate.extract(carrier))
    try:
        yield
    finally:
        context.detach(token)


def current_trace() -> dict[str, str]:
    """A carrier of the trace that this code runs in, for work that goes on elsewhere; empty without traces."""
    from opentelemetry import propagate

    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier
