"""The components of the platform as pages show them: name, state, and the effect while one is down."""

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

#: Overviews show states up to this age; the health page checks again.
REMEMBERED_SECONDS = 20
REMEMBERED_KEY = "parts.remembered"
CONNECT_SECONDS = 0.5
HOSTED_ADDRESS = "https://api.openai.com"


@dataclass(frozen=True)
class ComponentKind:
    """A component with its title and the effect on users while it is down."""

    name: str
    title: str
    effect_when_down: str


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
    """A component and its state when it was checked."""

    kind: ComponentKind
    state: ComponentState


def read_components(now: datetime) -> list[Component]:
    """Check every component now and cache the states."""
    states = component_states() | {name: component_state(check) for name, check in background_checks(now).items()}
    cache.set(REMEMBERED_KEY, {name: astuple(state) for name, state in states.items()}, REMEMBERED_SECONDS)
    return _named(states)


def cached_components() -> list[Component]:
    """Return the cached states; empty where there are none."""
    return _named({name: ComponentState(*state) for name, state in (cache.get(REMEMBERED_KEY) or {}).items()})


def _named(states: Mapping[str, ComponentState]) -> list[Component]:
    return [Component(kind, states[kind.name]) for kind in _KINDS if kind.name in states]


def _check_heartbeat(now: datetime, *, key: str, away_after_seconds: float, never: str) -> str:
    """Return when the process was last seen. Raises `ComponentNotReady`."""
    seen = heartbeats.last_heartbeat(key)
    if seen is None:
        raise ComponentNotReady(
            never if heartbeats.is_cache_shared() else "not known: the cache is not shared (CACHE_URL)"
        )
    seconds = max((now - seen).total_seconds(), 0.0)
    if seconds > away_after_seconds:
        raise ComponentNotReady(f"last seen on {seen.astimezone(UTC):%-d %b %Y, %H:%M} UTC")
    return f"seen {seconds:.0f} s ago" if seconds >= 1.5 else "seen just now"


def _check_summariser() -> str:
    """Return whether the model's address accepts connections; a request to the model could cost money."""
    if not has_model():
        return "no model configured; summaries are extractive"
    address = urlsplit(settings.LLM_BASE_URL or HOSTED_ADDRESS)
    port = address.port or (80 if address.scheme == "http" else 443)
    socket.create_connection((address.hostname or "", port), timeout=CONNECT_SECONDS).close()
    return f"{settings.LLM_MODEL or 'the model of each session'}, reachable"


def background_checks(now: datetime) -> Mapping[str, Callable[[], str]]:
    """Return the checks that pages show beyond those of `/readyz`."""
    return {
        "workers": partial(
            _check_heartbeat,
            now,
            key=heartbeats.WORKER,
            away_after_seconds=heartbeats.WORKER_AWAY_AFTER_SECONDS,
            never="no worker seen",
        ),
        "beat": partial(
            _check_heartbeat,
            now,
            key=heartbeats.BEAT,
            away_after_seconds=heartbeats.BEAT_AWAY_AFTER_SECONDS,
            never="no task sent",
        ),
        "summariser": _check_summariser,
    }
