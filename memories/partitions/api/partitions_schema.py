"""How the endpoints of partitions, summaries and the memo stand in the OpenAPI document."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema

from memories.partitions.serializers.partitions import (
    MemoInput,
    PartitionInput,
    PartitionListInput,
    PartitionOutput,
    PartitionPageOutput,
    PartitionSummaryOutput,
    PartitionSummaryPageOutput,
    SummaryInput,
    SummaryListInput,
    SummaryStyleInput,
    TenantMemoOutput,
)
from memories.store.api.schema import IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH, response_schemas

PLACE = OpenApiParameter(
    "place",
    OpenApiTypes.STR,
    OpenApiParameter.PATH,
    description="The partition's path, percent-encoded as a whole: `user%3Dalex%2Ftopic%3Dmeetings`. Slashes may stay.",
)
PARTITION = OpenApiExample("A topic of Alex", {"partition": "user=alex/topic=meetings"}, request_only=True)
_SUMMARY = OpenApiExample(
    "In short",
    {"content": "Alex meets before noon, mostly about the move to Lisbon.", "style": "compact"},
    request_only=True,
)
_MEMO = OpenApiExample("Who is helped", {"content": "You help the sales team of Acme."}, request_only=True)

partitions_schema = extend_schema(
    operation_id="partitions_list",
    tags=["partitions"],
    parameters=[PartitionListInput],
    responses=response_schemas({200: PartitionPageOutput}),
)
partition_create_schema = extend_schema(
    operation_id="partitions_create",
    tags=["partitions"],
    request=PartitionInput,
    examples=[PARTITION],
    parameters=[IDEMPOTENCY_KEY],
    responses=response_schemas({201: PartitionOutput, 200: PartitionOutput}, 409, 413),
)
summaries_schema = extend_schema(
    operation_id="summaries_list",
    tags=["partitions"],
    parameters=[PLACE, SummaryListInput],
    responses=response_schemas({200: PartitionSummaryPageOutput}, 404),
)
summary_set_schema = extend_schema(
    operation_id="summaries_set",
    tags=["partitions"],
    request=SummaryInput,
    examples=[_SUMMARY],
    parameters=[PLACE, IF_MATCH],
    responses=response_schemas({200: PartitionSummaryOutput, 201: PartitionSummaryOutput}, 412, 413),
)
summary_delete_schema = extend_schema(
    operation_id="summaries_withdraw",
    tags=["partitions"],
    parameters=[PLACE, SummaryStyleInput, IF_MATCH],
    responses=response_schemas({204: None}, 404, 412),
)
memo_read_schema = extend_schema(
    operation_id="memo_read",
    tags=["memo"],
    parameters=[IF_NONE_MATCH],
    responses=response_schemas({200: TenantMemoOutput, 304: None}),
)
memo_set_schema = extend_schema(
    operation_id="memo_set",
    tags=["memo"],
    request=MemoInput,
    examples=[_MEMO],
    parameters=[IF_MATCH],
    responses=response_schemas({200: TenantMemoOutput}, 412, 413),
)
