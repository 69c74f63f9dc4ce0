"""Redis behind Sentinel: the broker's options and the cache's connections (ADR-0192)."""

from typing import Any, Self
from urllib.parse import unquote, urlsplit

from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool

TIMEOUT_SECONDS = 1.0


def sentinel_options(password: str) -> dict[str, Any]:
    """Return the connection options for sentinels: an unavailable one is not tried again, because there are others."""
    timeouts = dict.fromkeys(("socket_timeout", "socket_connect_timeout"), TIMEOUT_SECONDS)
    return timeouts | {"retry": Retry(NoBackoff(), 0)} | ({"password": password} if password else {})


class SentinelPool(SentinelConnectionPool):
    """Connects to the current master; Django's Redis cache creates it from a URL."""

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Self:
        """Return the pool of `sentinel://:password@host:26379/1;sentinel://host:26379/1`."""
        master, own_password = options.pop("master"), options.pop("sentinel_password")
        parts = [urlsplit(each) for each in url.split(";")]
        hosts = [(part.hostname, part.port or 26379) for part in parts]
        own_options = sentinel_options(own_password)
        sentinel: Any = Sentinel(hosts, sentinel_kwargs=own_options)  # type: ignore[no-untyped-call]
        password = {"password": unquote(parts[0].password)} if parts[0].password else {}
        return cls(master, sentinel, db=int(parts[0].path.strip("/") or 0), **password, **options)
