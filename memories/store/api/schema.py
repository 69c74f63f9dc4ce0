"""OpenAPI parts of all endpoints: headers, problems and the decorator of a method."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from memories.store.serializers.answers import ProblemOutput

Method = TypeVar("Method", bound=Callable[..., Any])

PROBLEM = "application/problem+json"
_REASONS = {
    400: "Not valid; `errors` names the fields.",
    401: "No key, or one that is unknown, revoked or expired.",
    403: "The key lacks the scope, or does not reach the partition.",
    404: "Does not exist, or belongs to another tenant.",
    409: "The current state does not allow this.",
    412: "`If-Match` names another version.",
    413: "The body exceeds the limit of this endpoint: 64 KiB, 2 MiB or 8 MiB.",
    429: "Too many requests; see `Retry-After`.",
}
ALWAYS = (400, 401, 403, 413, 429)


def _header(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.STR, OpenApiParameter.HEADER, description=description)


IDEMPOTENCY_KEY = _header(
    "Idempotency-Key", "For 24 hours, a request with the same key and body returns the first response."
)
IF_MATCH = _header("If-Match", "The `ETag` of the version to change.")
IF_NONE_MATCH = _header("If-None-Match", "The `ETag` of the client's copy.")
PARTITION_PATH = OpenApiParameter(
    "place",
    OpenApiTypes.STR,
    OpenApiParameter.PATH,
    description=(
        "The partition's path, percent-encoded as a whole: `user%3Dalex%2Ftopic%3Dmeetings`. "
        "Slashes may stay unencoded."
    ),
)


def response_schemas(good: Mapping[int, Any], *problems: int) -> dict[Any, Any]:
    """Return an endpoint's responses: the serializers of `good` by status, `problems`, and those of every endpoint."""
    answers = {(status, "application/json") if output else status: output for status, output in good.items()}
    return answers | {
        (status, PROBLEM): OpenApiResponse(ProblemOutput, description=_REASONS[status])
        for status in sorted({*ALWAYS, *problems})
    }


def operation(
    operation_id: str, good: Mapping[int, Any], *problems: int, tag: str = "", **schema: Any
) -> Callable[[Method], Method]:
    """Return the decorator that documents a method; `good` and `problems` are those of `response_schemas`."""
    tags = [tag or operation_id.partition("_")[0]]
    return extend_schema(operation_id=operation_id, tags=tags, responses=response_schemas(good, *problems), **schema)
