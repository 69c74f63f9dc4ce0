"""The docs page: Swagger UI from this server, under the same strict Content-Security-Policy as every page."""

import re
from typing import Any

from drf_spectacular.views import SpectacularSwaggerSplitView


class ApiDocs(SpectacularSwaggerSplitView):
    """Page and start script apart, so that no script stands inline."""

    url_name = "api-schema"
    template_name = "memory_platform/rest/api_docs.html"


def add_operation_summaries(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """The OpenAPI document with one line for each operation, as its list shows it: how the description begins."""
    for operations in result["paths"].values():
        for operation in operations.values():
            operation.setdefault("summary", re.split(r"[.;](?:\s|$)", operation["description"], maxsplit=1)[0])
    return result
