"""OpenTelemetry traces, if the extra `tracing` is installed and OTEL_EXPORTER_OTLP_ENDPOINT is set.

Spans contain routes, tasks and durations, but no path, statement or text.
"""

import os
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import ImproperlyConfigured

try:
    from opentelemetry import propagate, trace
except ImportError:  # the extra is not installed
    propagate = trace = None  # type: ignore[assignment]

_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


def configure(service: str) -> None:
    """Export the spans of this process. Raises `ImproperlyConfigured` if the packages are missing."""
    if not os.environ.get(_ENDPOINT):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - optional
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - optional
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - optional
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - optional
    except ImportError as error:
        raise ImproperlyConfigured(f"{_ENDPOINT} needs the packages of requirements-tracing.in") from error
    provider = TracerProvider(resource=Resource.create({"service.name": f"memory-platform-{service}"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


@contextmanager
def span(name: str, *, carrier: Mapping[str, Any]) -> Iterator[Any]:
    """Run the block in a span that continues the trace in `carrier`; yields None without the extra."""
    if trace is None:
        yield None
        return
    parent = propagate.extract({key.lower(): value for key, value in carrier.items() if isinstance(value, str)})
    with trace.get_tracer("memory_platform").start_as_current_span(name, context=parent) as current:
        yield current


def name(current: Any, text: str, **attributes: str | int) -> None:
    """Rename a span once its route is known."""
    if current is not None:
        current.update_name(text)
        current.set_attributes(attributes)


def annotate(attributes: Mapping[str, float]) -> None:
    """Add values to the current span."""
    if trace is not None:
        trace.get_current_span().set_attributes(dict(attributes))


def inject(headers: MutableMapping[str, Any]) -> None:
    """Add the current trace to the headers of a message."""
    if propagate is not None:
        propagate.inject(headers)
