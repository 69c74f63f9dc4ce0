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
    ComponentKind("database", "Database", "Agents get errors and no page opens."),
    ComponentKind("vector", "Vector search", "Vector search and embedding fail."),
    ComponentKind("role", "Database role", "The database does not enforce tenant isolation."),
    ComponentKind("migrations", "Migrations", "Pages and requests that need missing tables fail."),
    ComponentKind("broker", "Broker", "Background work waits. Contexts are still served."),
    ComponentKind("workers", "Workers", "Compactions, roll-ups, evaluations and re-embedding wait."),
    ComponentKind("beat", "Scheduler", "No scheduled task runs."),
    ComponentKind("embedder", "Embedder", "Search is lexical only."),
    ComponentKind("embedding_models", "Embedding models", "Search does not use the configured model."),
    ComponentKind("summariser", "Summariser", "Summaries are extractive and marked as such."),
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
    return _lives(heartbeats.WORKER, now, heartbeats.WORKER_AWAY_AFTER_SECONDS, "no worker seen")


def _beat(now: datetime) -> str:
    return _lives(heartbeats.BEAT, now, heartbeats.BEAT_AWAY_AFTER_SECONDS, "no task sent")


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
        return "no model configured; summaries are extractive"
    address = urlsplit(settings.LLM_BASE_URL or HOSTED_ADDRESS)
    port = address.port or (80 if address.scheme == "http" else 443)
    socket.create_connection((address.hostname or "", port), timeout=CONNECT_SECONDS).close()
    return f"{settings.LLM_MODEL or 'the model of each session'}, reachable"


#: What a page shows beyond what the process itself needs to be ready.
BACKGROUND: Mapping[str, Callable[[datetime], str]] = {"workers": _workers, "beat": _beat, "summariser": _summariser}
