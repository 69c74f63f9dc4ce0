"""Run an erasure: claim, count, erase in batches, sign the receipt (ADR-0130).

Each batch is one transaction with its counts, so a worker may be killed at any step: the next one continues with the
remaining rows, once the claim has expired that the killed one renewed (ADR-0352). Called with no scope open.
"""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from threading import Lock
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError

from compaction.erasure.effects import chosen_ids, count_rows, erase_chosen, erase_next
from compaction.erasure.parts import Part, parts_of
from compaction.erasure.queries import ErasureQuerySet
from compaction.erasure.selection import Selection
from compaction.models import Erasure
from compaction.services.erasure.quotes import QuotedTexts
from compaction.services.erasure.receipts import FIRST_DIGEST, is_signed, next_digest, sign_receipt, target_hash
from context.evaluation.actions.evaluations import cancel_evaluation
from context.evaluation.staging import drop_staged_corpus
from context.models import EvaluationRun
from memories.partitions.maintenance import fold_counts_of
from memories.services.time_limits import TimeIsUpError, work_until
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.claims import TENANT_CLAIMS_MAX, claim_in_turn, renewing
from memories.tenancy.exceptions import Conflict
from memories.tenancy.queries.rows import LostClaimError
from memories.tenancy.replica import note_write
from memories.tenancy.scopes import admin_write_scope, maintenance_scope, tenant_scope
from memory_platform.observability.logs import log_place_of
from memory_platform.postgres.errors import UNAVAILABLE
from memory_platform.postgres.roles import logged_in_for_maintenance

logger = logging.getLogger(__name__)

#: How long a claim lasts after its last renewal. A claim that is not renewed for this time belongs to a process that
#: was killed, stopped, or cannot reach the database.
LEASE = timedelta(seconds=45)
#: Three renewals may fail before a claim expires.
RENEWAL_SECONDS = 10.0
#: How long one task works before it leaves the rest to the next, less than its time limit (tasks.py).
SLICE = timedelta(minutes=3)
#: Attempts that erased no batch, or whose worker died, before the erasure fails.
ATTEMPTS_MAX = 20
#: A younger erasure is probably still queued for a worker.
_GRACE = timedelta(seconds=60)
_SWEPT_MAX = 50
_COUNTING, _SIGNING = "counting", "signing"

#: Called with the erasure after each batch.
Progress = Callable[[Erasure], None]


@logged_in_for_maintenance()
def run_erasure(
    tenant_id: UUID,
    erasure_id: UUID,
    *,
    now: datetime,
    time_limit: timedelta | None = None,
    progress: Progress = lambda _: None,
) -> str:
    """Start or continue an erasure and return its state; "" if another worker has it or it has ended.

    An erasure with a `time_limit` also waits while the tenant has its maximum number of erasures running.
    """
    until = now + LEASE
    rows = Erasure.objects.for_tenant(tenant_id)
    with tenant_scope(tenant_id):
        claimed = (
            rows.claim(erasure_id, now=now, until=until)
            if time_limit is None
            else claim_in_turn(rows, tenant_id, erasure_id, now=now, until=until)
        )
        if not claimed:
            return ""
        erasure = rows.get(pk=erasure_id)
    claim = _Claim(erasure, now, until, time_limit, progress)
    try:
        with work_until(claim.is_over), renewing(claim.renew, seconds=RENEWAL_SECONDS):
            claim.run()
    except LostClaimError:
        return ""
    except (TimeIsUpError, IntegrityError):
        return claim.give_back()
    except UNAVAILABLE:
        with suppress(*UNAVAILABLE):  # the database may be unreachable; the claim then expires
            claim.give_back()
        raise
    except Exception as error:  # noqa: BLE001 - an erasure ends in a defined state
        log_place_of(error, logger)
        claim.write(state=Erasure.State.FAILED, error_code="internal_error", claimed_until=None)
    return str(claim.erasure.state)


@dataclass
class _Claim:
    """An erasure that this worker has, until `until`, which another thread extends; None once it is given back."""

    erasure: Erasure
    now: datetime
    until: datetime | None
    time_limit: timedelta | None
    progress: Progress
    began: float = field(default_factory=time.monotonic)
    has_erased: bool = False
    #: Held from an update of the row to its commit, because `until` identifies the claim in both threads.
    lock: Lock = field(default_factory=Lock)

    def is_over(self) -> bool:
        """Return whether the time of this task is up."""
        return self.time_limit is not None and time.monotonic() - self.began > self.time_limit.total_seconds()

    @property
    def clock(self) -> datetime:
        """The current time: the task's start time plus the time elapsed since."""
        return self.now + timedelta(seconds=time.monotonic() - self.began)

    def rows(self) -> ErasureQuerySet:
        rows: ErasureQuerySet = Erasure.objects.for_tenant(self.erasure.tenant_id)
        return rows.claimed(self.erasure.pk, self.until)

    def renew(self) -> bool:
        """Extend the claim in a separate transaction; return False if it was given back or lost. Called by a thread."""
        try:
            if self.until is not None:
                with logged_in_for_maintenance():
                    self.write()
        except LostClaimError:
            return False
        return self.until is not None

    def write(self, **values: Any) -> None:
        """Write columns of the claimed row in a separate transaction."""
        with self.lock:
            with tenant_scope(self.erasure.tenant_id):
                written = self.update(values)
            self.remember(written)

    def update(self, values: dict[str, Any]) -> dict[str, Any]:
        """Write columns of the claimed row and renew the claim; return all columns. Inside the scope, with the lock."""
        written = {"claimed_until": self.clock + LEASE} | values
        self.rows().write(**written)
        return written

    def remember(self, written: dict[str, Any]) -> None:
        """Copy committed columns to the row in memory. With the lock."""
        for name, value in written.items():
            setattr(self.erasure, name, value)
        self.until = written["claimed_until"]

    def give_back(self) -> str:
        """Return the erasure to the queue, or fail it after too many attempts that erased nothing."""
        attempts = self.erasure.attempts - self.has_erased
        is_last = attempts >= ATTEMPTS_MAX
        state = Erasure.State.FAILED if is_last else Erasure.State.QUEUED
        error_code = "interrupted" if is_last else ""
        try:
            self.write(state=state, attempts=attempts, error_code=error_code, claimed_until=None)
        except LostClaimError:
            return ""
        return str(state)

    def run(self) -> None:
        erasure = self.erasure
        self.write(step=_COUNTING, started_at=erasure.started_at or self.clock)
        selection = Selection(erasure)
        with tenant_scope(erasure.tenant_id):
            whole = erasure.scope == Erasure.Scope.TENANT
            with closing(selection.texts()) as texts:
                parts = parts_of(selection, QuotedTexts(() if whole else texts))
            expected = erasure.expected if erasure.counts else count_rows(parts)
        self.write(expected=expected)
        if not erasure.is_dry_run:
            _drop_copies(erasure, self.clock)  # before the rows of a tenant, which name the copies
            for part in parts:
                self._erase(part)
            _drop_copies(erasure, self.clock)  # those that were requested meanwhile
            fold_counts_of(erasure.tenant_id)
        self._finish()

    def _erase(self, part: Part) -> None:
        tenant_id = self.erasure.tenant_id
        if part.choose is None:
            while self._batch(part, lambda tally: erase_next(part, tally)):
                pass
            return
        with tenant_scope(tenant_id):
            ids = chosen_ids(part)
        for start in range(0, len(ids), part.batch):
            batch = ids[start : start + part.batch]
            self._batch(part, partial(erase_chosen, part, batch, now=self.clock))

    def _batch(self, part: Part, erase: Callable[[Callable[[str, Sequence[Any]], None]], Any]) -> Any:
        """Erase one batch and count it in the same transaction."""
        if self.is_over():
            raise TimeIsUpError
        counts, digests = dict(self.erasure.counts), dict(self.erasure.digests)

        def tally(kind: str, ids: Sequence[Any]) -> None:
            counts[kind] = counts.get(kind, 0) + len(ids)
            digests[kind] = next_digest(digests.get(kind, FIRST_DIGEST), ids)

        with ExitStack() as until_remembered:
            with tenant_scope(self.erasure.tenant_id):
                done = erase(tally)
                until_remembered.enter_context(self.lock)
                written = self.update({"counts": counts, "digests": digests, "step": part.kind})
            self.remember(written)
        note_write(self.erasure.tenant_id)
        self.has_erased = True
        self.progress(self.erasure)
        return done

    def _finish(self) -> None:
        erasure, at = self.erasure, self.clock
        values: dict[str, Any] = {"state": Erasure.State.DONE, "step": "", "finished_at": at, "claimed_until": None}
        if erasure.is_dry_run:
            self.write(**values)
            return
        erasure.finished_at = at
        receipt = _receipt(erasure)
        signature = sign_receipt(receipt, _secret())
        values |= {"receipt": receipt, "signature": signature, "partition_path": "", "memory_id": None}
        with self.lock:
            with tenant_scope(erasure.tenant_id):
                if erasure.scope != Erasure.Scope.TENANT:
                    by = Actor.system(f"erasure {erasure.pk}")
                    record_audit("erase", "erasure", [erasure.pk], tenant_id=erasure.tenant_id, by=by, now=at)
                written = self.update(values)
            self.remember(written)


def _drop_copies(erasure: Erasure, now: datetime) -> None:
    """Cancel comparisons of embedding models and delete the copies of memories that they search; opens its scopes."""
    by = Actor.system(f"erasure {erasure.pk}")
    with tenant_scope(erasure.tenant_id):
        open_runs = EvaluationRun.objects.for_tenant(erasure.tenant_id).open()
        runs = list(open_runs.filter(corpus_kind=EvaluationRun.Corpus.GOLDEN_COPY))
        for run in runs:
            with suppress(Conflict):  # it ended meanwhile
                cancel_evaluation(run=run, by=by, now=now)
    for run in runs:
        drop_staged_corpus(run.pk)


def _receipt(erasure: Erasure) -> dict[str, Any]:
    """Return the content that the deployment signs: numbers and hashes, no text and no path."""
    target = str(erasure.memory_id or "") if erasure.scope == Erasure.Scope.MEMORY else erasure.partition_path
    return {
        "erasure_id": str(erasure.pk),
        "tenant_id": str(erasure.tenant_id),
        "scope": erasure.scope,
        "target_hmac": target_hash(target, _secret()),
        "older_than": erasure.older_than and erasure.older_than.isoformat(),
        "requested_by": erasure.requested_by,
        "requested_at": erasure.created_at.isoformat(),
        "finished_at": erasure.finished_at and erasure.finished_at.isoformat(),
        "rows": erasure.counts,
        "ids_sha256": erasure.digests,
    }


def is_receipt_valid(erasure: Erasure) -> bool:
    """Whether this deployment signed the receipt of an erasure, and nothing of it has changed since."""
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return is_signed(erasure.receipt or {}, erasure.signature, [key.encode() for key in secrets])


def erased_target_hash(target: str) -> str:
    """Return the `target_hmac` of receipts for a memory's id or a partition's path."""
    return target_hash(target, _secret())


def abandoned_erasures(*, now: datetime) -> list[Erasure]:
    """Return open erasures that no worker has; opens its own scope."""
    with maintenance_scope():
        abandoned = Erasure.objects.abandoned(now).older_than(now - _GRACE)
        return list(abandoned.first_of_each_tenant(TENANT_CLAIMS_MAX)[:_SWEPT_MAX])


def erasure_receipts() -> list[Erasure]:
    """Return the finished erasures of every tenant, also of erased ones, oldest first; opens its own scope."""
    with admin_write_scope():
        return list(Erasure.objects.all().receipts().order_by("finished_at"))


def mark_files_cleaned(*, now: datetime) -> int:
    """Record for finished erasures that every table was rewritten after `now`; return how many. Opens its scope."""
    with admin_write_scope():
        finished = Erasure.objects.with_uncleaned_files().filter(finished_at__lt=now)
        return int(finished.update(files_cleaned_at=now))


def _secret() -> bytes:
    return str(settings.SECRET_KEY).encode()
