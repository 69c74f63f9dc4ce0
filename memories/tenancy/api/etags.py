"""`ETag`, `If-None-Match`, `If-Match` (ADR-0058)."""

import re
from collections.abc import Mapping
from typing import Any

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memories.store.serializers.answers import memory_etag
from memories.tenancy.exceptions import StaleVersion

_TAG = re.compile(r'(?:W/)?"([^"]*)"')
_VERSION = re.compile(r"([0-9]{1,9})(\.[0-9a-f]*)?")


def is_etag_current(request: Request, etag: str) -> bool:
    """Whether `If-None-Match` names `etag`."""
    header = request.headers.get("If-None-Match", "")
    return header.strip() == "*" or etag in {f'"{tag}"' for tag in _TAG.findall(header)}


def response_with_etag(request: Request, answer: Mapping[str, Any]) -> Response:
    """Return the answer with its `ETag`, or a 304 without a body where the client already has it."""
    etag = memory_etag(answer)
    if is_etag_current(request, etag):
        return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": etag})
    return Response(answer, headers={"ETag": etag})


def if_match_version(request: Request, current: int) -> int | None:
    """Return `current`, or None where `If-Match` allows any. Raises `StaleVersion` if it names other versions only."""
    header = request.headers.get("If-Match")
    if header is None or header.strip() == "*":
        return None
    matches = [_VERSION.fullmatch(tag) for tag in _TAG.findall(header)]
    if current not in {int(match[1]) for match in matches if match}:
        raise StaleVersion("stale_version", "It has changed in the meantime. Read it again.", "If-Match")
    return current
