"""What agents send to read receipts, and how they look."""

from typing import Any

from rest_framework import serializers

from context.assembly.serializers.contexts import PROFILE_NAME_CHARACTERS_MAX, ContextOutput
from context.assembly.serializers.shapes import ContextBudgetOutput, ProfileVersionOutput, WarningOutput
from context.models import Receipt
from memories.store.serializers.inputs import QUERY_CHARACTERS_MAX
from memories.tenancy.serializers.keys import KEY_ID_CHARACTERS_MAX
from memories.tenancy.serializers.partitions import exact_field, path_field
from memory_platform.rest.fields import StrictBooleanField, StrictDateTimeField, StrictTextField, format_utc
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer


class ReceiptInput(StrictSerializer):
    """The query parameters of one receipt."""

    explain = StrictBooleanField(required=False, default=False, takes_text=True)


class ReceiptListInput(PageInput):
    """The query parameters of the list of receipts."""

    partition = path_field(help_text="Of this partition and all below it.")
    exact = exact_field(takes_text=True)
    key = StrictTextField(min_length=1, max_length=KEY_ID_CHARACTERS_MAX, required=False, help_text="Id of a key.")
    model = StrictTextField(min_length=1, max_length=PROFILE_NAME_CHARACTERS_MAX, required=False)
    q = StrictTextField(
        min_length=1, max_length=QUERY_CHARACTERS_MAX, required=False, help_text="Part of the query, whatever its case."
    )
    created_after = StrictDateTimeField(required=False, help_text="Inclusive.")
    created_before = StrictDateTimeField(required=False, help_text="Exclusive.")


def serialize_receipt_row(receipt: Receipt) -> dict[str, Any]:
    """A receipt as a list shows it; the row was read `with_keys`."""
    return {
        "id": str(receipt.pk),
        "created_at": format_utc(receipt.created_at),
        "query": receipt.query,
        "partition": receipt.partition_path,
        "budget": receipt.budget,
        "profile": receipt.profile,
        "budget_profile": receipt.budget_profile,
        "key": receipt.api_key.prefix if receipt.api_key else None,
        "model": receipt.request["model"],
        "as_of": format_utc(receipt.as_of),
        "block_count": len(receipt.blocks),
        "warnings": receipt.warnings,
    }


class ReceiptOutput(ContextOutput):
    """A context read back."""

    created_at = serializers.DateTimeField()
    request = serializers.DictField()
    is_verified = serializers.BooleanField(help_text="The text is byte for byte the one that was given.")


class ReceiptRowOutput(serializers.Serializer[Any]):
    """A receipt in a list."""

    id = serializers.UUIDField()
    created_at = serializers.DateTimeField()
    query = serializers.CharField()
    partition = serializers.CharField()
    budget = ContextBudgetOutput()
    profile = ProfileVersionOutput()
    budget_profile = ProfileVersionOutput()
    key = serializers.CharField(allow_null=True, help_text="Id of the key that asked; null: an operator, a task.")
    model = serializers.CharField()
    as_of = serializers.DateTimeField(allow_null=True)
    block_count = serializers.IntegerField()
    warnings = WarningOutput(many=True)


class ReceiptPageOutput(serializers.Serializer[Any]):
    """A page of receipts, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = ReceiptRowOutput(many=True)
