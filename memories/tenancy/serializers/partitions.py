"""Partition fields of requests: a path, or the shorthand ids."""

from typing import Any

from rest_framework import serializers

from memories.services.partitions.paths import PartitionError, PartitionPath, parse_partition, partition_from_ids
from memory_platform.rest.fields import RuleCheckedField, StrictBooleanField
from memory_platform.rest.serializers import StrictSerializer

SHORTHAND = {"user_id": "user", "agent_id": "agent", "run_id": "run"}
DETAILS = {
    "bad_segment": "A partition is a path of key=value segments, such as user=alex/topic=meetings.",
    "bad_key": "The key of a segment matches [a-z][a-z0-9_-]{0,31}.",
    "bad_value": "A value has 1 to 128 characters, without NUL; control characters are percent-encoded.",
    "bad_encoding": "A percent sign is followed by two hex digits, and the result is UTF-8.",
}
PATH_SHAPE = {"type": "string", "nullable": True, "example": "user=alex/topic=meetings"}
ID_SHAPE = {"type": "string", "nullable": True, "minLength": 1, "maxLength": 128}


def partition_path(value: Any) -> PartitionPath:
    """Return a path of a request. Raises `PartitionError` without the value."""
    try:
        return parse_partition(value)
    except PartitionError as error:
        raise PartitionError(error.code, DETAILS.get(error.code, error.detail)) from error


def _identifier(value: Any) -> str:
    try:
        partition_from_ids(user_id=value)
    except PartitionError as error:
        raise PartitionError(error.code, DETAILS.get(error.code, error.detail)) from error
    return str(value)


def path_field(**kwargs: Any) -> RuleCheckedField:
    """Return the field of a partition path."""
    return RuleCheckedField(rule=partition_path, shape=PATH_SHAPE, allow_null=True, default=None, **kwargs)


def id_field(**kwargs: Any) -> RuleCheckedField:
    """Return the field of a shorthand id, the value of one segment."""
    return RuleCheckedField(rule=_identifier, shape=ID_SHAPE, allow_null=True, default=None, **kwargs)


def exact_field(**kwargs: Any) -> StrictBooleanField:
    """Whether partitions below are excluded; `takes_text` for a query parameter."""
    return StrictBooleanField(default=False, help_text="Exclude partitions below it.", **kwargs)


class PartitionScopedInput(StrictSerializer):
    """A body or query with a partition in one of the two forms."""

    partition = path_field(help_text="Path of `key=value` segments.")
    user_id = id_field(help_text="Shorthand for the segment `user=`.")
    agent_id = id_field(help_text="Shorthand for the segment `agent=`.")
    run_id = id_field(help_text="Shorthand for the segment `run=`.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject a request that contains both forms."""
        if attrs.get("partition") is not None and any(attrs.get(name) is not None for name in SHORTHAND):
            detail = "Send either partition or user_id, agent_id, run_id."
            raise serializers.ValidationError({"partition": [serializers.ErrorDetail(detail, "partition_given_twice")]})
        return attrs


class PartitionFilterInput(PartitionScopedInput):
    """A subtree to read, restricted by `exact`."""

    exact = exact_field()


def requested_partition(values: dict[str, Any]) -> PartitionPath | None:
    """Return the partition that a write names in either form, or None."""
    ids = {name: values.get(name) for name in SHORTHAND}
    if any(value is not None for value in ids.values()):
        return partition_from_ids(**ids)
    path: PartitionPath | None = values.get("partition")
    return path


def requested_segments(values: dict[str, Any]) -> dict[str, str]:
    """Return the segments of the shorthand ids, which match at any depth."""
    return {key: values[name] for name, key in SHORTHAND.items() if values.get(name) is not None}
