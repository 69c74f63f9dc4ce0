"""Signatures of webhooks, and the addresses that they may be sent to (ADR-0156)."""

import base64
import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

_PURPOSE = b"alert webhook"
_MARK = "whsec_"
#: IPv6 networks that Python considers global: those whose addresses contain an IPv4 address, and a site-local one.
_NOT_PUBLIC = tuple(
    map(
        ip_network,
        ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96", "::ffff:0:0:0/96", "fec0::/10"),
    )
)
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_DEFAULT_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True)
class WebhookAddress:
    """The parts of a webhook's URL; `target` is path and query."""

    is_encrypted: bool
    host: str
    port: int
    target: str


def webhook_address(url: str, *, allows_private: bool) -> WebhookAddress:
    """Return the parts of a URL that a webhook may have. Raises `ValueError` with a sentence for people."""
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("Use a URL without spaces and special characters.")
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError as error:
        raise ValueError("This is not a URL.") from error
    host = parts.hostname or ""
    if not host or not _is_host(host):
        raise ValueError("Use a URL such as https://example.com/alerts.")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise ValueError("Use a URL without user name, password and fragment.")
    is_local = allows_private and host in _LOOPBACK_NAMES
    if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
        raise ValueError("Use a URL that starts with https://.")
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return WebhookAddress(parts.scheme == "https", host, port, target)


def _is_host(name: str) -> bool:
    """Whether a name can be looked up: it has no empty or very long part."""
    try:
        return bool(name.encode("idna"))
    except UnicodeError:
        return False


def is_public_address(text: str) -> bool:
    """Return whether an IP address is reachable from the internet: not private, local, multicast or a gateway's."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public_address(str(address.ipv4_mapped))
        if any(address in network for network in _NOT_PUBLIC):
            return False
    return address.is_global and not address.is_multicast


def webhook_secret(destination_id: object, key: bytes) -> str:
    """Return the secret of a destination, derived from the deployment's key, so that none is stored."""
    digest = hmac.digest(key, _PURPOSE + b"\n" + str(destination_id).encode(), hashlib.sha256)
    return _MARK + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def signature_header(secrets: Iterable[str], timestamp: int, body: bytes) -> str:
    """Return `sha256=` and the HMAC-SHA256 of `timestamp.body` in hex for each secret, separated by commas.

    Former deployment keys give further secrets, so that a receiver with one of those still verifies the request.
    """
    signed = f"{timestamp}.".encode() + body
    return ",".join(f"sha256={hmac.digest(each.encode(), signed, hashlib.sha256).hex()}" for each in secrets)
