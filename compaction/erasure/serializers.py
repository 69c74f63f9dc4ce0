"""Inputs and outputs of the API for erasures and retention policies."""

from typing import Any

from rest_framework import serializers

from compaction.erasure.orchestrator import is_receipt_valid
from compaction.models import Erasure, RetentionPolicy
from compaction.models.erasure import RETENTION_DAYS_MAX
from memories.tenancy.serializers.partitions import path_field
from memory_platform.rest.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictTextField,
    StrictUuidField,
)
from memory_platform.rest.serializers import StrictSerializer

_TARGETS = ("memory_id", "partition", "tenant")


class ErasureInput(StrictSerializer):
    """What to erase: exactly one of a memory, a partition and the tenant."""

    memory_id = StrictUuidField(required=False)
    partition = path_field(help_text="Includes the partitions below it.")
    tenant = StrictTextField(
        max_length=100, required=False, help_text="The name of the key's tenant, which confirms the erasure."
    )
    dry_run = StrictBooleanField(default=False, help_text="Only count the rows to erase.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of `request_erasure`."""
        given = [name for name in _TARGETS if attrs.get(name) is not None]
        if len(given) != 1:
            detail = serializers.ErrorDetail(f"Give exactly one of {', '.join(_TARGETS)}.", "one_target")
            raise serializers.ValidationError({"": [detail]})
        if "tenant" in attrs and attrs.pop("tenant") != self.context["key"].tenant.name:
            detail = serializers.ErrorDetail("This is not the name of the key's tenant.", "wrong_name")
            raise serializers.ValidationError({"tenant": [detail]})
        attrs["partition"] = None if attrs["partition"] is None else attrs["partition"].path
        return attrs | {"is_dry_run": attrs.pop("dry_run")}


class ErasureOutput(serializers.Serializer[Any]):
    """An erasure or a dry run, and the receipt once it is done."""

    id = serializers.UUIDField()
    scope = serializers.ChoiceField(choices=Erasure.Scope.values, help_text="`age`: erased by a retention policy.")
    dry_run = serializers.BooleanField(source="is_dry_run")
    state = serializers.ChoiceField(choices=Erasure.State.values)
    step = serializers.CharField(help_text="The kind of rows being erased.")
    expected = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Rows to erase by kind; rows marked `redacted` lose only their quotations.",
    )
    erased = serializers.DictField(child=serializers.IntegerField(), source="counts", help_text="Rows erased so far.")
    error = serializers.CharField(source="error_code", help_text="Empty unless it failed.")
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    files_cleaned_at = serializers.DateTimeField(allow_null=True, help_text="See `manage.py clean_erased_files`.")
    receipt = serializers.DictField(allow_null=True, help_text="The signed counts and hashes of ids.")
    signature = serializers.CharField(help_text="HMAC-SHA256 of the receipt with the deployment's key.")
    is_receipt_valid = serializers.SerializerMethodField(
        help_text="Whether the signature matches the receipt; null without a receipt."
    )

    def get_is_receipt_valid(self, erasure: Erasure) -> bool | None:
        """Verify the receipt."""
        return is_receipt_valid(erasure) if erasure.receipt else None


class RetentionPolicyInput(StrictSerializer):
    """After how many days the memories and sessions of a partition are erased."""

    partition = path_field(help_text="Includes the partitions below it; absent: the whole tenant.")
    days = StrictIntegerField(minimum=1, maximum=RETENTION_DAYS_MAX)
    age_from = StrictChoiceField(
        choices=RetentionPolicy.From.values,
        help_text="The days count from its creation, or from when it was archived or closed.",
    )


class RetentionPolicyOutput(serializers.Serializer[Any]):
    """One policy."""

    id = serializers.IntegerField()
    partition = serializers.CharField(source="partition_path")
    days = serializers.IntegerField()
    age_from = serializers.ChoiceField(choices=RetentionPolicy.From.values)
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()


class RetentionPoliciesOutput(serializers.Serializer[Any]):
    """All policies of the tenant."""

    policies = RetentionPolicyOutput(many=True)
