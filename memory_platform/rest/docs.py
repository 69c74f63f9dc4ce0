"""The API documentation: Swagger UI from this server, under the Content-Security-Policy of every page."""

import re
from typing import Any

from drf_spectacular.views import SpectacularSwaggerSplitView


class ApiDocs(SpectacularSwaggerSplitView):
    """Serves page and script separately, so that no script is inline."""

    url_name = "api-schema"
    template_name = "memory_platform/rest/api_docs.html"


def add_operation_summaries(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Return the OpenAPI document with the first sentence of each description as the summary."""
    for operations in result["paths"].values():
        for operation in operations.values():
            operation.setdefault("summary", re.split(r"[.;](?:\s|$)", operation["description"], maxsplit=1)[0])
    return result
