"""API keys by prefix and by tenant; authentication looks a key up with `get_from_key`."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, Self
from uuid import UUID

from django.db import models
from django.db.models import OuterRef, Q, Subquery
from psycopg import sql
from rest_framework_api_key.models import BaseAPIKeyManager

from memories.services.tenancy.act_labels import READS
from memories.tenancy.queries.audit import AuditEntryQuerySet
from memories.tenancy.queries.methods import rows_by, rows_ordered_by, rows_within
from memories.tenancy.queries.prepared import send_prepared
from memories.tenancy.queries.rows import TenantRows


@cache
def _usable_keys(model: type[models.Model]) -> tuple[str, list[str], list[str]]:
    """Return the statement that reads the keys with a prefix and their tenants, and the attributes of both."""
    parts: list[sql.Composable] = []
    names: list[list[str]] = []
    tenant_model: Any = model._meta.get_field("tenant").related_model
    for alias, meta in (("key", model._meta), ("tenant", tenant_model._meta)):
        fields = meta.concrete_fields
        names.append([field.attname for field in fields])
        parts += [sql.Identifier(alias, str(field.column)) for field in fields]
    statement = sql.SQL(
        "SELECT {columns} FROM memories_apikey AS key JOIN memories_tenant AS tenant ON tenant.id = key.tenant_id"
        " WHERE NOT key.revoked AND key.prefix = %(prefix)s"
    ).format(columns=sql.SQL(", ").join(parts))
    return statement.as_string(), names[0], names[1]


class ApiKeyQuerySet(TenantRows):
    """API keys, identified by their prefix, because the primary key contains the hash."""

    with_prefix = rows_by("prefix")
    by_name = rows_ordered_by("name", "prefix")
    #: Usable keys by name, then revoked ones.
    usable_first = rows_ordered_by("revoked", "name", "prefix")

    def named_like(self, text: str) -> Self:
        """Usable keys with `text` in their name or at the beginning of their prefix, by name."""
        return self.filter(Q(name__icontains=text) | Q(prefix__startswith=text), revoked=False).by_name()

    def with_last_change(self, entries: AuditEntryQuerySet) -> Self:
        """Add `last_change`, the time of the key's newest of these audit entries except reads, if any."""
        # A condition on the kind of actor is unnecessary and would keep Postgres from using the index.
        own = entries.filter(actor_id=OuterRef("pk")).exclude(verb__in=READS).order_by("-at")
        return self.annotate(last_change=Subquery(own.values("at")[:1]))

    #: Keys confined to `path`.
    within = rows_within("partition_prefix")


class ApiKeyManager(BaseAPIKeyManager):
    """The package's key manager, also by tenant."""

    def get_from_key(self, key: str, scope: AbstractContextManager[None] | None = None) -> Any:
        """Return the usable key of this text with its tenant, in an `authentication_scope`. Raises `DoesNotExist`.

        With `scope` the query opens that one for itself; a pipelined one ends in the same round trip. Keys of two
        tenants may share a prefix (ADR-0093). Every request to the API runs this.
        """
        model: Any = self.model
        statement, key_columns, tenant_columns = _usable_keys(model)
        with scope or nullcontext():
            sent = send_prepared(statement, {"prefix": key.partition(".")[0]})
        for values in sent.rows():
            row = model.from_db(self.db, key_columns, values[: len(key_columns)])
            if row.is_valid(key):
                tenant_model = model._meta.get_field("tenant").related_model
                row.tenant = tenant_model.from_db(self.db, tenant_columns, values[len(key_columns) :])
                return row
        raise model.DoesNotExist("Key is not valid.")

    def get_queryset(self) -> ApiKeyQuerySet:
        return ApiKeyQuerySet(self.model, using=self._db)

    def for_tenant(self, tenant_id: UUID) -> ApiKeyQuerySet:
        return self.get_queryset().for_tenant(tenant_id)
