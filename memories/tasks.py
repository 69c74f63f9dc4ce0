"""Celery tasks of memories. Each has retry rules and one call."""

import logging
from collections.abc import Callable, Iterable
from math import ceil
from time import monotonic
from typing import Any
from uuid import UUID

from celery import shared_task
from django.contrib.sessions.backends.db import SessionStore
from django.db import transaction
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from memories.embeddings import indexer, reembedding
from memories.embeddings.embedders import is_local_for
from memories.embeddings.indexer import embed_pending_memories, embedding_models_with_work
from memories.embeddings.providers import EmbeddingError
from memories.hygiene.maintenance import compare_new_memories_of_tenants, find_unused_and_expiring_memories
from memories.partitions.maintenance import fold_partition_counts
from memories.search import languages
from memories.search.vector_index import extend_vector_indexes
from memories.store.recall import delete_expired_records, fold_retrievals_of_tenants
from memories.tenancy import audit_chain
from memories.tenancy.audit import record_settled_searches
from memories.tenancy.claims import TENANT_CLAIMS_MAX
from memories.tenancy.lock_outs import report_lock_outs
from memories.tenancy.sign_in import delete_expired_sign_in_failures
from memory_platform.postgres.errors import UNAVAILABLE
from memory_platform.postgres.roles import known_owner, logged_in_for_maintenance

logger = logging.getLogger(__name__)

#: Less than the broker's visibility timeout, so that a slow batch is not delivered twice.
EMBED_TIME_LIMIT_SECONDS = 300
FOLD_TIME_LIMIT_SECONDS = 60
SEAL_TIME_LIMIT_SECONDS = 300
#: A million rows take longer; a sweep continues the work.
DERIVE_TIME_LIMIT_SECONDS = 600
COMPARE_TIME_LIMIT_SECONDS = 600
#: Time of one sweep that compares memories; the next one continues. Above it, one batch still ends in time.
COMPARE_SECONDS = 240.0
RETRY_BACKOFF_MAX_SECONDS = 300
MEMORIES_PER_TASK = 100
#: Memories of one call that tasks embed; the sweep embeds the others. Each message names all that its chain has left.
ENQUEUED_MEMORIES_MAX = 10_000
#: Seconds of one task that fills a model; another task continues, so that other work is not blocked.
FILL_TURN_SECONDS = 20.0

#: Retries of tasks that embed, and of other tasks of any app that run again if the database is unavailable.
_EMBEDDING: dict[str, Any] = {
    "autoretry_for": (EmbeddingError, *UNAVAILABLE),
    "retry_backoff": 2,
    "retry_jitter": True,
    "time_limit": EMBED_TIME_LIMIT_SECONDS,
}
RETRIED: dict[str, Any] = {"autoretry_for": UNAVAILABLE, "retry_backoff": True, "retry_jitter": True}


@shared_task(**_EMBEDDING, retry_backoff_max=RETRY_BACKOFF_MAX_SECONDS, max_retries=6)
def embed_memory(tenant_id: str, *memory_ids: str) -> None:
    """Embed memories of a tenant; deleted and embedded ones are skipped.

    Memories beyond one task go to the end of the queue, so that work of other tenants runs in between.
    """
    indexer.index_memories(UUID(tenant_id), [UUID(memory_id) for memory_id in memory_ids[:MEMORIES_PER_TASK]])
    if rest := memory_ids[MEMORIES_PER_TASK:]:
        send_after_commit(embed_memory.delay, UUID(tenant_id), *map(UUID, rest))


@shared_task(time_limit=EMBED_TIME_LIMIT_SECONDS)
def sweep_pending_embeddings() -> int:
    """Embed memories left pending by a killed worker or an unavailable broker or provider."""
    return embed_pending_memories(now=timezone.now())


@shared_task(**_EMBEDDING, max_retries=3)
def work_on_embedding_model(tenant_id: str, model_id: str) -> None:
    """Fill, finish or remove vectors of a model for a while, unless another worker has its lease."""
    end = monotonic() + FILL_TURN_SECONDS
    is_left = reembedding.advance_embedding_model(
        UUID(tenant_id), UUID(model_id), can_continue=lambda: monotonic() < end, clock=timezone.now
    )
    if is_left:
        enqueue_model_work(UUID(tenant_id), UUID(model_id))


@shared_task
def extend_vector_indexes_task() -> int:
    """Put new vectors into the indexes; a worker with the credentials of the tables' owner also rebuilds them."""
    return extend_vector_indexes(owner=known_owner())


@shared_task(**RETRIED, max_retries=3)
def sweep_embedding_models() -> int:
    """Enqueue models left unfinished by a killed worker or a failing provider; return how many."""
    left = embedding_models_with_work()
    for tenant_id, model_id in left:
        enqueue_model_work(tenant_id, model_id)
    return len(left)


@shared_task(**RETRIED, max_retries=10)
def record_settled_searches_task(place: str, searches: list[Any]) -> None:
    """Record the searches of a page that changed while a person typed, if they were the last ones."""
    record_settled_searches(place, searches)


@shared_task(time_limit=FOLD_TIME_LIMIT_SECONDS)
def fold_retrievals_task() -> int:
    """Fold retrievals into memories; failed ones are retried by the next run."""
    return fold_retrievals_of_tenants()


@shared_task(time_limit=COMPARE_TIME_LIMIT_SECONDS)
def compare_new_memories_task() -> int:
    """Compare new and changed memories with their partitions; the next run continues."""
    end = monotonic() + COMPARE_SECONDS
    return compare_new_memories_of_tenants(now=timezone.now(), can_continue=lambda: monotonic() < end)


@shared_task(**RETRIED, max_retries=3)
def find_hygiene_problems_task() -> None:
    """Find memories that were never retrieved or expire soon."""
    find_unused_and_expiring_memories(now=timezone.now())


@shared_task(time_limit=FOLD_TIME_LIMIT_SECONDS)
def fold_partition_counts_task() -> int:
    """Fold changes into partition counts; failed ones are retried by the next run."""
    return fold_partition_counts()


@shared_task(**RETRIED, max_retries=3)
def delete_expired_records_task() -> int:
    """Delete expired responses of requests, hashes of recalled texts, acts, counts of sign-ins, and sessions."""
    now = timezone.now()
    with logged_in_for_maintenance():
        SessionStore.clear_expired()
        return delete_expired_records(now=now) + delete_expired_sign_in_failures(now=now)


@shared_task(autoretry_for=UNAVAILABLE, retry_backoff=True, max_retries=6, time_limit=DERIVE_TIME_LIMIT_SECONDS)
def rederive_search_columns_task(tenant_id: str) -> int:
    """Recompute the text vectors of a tenant in its new language; the sweep continues an interrupted run."""
    return languages.rederive_search_columns(UUID(tenant_id))


@shared_task(time_limit=DERIVE_TIME_LIMIT_SECONDS)
def sweep_languages() -> int:
    """Finish interrupted changes of language."""
    return languages.drop_former_languages_of_tenants(now=timezone.now())


@shared_task(**RETRIED, max_retries=3)
def count_common_lexemes_task() -> int:
    """Count the words that are in many memories of a tenant."""
    return languages.count_common_lexemes_of_tenants()


@shared_task(time_limit=SEAL_TIME_LIMIT_SECONDS)
def seal_audit_entries_task() -> int:
    """Seal new audit entries; the next run continues an interrupted one."""
    return audit_chain.seal_audit_entries(now=timezone.now())


@shared_task(**RETRIED, max_retries=3, time_limit=DERIVE_TIME_LIMIT_SECONDS)
def check_audit_logs_task() -> int:
    """Check the audit log of every tenant; return how many are broken."""
    return audit_chain.check_audit_logs(now=timezone.now())


@shared_task(**RETRIED, max_retries=3)
def report_lock_outs_task() -> int:
    """Report new lock-outs of accounts to their owners and in the audit log."""
    return report_lock_outs(now=timezone.now())


def enqueue_language_change(tenant_id: UUID) -> None:
    """Recompute the tenant's rows in its language."""
    send_after_commit(rederive_search_columns_task.delay, tenant_id)


def enqueue_embedding(tenant_id: UUID, memory_ids: Iterable[UUID]) -> None:
    """Embed the memories; with a local provider the entry point does."""
    if is_local_for(tenant_id):
        return
    ids = list(memory_ids)[:ENQUEUED_MEMORIES_MAX]
    tasks = min(TENANT_CLAIMS_MAX, ceil(len(ids) / MEMORIES_PER_TASK))
    for number in range(tasks):
        send_after_commit(embed_memory.delay, tenant_id, *ids[number::tasks])


def enqueue_model_work(tenant_id: UUID, model_id: UUID) -> None:
    """Fill or remove the vectors of a model."""
    send_after_commit(work_on_embedding_model.delay, tenant_id, model_id)


def send_after_commit(send: Callable[..., object], *ids: UUID) -> None:
    """Send a task with these arguments to the worker after the commit; without a broker the sweep does its work."""

    def run() -> None:
        try:
            send(*map(str, ids))
        except (BrokerError, OSError) as error:
            logger.warning("The broker is unavailable; the sweep does the work: %s", type(error).__name__)

    transaction.on_commit(run)
