"""Request, cancel, retry and delete an evaluation (ADR-0080)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import RestrictedError

from context.evaluation.corpora import (
    GOLDEN_NAME,
    UPDATED_FACTS_NAME,
    evaluation_corpus_from_golden_questions,
    read_corpus_upload,
)
from context.evaluation.queries import EvaluationRunQuerySet
from context.evaluation.runs import DEFAULT_EVALUATION_BUDGETS, UPLOAD_BYTES_MAX
from context.models import BUDGETS_MAX, BudgetProfile, EvaluationAnswer, EvaluationRun, ScoringProfileVersion
from context.profiles.scoring_profiles import profile_reference, resolve_scoring_profile, scoring_profile_in_use
from context.services.profiles.fields import TOKENS_MAX, TOKENS_MIN
from context.services.profiles.scoring_profiles import DEFAULT_SCORING_PROFILE_NAME, SHIPPED_PROFILES
from context.tasks import enqueue_evaluation
from memories.embeddings.embedders import active_model_name
from memories.embeddings.providers import known_models
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput

_NAME_CHARACTERS_MAX = 100
_SETTINGS = ("packer", "ordering", "budgets")
#: A stable order needs an earlier context, which a question of a corpus does not have.
EVALUATION_ORDERINGS = tuple(value for value in BudgetProfile.Ordering.values if value != BudgetProfile.Ordering.STABLE)


@transaction.atomic
def request_evaluation(
    *,
    tenant_id: UUID,
    corpus_kind: str,
    corpus_name: str = "",
    corpus_text: str = "",
    profile: str = "",
    packer: str = "",
    ordering: str = "",
    budgets: Iterable[int] = DEFAULT_EVALUATION_BUDGETS,
    embedder_model: str = "",
    is_enqueued: bool = True,
    by: Actor,
    now: datetime,
) -> EvaluationRun:
    """Queue an evaluation of a corpus; the caller runs it unless `is_enqueued`. Inside the scope.

    `profile` may name a draft; "" is adr-0040. `embedder_model` is that of a copy. Raises `InvalidInput` by field.
    """
    scoring = resolve_scoring_profile(tenant_id, profile or DEFAULT_SCORING_PROFILE_NAME, "", None, allow_drafts=True)
    run = EvaluationRun.objects.create(
        tenant_id=tenant_id,
        corpus_kind=_known("corpus", corpus_kind, EvaluationRun.Corpus.values),
        corpus_name=_checked_corpus(tenant_id, corpus_kind, corpus_name, corpus_text, now),
        corpus_text=corpus_text,
        profile_name=scoring.name,
        profile_version=scoring.version,
        profile_numbers=scoring.to_numbers(),
        packer=_known("packer", packer or BudgetProfile.Packer.GREEDY, BudgetProfile.Packer.values),
        ordering=_known("ordering", ordering or BudgetProfile.Ordering.TOP_DOWN, EVALUATION_ORDERINGS),
        budgets=_checked_budgets(budgets),
        embedder_model=embedder_model,
        created_by=by.label[:150],
        created_at=now,
    )
    _audit(run, "request_evaluation", ["corpus", "profile", *_SETTINGS], by, now)
    if is_enqueued:
        enqueue_evaluation(tenant_id, run.pk)
    return run


@transaction.atomic
def request_model_comparison(
    *, tenant_id: UUID, model: str, profile: str = "", by: Actor, now: datetime
) -> tuple[EvaluationRun, EvaluationRun]:
    """Queue two evaluations of the golden questions: with `model`, and with the active embedding model.

    Each embeds a copy of the memories of the questions' partitions. Raises `InvalidInput` by field.
    """
    active = active_model_name(tenant_id)
    if model == active:
        raise InvalidInput("already_active", f"Search already uses {model}.", "model")
    _known("model", model, list(known_models()))
    same: dict[str, Any] = {"corpus_kind": EvaluationRun.Corpus.GOLDEN_COPY, "profile": profile, "by": by, "now": now}
    run, other = (request_evaluation(tenant_id=tenant_id, embedder_model=name, **same) for name in (model, active))
    return run, other


@transaction.atomic
def request_baseline(*, run: EvaluationRun, by: Actor, now: datetime) -> EvaluationRun | None:
    """Queue the same evaluation of the profile in use, which publishing compares with.

    None for a built-in profile, and for the numbers in use.
    """
    if run.profile_name in SHIPPED_PROFILES:
        return None
    versions = ScoringProfileVersion.objects.for_tenant(run.tenant_id).named(run.profile_name)
    base = scoring_profile_in_use(run.tenant_id, versions.active().first())
    if base.numbers == run.profile_numbers:
        return None
    same = {name: getattr(run, name) for name in ("corpus_kind", "corpus_name", "corpus_text", *_SETTINGS)}
    profile = profile_reference(base.name, base.version)
    return request_evaluation(tenant_id=run.tenant_id, **same, profile=profile, by=by, now=now)


@transaction.atomic
def cancel_evaluation(*, run: EvaluationRun, by: Actor, now: datetime) -> EvaluationRun:
    """Cancel an unfinished run; its worker notices within seconds. Raises `Conflict` `is_over`."""
    if not _rows(run).open().finish(EvaluationRun.State.CANCELLED, now):
        raise Conflict("is_over", "The evaluation has already ended.")
    _audit(run, "cancel_evaluation", ["state"], by, now)
    run.refresh_from_db()
    return run


@transaction.atomic
def retry_evaluation(*, run: EvaluationRun, is_enqueued: bool = True, by: Actor, now: datetime) -> EvaluationRun:
    """Continue a failed or cancelled run with its unanswered questions. Raises `Conflict` `not_stopped`.

    Only the command that reads its file can continue the run of a file: `needs_its_file`.
    """
    if is_enqueued and run.corpus_kind == EvaluationRun.Corpus.FILE:
        detail = f"Only the command that reads its file can resume it: manage.py evaluate with --resume {run.pk}."
        raise Conflict("needs_its_file", detail)
    stopped = _rows(run).in_state(EvaluationRun.State.FAILED, EvaluationRun.State.CANCELLED)
    if not stopped.requeue():
        raise Conflict("not_stopped", "Only a failed or cancelled evaluation can be resumed.")
    _audit(run, "retry_evaluation", ["state"], by, now)
    if is_enqueued:
        enqueue_evaluation(run.tenant_id, run.pk)
    run.refresh_from_db()
    return run


@transaction.atomic
def delete_evaluation(*, run: EvaluationRun, by: Actor, now: datetime) -> None:
    """Delete a run with its answers. Raises `Conflict` `proves_a_profile` if a scoring profile needs it."""
    _rows(run).locked().first()  # serialises with publishing a profile
    try:
        with transaction.atomic():
            EvaluationAnswer.objects.for_tenant(run.tenant_id).of_run(run.pk).delete()
            deleted, _ = _rows(run).delete()
    except RestrictedError as error:
        detail = "This evaluation cannot be deleted, because a scoring profile depends on it."
        raise Conflict("proves_a_profile", detail) from error
    if deleted:
        _audit(run, "delete_evaluation", [], by, now)


def _checked_budgets(budgets: Iterable[int]) -> list[int]:
    found = sorted(set(budgets))
    if not 1 <= len(found) <= BUDGETS_MAX or not all(TOKENS_MIN <= budget <= TOKENS_MAX for budget in found):
        detail = f"Give 1 to {BUDGETS_MAX} budgets of {TOKENS_MIN} to {TOKENS_MAX:,} tokens each."
        raise InvalidInput("bad_budgets", detail, "budgets")
    return found


def _checked_corpus(tenant_id: UUID, kind: str, name: str, text: str, now: datetime) -> str:
    """Return the name of a valid corpus. Raises `InvalidInput`."""
    if kind in (EvaluationRun.Corpus.GOLDEN, EvaluationRun.Corpus.GOLDEN_COPY):
        evaluation_corpus_from_golden_questions(tenant_id, now=now)
        return GOLDEN_NAME
    if kind == EvaluationRun.Corpus.UPDATED_FACTS:
        return UPDATED_FACTS_NAME
    name = name.strip()
    if not name or len(name) > _NAME_CHARACTERS_MAX or not name.isprintable():
        detail = f"A corpus name must have 1 to {_NAME_CHARACTERS_MAX} characters on one line."
        raise InvalidInput("bad_name", detail, "corpus_name")
    if kind == EvaluationRun.Corpus.UPLOAD:
        if len(text.encode()) > UPLOAD_BYTES_MAX:
            raise InvalidInput("too_large", f"At most {UPLOAD_BYTES_MAX // 2**20} MiB are allowed.", "corpus")
        read_corpus_upload(name, text)
    return name


def _known(field: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise InvalidInput("invalid_choice", f"Choose one of: {', '.join(known)}.", field)
    return value


def _rows(run: EvaluationRun) -> EvaluationRunQuerySet:
    return EvaluationRun.objects.for_tenant(run.tenant_id).with_id(run.pk)


def _audit(run: EvaluationRun, verb: str, fields: Sequence[str], by: Actor, now: datetime) -> None:
    record_audit(verb, "evaluation", [run.pk], tenant_id=run.tenant_id, fields=fields, by=by, now=now)
