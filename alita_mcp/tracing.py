"""Traces by OpenTelemetry where its `OTEL_*` variables ask for them; nothing of its SDK is imported elsewhere.

Spans name tools and outcomes, never arguments, code, queries or who asked.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from alita_mcp.extras import extra_imports
from alita_mcp.settings import wants_traces

FLUSH_S = 0.5
"""What the last spans may take of the time in which a server ends."""

log = logging.getLogger(__name__)


def start_tracing(version: str) -> bool:
    """Exports the spans of this process over OTLP where the variables ask for it; returns whether they do.

    Address, headers, sampler, resource and batches are read by the SDK from the variables of its specification.

    Raises:
        ExtraMissing: they do, and the extra `team` is not installed.
    """
    if not wants_traces():
        return False
    with extra_imports("team", "OpenTelemetry"):
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        names = Resource({"service.name": "alita", "service.version": version})
        provider = TracerProvider(resource=names.merge(Resource.create()))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(provider)
    return True


def flush_traces() -> None:
    """Sends the spans that wait, if there are any, without holding up the end of the process."""
    if not wants_traces():
        return
    from opentelemetry import trace

    flush = getattr(trace.get_tracer_provider(), "force_flush", None)
    if flush is not None:
        flushing = threading.Thread(target=flush, daemon=True)
        flushing.start()
        flushing.join(FLUSH_S)


@contextmanager
def trace_block(name: str, attributes: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """A span around a block, below the one of its caller; what the block puts into the dictionary it says too."""
    from opentelemetry import trace
    from opentelemetry.trace import Status, StatusCode

    said: dict[str, str] = {}
    with trace.get_tracer("alita").start_as_current_span(
        name, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield said
        except BaseException as failure:
            span.set_attribute("error.type", type(failure).__name__)
            span.set_status(Status(StatusCode.ERROR))
            raise
        finally:
            span.set_attributes(said)


@contextmanager
def continue_trace(carrier: Mapping[str, str]) -> Iterator[None]:
    """Spans of the block belong to the trace that a carrier names, if it does: the headers of a request, a job's."""
    from opentelemetry import context, propagate

    token = context.attach(propagate.extract(carrier))
    try:
        yield
    finally:
        context.detach(token)


def current_trace() -> dict[str, str]:
    """A carrier of the trace that this code runs in, for work that goes on elsewhere; empty without traces."""
    if not wants_traces():
        return {}
    from opentelemetry import propagate

    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier
