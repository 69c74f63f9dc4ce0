"""Forms of API keys, the audit log and members, and the partition field that other forms share."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from memories.services.partitions.paths import PartitionError, parse_partition
from memories.services.store.content import ContentError
from memories.services.store.import_export_files import FILE_TYPES
from memory_platform.web.forms import PlatformForm


class PartitionField(forms.CharField):
    """A partition path in its canonical form; empty is the tenant's root."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, max_length=2_500, **kwargs)

    def clean(self, value: Any) -> str:
        try:
            return parse_partition(super().clean(value).strip("/")).path
        except PartitionError as error:
            raise ValidationError(error.detail, code=error.code) from error


class ApiKeyForm(PlatformForm):
    """A new API key; each scope includes those before it."""

    SCOPES = [("read", "Read"), ("write", "Read and write"), ("admin", "Admin")]

    name = forms.RegexField(
        r"^.+\Z", max_length=50, error_messages={"invalid": "Enter 1 to 50 characters on one line."}
    )
    scope = forms.ChoiceField(label="Scope", choices=SCOPES, initial="write")
    partition = PartitionField()
    refuses_recalled_text = forms.BooleanField(required=False, initial=True)

    def scopes(self) -> list[str]:
        """Return the selected scope and those it includes."""
        scopes = [scope for scope, _ in self.SCOPES]
        return scopes[: scopes.index(self.cleaned_data["scope"]) + 1]


class StoredNameField(forms.CharField):
    """A name as it is stored: `Archive memory` is `archive_memory`."""

    def clean(self, value: Any) -> str:
        return str(super().clean(value)).strip().lower().replace(" ", "_")


class AuditFilterForm(PlatformForm):
    """The filters of the audit log; all are optional and in the URL."""

    actor = forms.CharField(label="Who", required=False, max_length=150)
    action = StoredNameField(label="Action", required=False, max_length=64)
    target_kind = StoredNameField(label="Object type", required=False, max_length=64)
    target_id = forms.CharField(label="Object ID", required=False, max_length=150)
    after = forms.DateTimeField(label="From", required=False)
    before = forms.DateTimeField(label="Until", required=False)


class AuditExportForm(AuditFilterForm):
    """The filters of the audit log, and the type of the file."""

    type = forms.ChoiceField(required=False, choices=[(name, name) for name in FILE_TYPES])

    def filters(self) -> dict[str, Any]:
        """Return the valid filters as `AuditEntryQuerySet.narrowed` takes them."""
        return {name: value for name, value in self.cleaned_data.items() if name != "type"}


class MemberForm(PlatformForm):
    """A new member of the tenant."""

    username = forms.CharField(label="User name", max_length=150)


def checked(check: Callable[[Any], object], value: Any) -> Any:
    try:
        check(value)
    except ContentError as error:
        raise ValidationError(error.detail, code=error.code) from error
    return value


def with_unix_line_ends(text: str) -> str:
    """Replace CR LF, which browsers send for every line end."""
    return text.replace("\r\n", "\n")
