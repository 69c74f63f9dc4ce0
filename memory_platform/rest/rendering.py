"""Render responses as JSON."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import JSONRenderer

#: Times are left to REST framework, which writes them with a Z.
_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


class FastJSONRenderer(JSONRenderer):
    """Writes responses with orjson, in a fifth of the time; other values are written by REST framework (ADR-0152).

    Those are indented responses, integers beyond 64 bits, keys that are not strings, and halves of surrogate pairs.
    """

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the bytes of a response."""
        if data is not None and not self.get_indent(accepted_media_type or "", dict(renderer_context or {})):
            try:
                return orjson.dumps(data, option=_OPTIONS)
            except TypeError:
                pass  # nothing has been written
        return super().render(data, accepted_media_type, renderer_context)
