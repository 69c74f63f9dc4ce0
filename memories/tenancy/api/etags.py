"""`ETag`, `If-None-Match`, `If-Match` (ADR-0058)."""

import re

from rest_framework.request import Request

from memories.tenancy.exceptions import StaleVersion

_TAG = re.compile(r'(?:W/)?"([^"]*)"')
_VERSION = re.compile(r"([0-9]{1,9})(\.[0-9a-f]*)?")


def is_etag_current(request: Request, etag: str) -> bool:
    """Whether the client already holds what `etag` names."""
    header = request.headers.get("If-None-Match", "")
    return header.strip() == "*" or etag in {f'"{tag}"' for tag in _TAG.findall(header)}


def if_match_version(request: Request, current: int) -> int | None:
    """The version a write is meant for: None for any. Raises `StaleVersion` when `If-Match` names only others."""
    header = request.headers.get("If-Match")
    if header is None or header.strip() == "*":
        return None
    found = [_VERSION.fullmatch(tag) for tag in _TAG.findall(header)]
    if current not in {int(match[1]) for match in found if match}:
        raise StaleVersion("stale_version", "It has changed since; read it again.", "If-Match")
    return current
