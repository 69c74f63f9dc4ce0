"""Each text column of each tenant table is erased with its row, searched for quotations, or listed as kept."""

import re
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db.models import Field, JSONField, Model, TextField
from django.utils import timezone

from compaction.erasure.effects import _owned
from compaction.erasure.parts import kind_of, parts_of
from compaction.erasure.selection import Selection
from compaction.models import Erasure, Session
from compaction.services.erasure.quotes import QuotedTexts
from compaction.services.erasure.row_labels import ROW_LABELS, row_label
from memories.models import Memory
from memories.tenancy.scopes import tenant_scope
from memory_platform.postgres.base import APPS, has_tenant

pytestmark = pytest.mark.django_db

#: Columns that are not erased, and why.
STAYS = {
    "Memory, MemoryVersion and what belongs to them, sessions and what belongs to them": "go with their rows",
    "receipt": "blocks, omitted, candidates, plan, profile, budget_profile, budget, warnings, timings: ids and numbers",
    "receipt.partition_path": "of another partition",
    "goldenquestion.partition_path": "of another partition",
    "commonlexeme.lexeme": "single words that are in at least a thousandth of all memories; counted again",
    "partitioncount.path": "derived; empty ones are deleted",
    "partitioncountchange.path": "derived; deleted when they are folded",
    "apikey": "names and prefixes are configuration; keys are revoked, not erased",
    "idempotencyrecord.idempotency_key": "chosen by the client; deleted after 24 hours",
    "auditentry.fields": "names of fields",
    "auditentry.details": "numbers, choices and keyed hashes of queries",
    "recalledtext.context_partition": "of the receiver; deleted after 30 days",
    "retrievaltick.context_partition": "of the receiver; folded within seconds",
    "retrievaltick.recalled_hashes": "hashes",
    "storedact.link_ids": "numbers",
    "storedact.pair_ids": "numbers",
    "storedact.finding_ids": "numbers",
    "alertdelivery.log": "times and codes",
    "erasure": "the record of erasures itself",
    "embeddingmodel.error": "codes of providers",
    "budgetprofile": "settings",
    "scoringprofileversion": "numbers and settings, but for the argument, which is searched",
    "evaluationanswer": "ids of questions and numbers",
    "evaluationrun": "settings and ids, but for corpus and results, which are searched",
}


def text_columns(model: type[Model]) -> set[str]:
    """The columns of free text and JSON; choices, names of people and codes are bounded CharFields, listed apart."""
    kinds = (TextField, JSONField, ArrayField)
    fields: list[Field] = [field for field in model._meta.local_concrete_fields if isinstance(field, kinds)]
    return {field.name for field in fields}


def unsaved_erasure(scope: Erasure.Scope) -> Erasure:
    target = {"memory_id": uuid4(), "partition_path": "user=alex"}
    return Erasure(tenant_id=uuid4(), scope=scope, created_at=timezone.now(), **target)


def tree(model: type[Model], found: set[type[Model]]) -> set[type[Model]]:
    """Return the model and all models whose rows are deleted with its rows."""
    if model not in found:
        found.add(model)
        for child, _ in _owned(model):
            tree(child, found)
    return found


def test_every_text_column_is_decided() -> None:
    selection = Selection(unsaved_erasure(Erasure.Scope.PARTITION))
    with tenant_scope(selection.tenant_id):
        parts = parts_of(selection, QuotedTexts(["one two three four five six seven eight nine"]))
    gone: set[type[Model]] = set()
    searched: set[tuple[type[Model], str]] = set()
    for part in parts:
        if part.choose is None:
            tree(part.model, gone)
        searched |= {(part.model, column) for column in part.columns}
    models = [model for app in APPS for model in apps.get_app_config(app).get_models() if has_tenant(model)]
    undecided = [
        f"{model._meta.model_name}.{column}"
        for model in models
        if model not in gone
        for column in text_columns(model)
        if (model, column) not in searched
        and f"{model._meta.model_name}.{column}" not in STAYS
        and str(model._meta.model_name) not in STAYS
    ]
    assert undecided == []


def test_kinds_of_rows_are_plural_nouns() -> None:
    kinds = {kind_of(model) for app in APPS for model in apps.get_app_config(app).get_models() if has_tenant(model)}
    assert kinds >= {"retention policies", "partition summaries", "API keys", "feedback"}
    assert {kind for kind in kinds if not kind.endswith("s") or re.search("[^aeiou]ys$", kind)} == {"feedback"}
    assert kinds >= ROW_LABELS.keys()
    assert len({row_label(kind) for kind in kinds}) == len(kinds)


def test_tables_that_go_with_a_memory_or_a_session_are_these() -> None:
    selection = Selection(unsaved_erasure(Erasure.Scope.MEMORY))
    with tenant_scope(selection.tenant_id):
        assert {Memory, Session} <= {part.model for part in parts_of(selection, QuotedTexts([])) if not part.choose}
    assert {model.__name__ for model in tree(Memory, set())} == {
        *("Memory", "MemoryVersion", "MemoryEmbedding", "MemoryLink", "MissingVector", "UncomparedMemory"),
        *("MemoryPair", "MemoryFinding", "RecalledText", "Feedback", "GoldenMemory"),
    }
    assert {model.__name__ for model in tree(Session, set())} == {
        *("Session", "Message", "Compaction", "CompactionMember", "Run"),
    }
