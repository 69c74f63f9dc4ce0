"""Forms of erasures and retention policies."""

from typing import Any

from django import forms

from compaction.models import RetentionPolicy
from compaction.models.erasure import RETENTION_DAYS_MAX
from memories.tenancy.forms import PartitionField
from memory_platform.web.forms import PlatformForm


class EraseForm(PlatformForm):
    """What to erase: a memory, a partition or, without either, the tenant."""

    memory = forms.UUIDField(required=False)
    partition = PartitionField()

    def target(self) -> dict[str, Any]:
        """Return the arguments of `request_erasure`."""
        return {"memory_id": self.cleaned_data["memory"], "partition": self.cleaned_data["partition"] or None}


class ConfirmForm(PlatformForm):
    """The name of what is erased, typed to confirm; empty for a memory."""

    name = forms.CharField(label="Name", required=False, strip=True)

    def __init__(self, *args: Any, name: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.expected_name = name

    def clean_name(self) -> str:
        """Refuse any other name."""
        typed = str(self.cleaned_data["name"])
        if typed != self.expected_name:
            raise forms.ValidationError("This does not match.", code="wrong_name")
        return typed


class RetentionEndForm(PlatformForm):
    """The time at which the page with a policy was rendered: a policy that changed since is not replaced or ended."""

    shown_at = forms.DateTimeField()


class RetentionForm(RetentionEndForm):
    """A retention policy of a partition."""

    units = {"days": "days"}

    partition = PartitionField()
    days = forms.IntegerField(min_value=1, max_value=RETENTION_DAYS_MAX)
    age_from = forms.ChoiceField(choices=RetentionPolicy.From.choices)
    #: Sent by the page that showed what the policy erases immediately.
    is_confirmed = forms.BooleanField(required=False)

    def policy(self) -> dict[str, Any]:
        """Return partition, days and age of the policy."""
        return {name: self.cleaned_data[name] for name in ("partition", "days", "age_from")}
