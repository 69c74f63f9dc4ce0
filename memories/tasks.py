"""Background work of this room: how often to try, and one call each."""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic
from uuid import UUID

from celery import shared_task
from django.db import OperationalError, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from memories.embeddings import indexer, reembedding
from memories.embeddings.embedders import is_local_for
from memories.embeddings.maintenance import embed_pending_memories, embedding_models_with_work
from memories.embeddings.providers import EmbeddingError
from memories.hygiene.maintenance import compare_new_memories_of_tenants, find_unused_and_expiring_memories
from memories.partitions.maintenance import fold_partition_counts
from memories.search import languages
from memories.search.maintenance import count_common_lexemes_of_tenants, drop_former_languages_of_tenants
from memories.store.maintenance import delete_expired_records, fold_retrievals_of_tenants

logger = logging.getLogger(__name__)

#: Below the broker's visibility timeout, or a slow batch would be delivered twice.
EMBED_TIME_LIMIT_SECONDS = 300
FOLD_TIME_LIMIT_SECONDS = 60
#: A million rows take longer: the sweep goes on.
DERIVE_TIME_LIMIT_SECONDS = 600
COMPARE_TIME_LIMIT_SECONDS = 600
RETRY_BACKOFF_MAX_SECONDS = 300
MEMORIES_PER_TASK = 100
#: One turn at filling a model; what is left goes on as a task of its own, so that other work gets between.
FILL_TURN_SECONDS = 20.0


@shared_task(
    autoretry_for=(EmbeddingError, OperationalError),
    retry_backoff=2,
    retry_backoff_max=RETRY_BACKOFF_MAX_SECONDS,
    retry_jitter=True,
    max_retries=6,
    time_limit=EMBED_TIME_LIMIT_SECONDS,
)
def embed_memory(tenant_id: str, *memory_ids: str) -> None:
    """Embed one or a few memories of a tenant; those that are gone or done are passed over."""
    indexer.index_memories(UUID(tenant_id), [UUID(memory_id) for memory_id in memory_ids])


@shared_task(time_limit=EMBED_TIME_LIMIT_SECONDS)
def sweep_pending_embeddings() -> int:
    """Embed what was left behind: by a worker that was killed, a broker or a provider that was away."""
    return embed_pending_memories(now=timezone.now())


@shared_task(
    autoretry_for=(EmbeddingError, OperationalError),
    retry_backoff=2,
    retry_jitter=True,
    max_retries=3,
    time_limit=EMBED_TIME_LIMIT_SECONDS,
)
def work_on_embedding_model(tenant_id: str, model_id: str) -> None:
    """Fill, finish or remove vectors of a model for a while; another worker's claim is respected."""
    end = monotonic() + FILL_TURN_SECONDS
    is_left = reembedding.advance_embedding_model(
        UUID(tenant_id), UUID(model_id), goes_on=lambda: monotonic() < end, clock=timezone.now
    )
    if is_left:
        enqueue_model_work(UUID(tenant_id), UUID(model_id))


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, retry_jitter=True, max_retries=3)
def sweep_embedding_models() -> int:
    """Take up again what a killed worker or a failing provider left behind; how many models there were."""
    left = embedding_models_with_work()
    for tenant_id, model_id in left:
        enqueue_model_work(tenant_id, model_id)
    return len(left)


@shared_task(time_limit=FOLD_TIME_LIMIT_SECONDS)
def fold_retrievals_task() -> int:
    """Fold in what contexts left behind; whatever fails stays for the next time, seconds later."""
    return fold_retrievals_of_tenants()


@shared_task(time_limit=COMPARE_TIME_LIMIT_SECONDS)
def compare_new_memories_task() -> int:
    """Compare new and changed memories with their partitions; what is left stays for the next time."""
    return compare_new_memories_of_tenants(now=timezone.now())


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, retry_jitter=True, max_retries=3)
def find_hygiene_problems_task() -> None:
    """Look for memories that were never retrieved or expire soon."""
    find_unused_and_expiring_memories(now=timezone.now())


@shared_task(time_limit=FOLD_TIME_LIMIT_SECONDS)
def fold_partition_counts_task() -> int:
    """Add up how many memories partitions have; whatever fails stays for the next time, seconds later."""
    return fold_partition_counts()


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, retry_jitter=True, max_retries=3)
def delete_expired_records_task() -> int:
    """Delete answers of idempotent requests and hashes of recalled texts that are past their time."""
    return delete_expired_records(now=timezone.now())


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=6, time_limit=DERIVE_TIME_LIMIT_SECONDS)
def rederive_search_columns_task(tenant_id: str) -> int:
    """Bring the rows of a tenant into the language it was given; the sweep goes on where this was ended."""
    return languages.rederive_search_columns(UUID(tenant_id))


@shared_task(time_limit=DERIVE_TIME_LIMIT_SECONDS)
def sweep_languages() -> int:
    """Finish what a change of language left undone."""
    return drop_former_languages_of_tenants(now=timezone.now())


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, retry_jitter=True, max_retries=3)
def count_common_lexemes_task() -> int:
    """Count anew which words are in many memories of a tenant."""
    return count_common_lexemes_of_tenants()


def enqueue_language_change(tenant_id: UUID) -> None:
    """After the commit, have the rows derived in the tenant's language; without a broker the sweep does it."""
    transaction.on_commit(partial(_unless_broker_is_away, partial(rederive_search_columns_task.delay, str(tenant_id))))


def enqueue_embedding(tenant_id: UUID, memory_ids: Iterable[UUID]) -> None:
    """After the commit, hand the memories to the worker; with a local provider the door embeds them itself.

    A broker that is down does not fail a write that has been committed: the sweep finds the memories.
    """
    if is_local_for(tenant_id):
        return
    ids = [str(memory_id) for memory_id in memory_ids]
    for start in range(0, len(ids), MEMORIES_PER_TASK):
        send = partial(embed_memory.delay, str(tenant_id), *ids[start : start + MEMORIES_PER_TASK])
        transaction.on_commit(partial(_unless_broker_is_away, send))


def enqueue_model_work(tenant_id: UUID, model_id: UUID) -> None:
    """After the commit, hand a model to the worker; a broker that is away leaves it to the sweep."""
    send = partial(work_on_embedding_model.delay, str(tenant_id), str(model_id))
    transaction.on_commit(partial(_unless_broker_is_away, send))


def _unless_broker_is_away(send: Callable[[], object]) -> None:
    try:
        send()
    except (BrokerError, OSError) as error:
        logger.warning("The broker is away, what was to be done waits for the sweep: %s", type(error).__name__)
