"""Forms of API keys, settings, the audit log and members, and the partition field that other forms share."""

from collections.abc import Callable, Iterable
from typing import Any, cast

from django import forms
from django.core.exceptions import TooManyFieldsSent, ValidationError
from django.http import QueryDict

from memories.models import SavedView
from memories.services.partitions.paths import parse_partition
from memories.services.store.content import CodedError
from memories.services.store.import_export_files import FILE_TYPES
from memories.services.tenancy.saved_views import FILTER_CHARACTERS_MAX, NAME_CHARACTERS_MAX, kept_filters
from memories.tenancy.actions.invitations import INVITATION_DAYS_DEFAULT, INVITATION_DAYS_MAX
from memory_platform.web.forms import PlatformForm
from memory_platform.web.roles import Role


class PartitionField(forms.CharField):
    """A partition path in its canonical form; empty is the tenant's root."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, max_length=2_500, **kwargs)

    def clean(self, value: Any) -> str:
        return str(checked(parse_partition, super().clean(value).strip("/")))


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


class LanguageForm(PlatformForm):
    """The language that a tenant's memories are searched in."""

    language = forms.ChoiceField()
    #: The language that the page showed.
    replaces = forms.CharField()

    def __init__(self, *args: Any, languages: Iterable[str], **options: Any) -> None:
        super().__init__(*args, **options)
        cast(forms.ChoiceField, self.fields["language"]).choices = [(name, name) for name in languages]


class StoredNameField(forms.CharField):
    """A name in its stored form: `Archive memory` is `archive_memory`."""

    def clean(self, value: Any) -> str:
        return str(super().clean(value)).strip().lower().replace(" ", "_")


AUDIT_CHOICES = [("", "All"), ("changes", "Changes"), ("reads", "Reads")]


class AuditFilterForm(PlatformForm):
    """The filters of the audit log; all are optional and in the URL."""

    show = forms.ChoiceField(label="Show", required=False, choices=AUDIT_CHOICES)
    actor = forms.CharField(label="Who", required=False, max_length=150)
    action = StoredNameField(label="Action", required=False, max_length=64)
    target_kind = StoredNameField(label="Object type", required=False, max_length=64)
    target_id = forms.CharField(label="Object ID", required=False, max_length=150)
    after = forms.DateTimeField(label="From", required=False)
    before = forms.DateTimeField(label="Until", required=False)


ROLE_CHOICES = [(role.value, role.value) for role in Role]


class RoleForm(PlatformForm):
    """The role of a member."""

    role = forms.ChoiceField(choices=ROLE_CHOICES)


class InvitationForm(RoleForm):
    """A link for a person without an account."""

    units = {"days": "days"}

    note = forms.CharField(label="Note", required=False, max_length=100)
    days = forms.IntegerField(
        label="Expires after", min_value=1, max_value=INVITATION_DAYS_MAX, initial=INVITATION_DAYS_DEFAULT
    )


class InvitedForm(PlatformForm):
    """The account that an invited person creates."""

    username = forms.CharField(label="User name", max_length=150)
    password = forms.CharField(label="Password", max_length=4_096, strip=False)
    password_again = forms.CharField(label="Password again", max_length=4_096, strip=False)

    def clean(self) -> dict[str, Any]:
        fields: dict[str, Any] = self.cleaned_data
        if fields.get("password") and fields.get("password_again") and fields["password"] != fields["password_again"]:
            self.add_error("password_again", "The two passwords differ.")
        return fields


class SavedViewForm(PlatformForm):
    """The name of a saved view, and whether the tenant shares it."""

    name = forms.RegexField(
        r"^.+\Z", max_length=NAME_CHARACTERS_MAX, strip=True, error_messages={"invalid": "Enter a name on one line."}
    )
    is_shared = forms.BooleanField(label="Share with the tenant", required=False)

    def __init__(self, *args: Any, may_share: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.may_share = may_share

    def clean_is_shared(self) -> bool:
        is_shared: bool = self.cleaned_data["is_shared"]
        if is_shared and not self.may_share:
            raise ValidationError("Only operators and admins share views.", code="forbidden")
        return is_shared


class NewViewForm(SavedViewForm):
    """A view to save: the list and its query string."""

    list = forms.ChoiceField(choices=SavedView.List.choices)
    query = forms.CharField(max_length=3 * FILTER_CHARACTERS_MAX)

    def clean_query(self) -> dict[str, str]:
        """Return the filters of the query string."""
        try:
            filters = kept_filters(QueryDict(self.cleaned_data["query"]).dict())
        except TooManyFieldsSent as error:
            raise ValidationError("The address has too many filters.", code="too_long") from error
        if any("\x00" in text for pair in filters.items() for text in pair):
            raise ValidationError("A filter contains a NUL character.", code="bad_characters")
        return filters


class AuditExportForm(AuditFilterForm):
    """The filters of the audit log and the file type."""

    type = forms.ChoiceField(required=False, choices=[(name, name) for name in FILE_TYPES])

    def filters(self) -> dict[str, Any]:
        """Return the valid filters as `AuditEntryQuerySet.narrowed` takes them."""
        return {name: value for name, value in self.cleaned_data.items() if name != "type"}


class MemberForm(PlatformForm):
    """A new member of the tenant."""

    username = forms.CharField(label="User name", max_length=150)


def checked(check: Callable[[Any], Any], value: Any) -> Any:
    """Return what a rule of a `services` module returns for a value; its error becomes that of a form field."""
    try:
        return check(value)
    except CodedError as error:
        raise ValidationError(error.detail, code=error.code) from error


def with_unix_line_ends(text: str) -> str:
    """Replace CR LF, which browsers send for every line end."""
    return text.replace("\r\n", "\n")
