"""OpenAPI parts of all endpoints: headers, problems and the decorator of a method."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.serializers import Serializer

from memories.store.serializers.answers import ProblemOutput
from memories.tenancy.api.problems import PROBLEM_TYPE
from memory_platform.rest.cursor_pagination import PageInput, page_of

Method = TypeVar("Method", bound=Callable[..., Any])

_REASONS = {
    400: "Not valid; `errors` names the fields.",
    401: "No key, or one that is unknown, revoked or expired.",
    403: "The key lacks the scope, or does not reach the partition.",
    404: "Does not exist, or belongs to another tenant.",
    409: "The current state does not allow this.",
    412: "`If-Match` names another version, or `If-None-Match` an existing one.",
    413: "The body exceeds the limit of this endpoint: 64 KiB, 2 MiB or 8 MiB.",
    429: "Too many requests; see `Retry-After`.",
    503: "Overloaded, or the database is busy; see `Retry-After`.",
}
ALWAYS = (400, 401, 403, 413, 429, 503)
#: The tags of operations whose id does not begin with its tag.
_TAGS = {
    "acts": "hygiene",
    "alert": "alerts",
    "budget": "budget profiles",
    "compactions": "compaction",
    "contexts": "context",
    "events": "compaction",
    "golden": "golden questions",
    "messages": "sessions",
    "profile": "scoring profiles",
    "profiles": "scoring profiles",
    "prompts": "compaction",
    "retention": "erasures",
    "summaries": "partitions",
}


def _header(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.STR, OpenApiParameter.HEADER, description=description)


IDEMPOTENCY_KEY = _header(
    "Idempotency-Key", "For 24 hours, a request with the same key and body returns the first response."
)
IF_MATCH = _header("If-Match", "The `ETag` of the version to change.")
IF_NONE_MATCH = _header("If-None-Match", "The `ETag` of the client's copy.")
ONLY_NEW = _header("If-None-Match", "`*`: store only if no live memory of the partition has this `source_id`.")
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
        (status, PROBLEM_TYPE): OpenApiResponse(ProblemOutput, description=_REASONS[status])
        for status in sorted({*ALWAYS, *problems})
    }


def operation(
    operation_id: str,
    good: Mapping[int, Any],
    *problems: int,
    tag: str = "",
    request: Any = None,
    examples: Mapping[str, Any] | None = None,
    parameters: Sequence[Any] = (),
) -> Callable[[Method], Method]:
    """Return the decorator that documents a method; `good` and `problems` are those of `response_schemas`.

    `examples` are bodies by their titles. The headers of `idempotent` and `conditional`, the one of a 304, and the
    problems that they cause are added.
    """

    def document(method: Method) -> Method:
        is_idempotent, is_conditional = (getattr(method, name, False) for name in ("is_idempotent", "is_conditional"))
        headers = {IDEMPOTENCY_KEY: is_idempotent, IF_MATCH: is_conditional, IF_NONE_MATCH: 304 in good}
        documented = [*parameters, *(header for header, is_read in headers.items() if is_read)]
        read = {each.name for each in documented if isinstance(each, OpenApiParameter)}
        method.read_headers = read  # type: ignore[attr-defined]  # for the endpoint's check
        caused = {409: is_idempotent, 412: IF_MATCH in documented}
        every = [*problems, *(status for status, is_caused in caused.items() if is_caused)]
        return extend_schema(
            operation_id=operation_id,
            tags=[tag or _TAGS.get(word := operation_id.partition("_")[0], word)],
            request=request,
            examples=[OpenApiExample(title, body, request_only=True) for title, body in (examples or {}).items()],
            parameters=documented,
            responses=response_schemas(good, *every),
        )(method)

    return document


def list_operation(
    operation_id: str,
    output: type[Serializer[Any]],
    *problems: int,
    query: type[PageInput] = PageInput,
    tag: str = "",
    parameters: Sequence[Any] = (),
) -> Callable[[Method], Method]:
    """Return the decorator that documents a method which returns a page of `output`."""
    return operation(operation_id, {200: page_of(output)}, *problems, tag=tag, parameters=[*parameters, query])
