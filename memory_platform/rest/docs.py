"""A hook of the OpenAPI document."""

import re
from typing import Any


def add_operation_summaries(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Return the OpenAPI document with the first sentence of each description as the summary."""
    for operations in result["paths"].values():
        for operation in operations.values():
            operation.setdefault("summary", re.split(r"[.;](?:\s|$)", operation["description"], maxsplit=1)[0])
    return result
