"""Inputs and outputs of the endpoints of receipts."""

from typing import Any

from rest_framework import serializers

from context.assembly.serializers.contexts import PROFILE_NAME_CHARACTERS_MAX, ContextOutput
from context.assembly.serializers.shapes import ContextBudgetOutput, ProfileVersionOutput, WarningOutput
from context.models import Receipt
from memories.store.serializers.inputs import QUERY_CHARACTERS_MAX
from memories.tenancy.serializers.api_keys import KEY_ID_CHARACTERS_MAX
from memories.tenancy.serializers.partitions import exact_field, path_field
from memory_platform.rest.cursor_pagination import PageInput, PageOutput
from memory_platform.rest.fields import StrictBooleanField, StrictDateTimeField, StrictTextField
from memory_platform.rest.serializers import StrictSerializer


class ReceiptInput(StrictSerializer):
    """The query parameters of one receipt."""

    explain = StrictBooleanField(default=False, takes_text=True)


class ReceiptListInput(PageInput):
    """The query parameters of the list of receipts."""

    partition = path_field(help_text="Contexts of this partition and all below it.")
    exact = exact_field(takes_text=True)
    key = StrictTextField(min_length=1, max_length=KEY_ID_CHARACTERS_MAX, required=False, help_text="Id of a key.")
    model = StrictTextField(min_length=1, max_length=PROFILE_NAME_CHARACTERS_MAX, required=False)
    q = StrictTextField(
        min_length=1, max_length=QUERY_CHARACTERS_MAX, required=False, help_text="Part of the query; case is ignored."
    )
    created_after = StrictDateTimeField(required=False, help_text="Inclusive.")
    created_before = StrictDateTimeField(required=False, help_text="Exclusive.")


class ReceiptOutput(ContextOutput):
    """A context read from its receipt."""

    timings = serializers.DictField(
        child=serializers.FloatField(), help_text="Milliseconds by step and in `total`, without storing the receipt."
    )
    created_at = serializers.DateTimeField()
    request = serializers.DictField()
    is_verified = serializers.BooleanField(help_text="Whether the text matches the original byte for byte.")


class ReceiptRowOutput(serializers.Serializer[Any]):
    """A receipt in a list."""

    id = serializers.UUIDField()
    created_at = serializers.DateTimeField()
    query = serializers.CharField()
    partition = serializers.CharField(source="partition_path")
    budget = ContextBudgetOutput()
    profile = ProfileVersionOutput()
    budget_profile = ProfileVersionOutput()
    key = serializers.CharField(
        source="api_key.prefix",
        allow_null=True,
        help_text="Id of the key that sent the request; null for an operator or a task.",
    )
    model = serializers.CharField(source="request.model")
    as_of = serializers.DateTimeField(allow_null=True)
    block_count = serializers.SerializerMethodField()
    warnings = WarningOutput(many=True)
    latency_ms = serializers.FloatField(
        allow_null=True, help_text="The total of its timings in milliseconds, without storing the receipt."
    )

    def get_block_count(self, receipt: Receipt) -> int:
        """Return the number of blocks."""
        return len(receipt.blocks)


class ReceiptPageOutput(PageOutput):
    """A page of receipts, newest first."""

    results = ReceiptRowOutput(many=True)
