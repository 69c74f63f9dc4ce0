"""The parts of the platform as its pages show them: what each is, how it is, and what degrades while it is away."""

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlsplit

from django.conf import settings
from django.core.cache import cache

from compaction.pipeline.summarisers import has_model
from memory_platform.console import heartbeats
from memory_platform.console.health import ComponentNotReady, ComponentState, component_state, component_states

#: So long an answer is good enough for the overviews; the page of health asks anew.
REMEMBERED_SECONDS = 20
REMEMBERED_KEY = "parts.remembered"
CONNECT_SECONDS = 0.5
HOSTED_ADDRESS = "https://api.openai.com"


@dataclass(frozen=True)
class ComponentKind:
    """A part in plain words; `degrades` is what happens while it is away."""

    name: str
    title: str
    degrades: str


_KINDS: Sequence[ComponentKind] = (
    ComponentKind("database", "Database", "Nothing can be read or stored: agents get an error, and no page opens."),
    ComponentKind("vector", "Vector search", "Memories cannot be searched by meaning, and none can be embedded."),
    ComponentKind("role", "Database role", "Tenants would not be kept apart by the database itself."),
    ComponentKind("migrations", "Migrations", "Pages and calls that need the missing tables or columns fail."),
    ComponentKind(
        "broker", "Broker", "Background work waits. Contexts are served; it catches up once the broker is back."
    ),
    ComponentKind("workers", "Workers", "Nothing is compacted, rolled up, evaluated or re-embedded; such work waits."),
    ComponentKind(
        "beat", "Scheduler", "Nothing starts by itself: idle sessions stay full, counts and old records stay."
    ),
    ComponentKind(
        "embedder", "Embedder", "New memories are found by their words alone, and so is what agents ask for."
    ),
    ComponentKind(
        "embedding_models", "Embedding models", "What is stored is not searched with the model settings name."
    ),
    ComponentKind("summariser", "Summariser", "Summaries are made by rules, from extracted statements, and marked so."),
)


@dataclass(frozen=True)
class Component:
    """A part and how it was when it was asked."""

    kind: ComponentKind
    state: ComponentState


def read_components(now: datetime) -> list[Component]:
    """Every part, asked now, and remembered for those who come soon after."""
    states = component_states() | {name: component_state(partial(check, now)) for name, check in BACKGROUND.items()}
    cache.set(REMEMBERED_KEY, {name: astuple(state) for name, state in states.items()}, REMEMBERED_SECONDS)
    return _named(states)


def cached_components() -> list[Component]:
    """The answer of a moment ago; empty where nobody asked."""
    return _named({name: ComponentState(*state) for name, state in (cache.get(REMEMBERED_KEY) or {}).items()})


def _named(states: Mapping[str, ComponentState]) -> list[Component]:
    return [Component(kind, states[kind.name]) for kind in _KINDS if kind.name in states]


def _workers(now: datetime) -> str:
    return _lives(heartbeats.WORKER, now, heartbeats.WORKER_AWAY_AFTER_SECONDS, "no worker was seen")


def _beat(now: datetime) -> str:
    return _lives(heartbeats.BEAT, now, heartbeats.BEAT_AWAY_AFTER_SECONDS, "it was not seen to send anything")


def _lives(key: str, now: datetime, away_after_seconds: float, never: str) -> str:
    seen = heartbeats.last_heartbeat(key)
    if seen is None:
        raise ComponentNotReady(
            never if heartbeats.is_cache_shared() else "not known: the cache is not shared (CACHE_URL)"
        )
    seconds = max((now - seen).total_seconds(), 0.0)
    if seconds > away_after_seconds:
        raise ComponentNotReady(f"last seen on {seen.astimezone(UTC):%-d %b %Y, %H:%M} UTC")
    return f"seen {seconds:.0f} s ago" if seconds >= 1.5 else "seen just now"


def _summariser(now: datetime) -> str:  # noqa: ARG001 - as all of them are asked
    """Whether the model's address can be reached; it is never asked for anything, which may cost money."""
    if not has_model():
        return "no model is configured: summaries are made by rules, from extracted statements"
    address = urlsplit(settings.LLM_BASE_URL or HOSTED_ADDRESS)
    port = address.port or (80 if address.scheme == "http" else 443)
    socket.create_connection((address.hostname or "", port), timeout=CONNECT_SECONDS).close()
    return f"{settings.LLM_MODEL or 'the model of each session'}, reachable"


#: What a page shows beyond what the process itself needs to be ready.
BACKGROUND: Mapping[str, Callable[[datetime], str]] = {"workers": _workers, "beat": _beat, "summariser": _summariser}
