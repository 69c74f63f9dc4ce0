"""Tenants, members and API keys, and constraints that several models share."""

import uuid
from collections.abc import Iterable
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Func, Lookup, Q
from django.db.models.functions import Lower
from django.db.models.lookups import LessThanOrEqual
from rest_framework_api_key.models import AbstractAPIKey

from memories.search.queries.lexemes import CommonLexemeQuerySet
from memories.tenancy.queries.accounts import SignInFailuresQuerySet
from memories.tenancy.queries.api_keys import ApiKeyManager
from memories.tenancy.queries.languages import DEFAULT_TEXT_SEARCH_CONFIG
from memories.tenancy.queries.tenants import (
    InvitationQuerySet,
    MembershipQuerySet,
    OwnRows,
    SavedViewQuerySet,
    TenantQuerySet,
)


def check(condition: "Q | Lookup[Any]", name: str) -> models.CheckConstraint:
    return models.CheckConstraint(condition=condition, name=name)


def unique(name: str, *fields: str, condition: Q | None = None) -> models.UniqueConstraint:
    return models.UniqueConstraint(fields=fields, condition=condition, name=name)


def one_of(field: str, values: Iterable[str], name: str) -> models.CheckConstraint:
    """Return the constraint that a column contains one of these values."""
    return check(Q(**{f"{field}__in": list(values)}), name)


def bounded_bytes(field: str, maximum: int, name: str, **function: Any) -> models.CheckConstraint:
    """Return the constraint that the text of a column has at most `maximum` bytes."""
    size = Func(F(field), function="octet_length", output_field=models.IntegerField(), **function)
    return check(LessThanOrEqual(size, maximum), name)


class Tenant(models.Model):
    """The isolation boundary. Every other row of the system belongs to exactly one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=100, unique=True)
    created_at = models.DateTimeField()
    text_search_config = models.CharField(
        "language", max_length=63, default=DEFAULT_TEXT_SEARCH_CONFIG, help_text="Language for stemming its memories."
    )
    #: Former languages in which rows may still be derived; queries use these as well.
    former_text_search_configs = ArrayField(models.CharField(max_length=63), default=list, editable=False)
    text_search_changed_at = models.DateTimeField(null=True, editable=False)
    #: Increased by triggers on tables of settings, whose rows processes cache until it changes (ADR-0116).
    settings_revision = models.BigIntegerField(default=0, db_default=0, editable=False)

    objects = TenantQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            check(Q(name__regex=r"^\S(.*\S)?$"), "tenant_name_is_trimmed"),
            models.UniqueConstraint(
                Lower("name"),
                name="tenant_name_is_unique_in_any_case",
                violation_error_message="A tenant with this name already exists; case is ignored.",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class CommonLexeme(models.Model):
    """A lexeme in many memories of a tenant, with their approximate number; such words match too many rows."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    lexeme = models.TextField(db_collation="C")
    rows = models.PositiveIntegerField()

    objects = CommonLexemeQuerySet.as_manager()

    class Meta:
        constraints = [unique("common_lexeme_is_unique", "tenant", "lexeme")]

    def __str__(self) -> str:
        return f"a lexeme of tenant {self.tenant_id} in {self.rows} rows"


class Membership(models.Model):
    """An operator's access to one tenant; the operator's groups determine the role there."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships", db_index=False
    )
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="memberships")

    objects = MembershipQuerySet.as_manager()

    class Meta:
        constraints = [unique("membership_is_unique", "user", "tenant")]

    def __str__(self) -> str:
        return f"{self.user} in {self.tenant}"


class SavedViewList(models.TextChoices):
    """The lists with saved views, by the URL names of their pages: all with filters or an order in their URLs."""

    MEMORIES = "memories", "Memories"
    PARTITIONS = "partitions", "Partitions"
    CONTEXTS = "context-log", "Context log"
    AGENTS = "agents", "Agents"
    SESSIONS = "sessions", "Sessions"
    REVIEWS = "reviews", "Reviews"
    HYGIENE = "hygiene", "Hygiene"
    QUESTIONS = "golden-questions", "Golden questions"
    EVALUATIONS = "evaluations", "Evaluations"
    ACTIVITY = "activity", "Activity"
    ALERTS = "alerts", "Alerts"
    JOBS = "jobs", "Jobs"
    AUDIT = "audit-log", "Audit log"
    KEYS = "api-keys", "API keys"
    ERASURES = "erasures", "Erasures"


class SavedView(models.Model):
    """The filters of a list, stored under a name for one operator or for the tenant (ADR-0145)."""

    List = SavedViewList

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    list = models.CharField(max_length=16, choices=SavedViewList)
    name = models.CharField(max_length=60)
    filters = models.JSONField(help_text="The query parameters of the list, without the page.")
    is_shared = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, help_text="Only the last view that an operator deleted is kept.")

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                *("tenant", "user", "list", Lower("name")),
                condition=models.Q(deleted_at=None),
                name="saved_view_name_is_unique",
            ),
            one_of("list", SavedViewList.values, "saved_view_list_is_known"),
        ]
        indexes = [models.Index(fields=["user"], name="saved_view_of_user")]

    def __str__(self) -> str:
        return f"{self.list} {self.name}"


class Invitation(models.Model):
    """A link with which one person becomes a member of a tenant; only the hash of its secret is stored (ADR-0146)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    secret_hash = models.CharField(max_length=64, editable=False)
    role = models.CharField(max_length=16)
    note = models.CharField(max_length=100, default="", blank=True, help_text="For whom it is.")
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        constraints = [
            unique("invitation_secret_is_unique", "tenant", "secret_hash"),
            one_of("role", ["viewer", "operator", "admin"], "invitation_role_is_known"),
        ]

    def __str__(self) -> str:
        return f"invitation as {self.role}"


class FirstSteps(models.Model):
    """The first steps of a tenant that an operator has completed or dismissed, if no other row records it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    receipt_opened_at = models.DateTimeField(null=True)
    dismissed_at = models.DateTimeField(null=True)

    objects = OwnRows.as_manager()

    class Meta:
        verbose_name_plural = "first steps"
        constraints = [unique("first_steps_are_unique", "user", "tenant")]

    def __str__(self) -> str:
        return f"first steps of user {self.user_id} in tenant {self.tenant_id}"


class ApiKey(AbstractAPIKey):
    """An agent's credential: shown once, stored hashed, bound to a tenant and optionally to a partition prefix."""

    class Scope(models.TextChoices):
        READ = "read"
        WRITE = "write"
        ADMIN = "admin"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="api_keys")
    scopes = ArrayField(models.CharField(max_length=16, choices=Scope.choices))
    partition_prefix = models.TextField(default="", blank=True, db_collation="C")
    refuses_recalled_text = models.BooleanField(
        default=True, help_text="Return the existing memory for a new one that repeats a recently rendered text."
    )

    objects: ClassVar[ApiKeyManager] = ApiKeyManager()  # type: ignore[assignment]

    class Meta(AbstractAPIKey.Meta):
        verbose_name = "API key"
        constraints = [
            check(
                Q(scopes__contained_by=["read", "write", "admin"]) & Q(scopes__len__gte=1), "api_key_scopes_are_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix})"

    @property
    def folded_name(self) -> str:
        """The name as tables order it."""
        return str(self.name).casefold()


class SignInFailures(models.Model):
    """Failed sign-ins of one account, address or pair of both; the key is a hash (ADR-0110)."""

    key = models.CharField(max_length=64, primary_key=True, db_collation="C")
    failures = models.PositiveIntegerField()
    last_at = models.DateTimeField(db_index=True)

    objects = SignInFailuresQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.failures} failed sign-ins"
