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
    #: The state of the memories and sessions that the page showed.
    shown = forms.CharField(required=False, max_length=64)

    def __init__(self, *args: Any, name: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.expected_name = name

    def clean_name(self) -> str:
        """Refuse any other name."""
        typed = str(self.cleaned_data["name"])
        if typed != self.expected_name:
            raise forms.ValidationError("This does not match.", code="wrong_name")
        return typed


_STATE = r"[0-9a-f]{16}\.[0-9a-f]{16}"


class RetentionEndForm(PlatformForm):
    """The state of the policy to end, as the page showed it: a policy that changed since is kept."""

    replaces = forms.RegexField(rf"^{_STATE}\Z")


class RetentionForm(PlatformForm):
    """A retention policy of a partition."""

    units = {"days": "days"}

    #: The states of the policies that the page showed, or none: a policy that changed since is not replaced.
    shown = forms.RegexField(rf"^(none|{_STATE}(,{_STATE})*)\Z", widget=forms.HiddenInput)

    partition = PartitionField()
    days = forms.IntegerField(min_value=1, max_value=RETENTION_DAYS_MAX)
    age_from = forms.ChoiceField(choices=RetentionPolicy.From.choices)
    #: The `confirmation` of the policy of which the page showed what it erases immediately.
    confirmed = forms.CharField(required=False, max_length=2_600, strip=False)

    def clean_shown(self) -> list[str]:
        return [state for state in str(self.cleaned_data["shown"]).split(",") if state != "none"]

    def policy(self) -> dict[str, Any]:
        """Return partition, days and age of the policy."""
        return {name: self.cleaned_data[name] for name in ("partition", "days", "age_from")}

    def confirmation(self) -> str:
        """Return a text that identifies the policy of the valid form."""
        return " ".join(map(str, self.policy().values()))
