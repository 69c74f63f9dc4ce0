"""Audit entries, their seals, and the only statements that may change entries (ADR-0142)."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Self
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from memories.services.tenancy.act_labels import AGENT_TRAFFIC, READS, UNLISTED, verbs_named
from memories.tenancy.queries.insertions import execute
from memories.tenancy.queries.methods import rows_among, rows_by, rows_ordered_by, rows_where
from memories.tenancy.queries.rows import TenantRows

#: Maximum entries about a text that a list finds; an earlier end of the time range finds older ones.
ABOUT_TEXT_MAX = 1_000
_LAST_CHARACTER = "\U0010ffff"
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('audit seals of ' || %s, 0))"
_REDACT = "SELECT redact_audit_entries(%s, %s)"
_DELETE_WITH_TENANT = "SELECT delete_audit_log(%s)"


class AuditEntryQuerySet(TenantRows):
    newest_first = rows_ordered_by("-at", "id")
    of_kind = rows_by("target_kind")
    since = rows_by("at__gte")
    of_actors = rows_among("actor_id")
    of_verbs = rows_among("verb")
    at_any = rows_among("at")
    #: Entries without the acts of API keys in every turn of a conversation.
    without_agent_traffic = rows_where(~Q(actor_kind="key", verb__in=[*AGENT_TRAFFIC, *UNLISTED]))

    def about(self, target_id: object) -> Self:
        return self._about_any([str(target_id)])

    def about_any(self, target_kind: str, target_ids: Iterable[object]) -> Self:
        return self._about_any([str(target_id) for target_id in target_ids]).of_kind(target_kind)

    def about_text(self, text: str, target_ids: Iterable[str], numbered: Mapping[str, Collection[str]]) -> Self:
        """The newest `ABOUT_TEXT_MAX` entries with one of these ids, or whose first target begins with the text.

        `numbered` are ids by kind that are numbers: rows of other kinds can have the same ones. With a limit on each
        part, the planner uses indexes however many entries there are.
        """
        beginning = self.filter(target_ids__0__gte=text, target_ids__0__lt=f"{text}{_LAST_CHARACTER}")
        parts = [*self._parts_about([text, *target_ids]), beginning]
        parts += [self.of_kind(kind).filter(target_ids__0__in=ids) for kind, ids in numbered.items() if ids]
        return self._among([rows.newest_first()[:ABOUT_TEXT_MAX] for rows in parts])

    def _about_any(self, target_ids: list[str]) -> Self:
        return self._among(self._parts_about(target_ids))

    def _parts_about(self, target_ids: list[str]) -> list[Self]:
        """Entries with one of these ids as their first target, and those with one among several.

        An index finds the first target. Operators of arrays cannot use an index, so all others are read (ADR-0259).
        """
        several = self.filter(target_ids__1__isnull=False, target_ids__overlap=target_ids)
        return [self.filter(target_ids__0__in=target_ids), several]

    def _among(self, parts: Iterable[Self]) -> Self:
        """Entries of any part, by one union: with OR, every entry would be compared with each part."""
        first, *others = (rows.values("pk") for rows in parts)
        return self.filter(pk__in=first.union(*others))

    def latest_about(self, target_kinds: Iterable[str], target_ids: Iterable[str]) -> set[UUID]:
        """Return the ids of the newest entries about each combination of targets that begins with one of these."""
        rows = self.filter(target_kind__in=list(target_kinds), target_ids__0__in=list(target_ids))
        newest = rows.order_by("target_kind", "target_ids", "-at", "id").distinct("target_kind", "target_ids")
        return set(newest.values_list("pk", flat=True))

    def latest_of_kinds(self, target_kinds: Iterable[str]) -> set[UUID]:
        """Return the ids of the newest entries of these kinds."""
        rows = self.filter(target_kind__in=list(target_kinds)).order_by("target_kind", "-at", "id")
        return set(rows.distinct("target_kind").values_list("pk", flat=True))

    def actor_ids(self, actor_kind: str) -> list[str]:
        """Return the ids of the actors of this kind, each once."""
        return list(self.filter(actor_kind=actor_kind).order_by().values_list("actor_id", flat=True).distinct())

    def narrowed(self, filters: Mapping[str, Any]) -> Self:
        """Entries with these texts in actor and action, about this kind and id, within these times; "" for any.

        An action is named by its verb or its label; `show` is changes or reads.
        """
        lookups = {"actor": "actor_label__icontains", "target_kind": "target_kind"}
        lookups |= {"actor_kind": "actor_kind", "after": "at__gte", "before": "at__lte"}
        rows = self.about(filters["target_id"]) if filters.get("target_id") else self
        if action := filters.get("action"):
            rows = rows.filter(Q(verb__contains=action) | Q(verb__in=verbs_named(action)))
        match filters.get("show"):
            case "changes":
                rows = rows.exclude(verb__in=READS)
            case "reads":
                rows = rows.of_verbs(READS)
        return rows.filter(**{lookups[name]: value for name, value in filters.items() if value and name in lookups})

    def names_in_newest(self, count: int) -> dict[str, list[str]]:
        """Return `actors`, `actions` and `kinds` of the newest `count` entries in alphabetical order."""
        found = list(self.newest_first().values_list("actor_label", "verb", "target_kind")[:count])
        columns = zip(("actors", "actions", "kinds"), zip(*found, strict=True) if found else [()] * 3, strict=True)
        return {name: sorted({text for text in texts if text}) for name, texts in columns}

    def unsealed_and_unqueued(self, seals: "AuditSealQuerySet", waiting: "UnsealedAuditEntryQuerySet") -> Self:
        """Entries that neither have a seal nor wait for one."""
        own = {"tenant_id": OuterRef("tenant_id"), "entry_id": OuterRef("pk")}
        return self.exclude(Exists(seals.filter(**own))).exclude(Exists(waiting.filter(**own)))


class StoredActQuerySet(TenantRows):
    #: Acts on memories, as opposed to those that changed other values.
    on_memories = rows_where(~Q(act="change"))


class AuditSealQuerySet(TenantRows):
    def last_one(self) -> Any:
        """Return the newest seal, None if there is none."""
        return self.order_by("-number").first()

    def after(self, number: int, count: int) -> Self:
        """The `count` seals after this number, in order."""
        return self.filter(number__gt=number).order_by("number")[:count]

    def of_entries(self, entry_ids: Iterable[UUID]) -> Self:
        return self.filter(entry_id__in=list(entry_ids)).order_by("number")

    def newest_by_entry(self, entry_ids: Iterable[UUID]) -> dict[UUID, Any]:
        """Return the last seal of each of these entries that has one, by the id of the entry."""
        return {seal.entry_id: seal for seal in self.of_entries(entry_ids)}

    def redacted_hashes(self, entry_ids: Iterable[UUID]) -> dict[UUID, str]:
        """Return the hash of the current content of each of these entries that was redacted."""
        redactions = self.of_entries(entry_ids).filter(is_redaction=True)
        return dict(redactions.values_list("entry_id", "content_hash"))

    def hash_of(self, number: int) -> str:
        """Return the hash of a seal, "" if it is missing."""
        return self.filter(number=number).values_list("seal_hash", flat=True).first() or ""


class UnsealedAuditEntryQuerySet(TenantRows):
    def oldest(self, count: int) -> list[tuple[int, UUID]]:
        """Return up to `count` rows as (primary key, id of the entry), oldest first."""
        return list(self.order_by("pk").values_list("pk", "entry_id")[:count])


class AuditCheckQuerySet(TenantRows):
    pass


def lock_audit_seals(tenant_id: UUID) -> None:
    """Wait until no other transaction adds seals of the tenant; the lock lasts until the transaction ends."""
    execute(_LOCK, [str(tenant_id)])


def redact_audit_rows(tenant_id: UUID, rows: Collection[tuple[UUID, str, list[str]]]) -> None:
    """Store reasons and target ids (entry, reason, target ids) from which text was removed; inside the tenant's scope.

    The database refuses any other change.
    """
    values = [{"id": str(pk), "reason": reason, "target_ids": target_ids} for pk, reason, target_ids in rows]
    execute(_REDACT, [tenant_id, json.dumps(values)])


def delete_audit_rows(tenant_id: UUID) -> None:
    """Delete the audit log of a tenant whose row the same transaction has deleted; inside a scope of the tenant."""
    execute(_DELETE_WITH_TENANT, [tenant_id])
