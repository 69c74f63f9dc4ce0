"""From a request to what is actually wished: checked, within the key's reach, every default filled in."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from context.budget_profiles import current_budget_profile
from context.models import TOP_K_MAX, BudgetProfile
from context.receipts import anchors_of_receipt
from context.results import SCORING_PROFILE_NAME, Anchor, ContextRequest, Notice
from context.sections import PACKERS
from context.services.budget import BudgetCalculator
from context.services.model_catalog import DEFAULT_MODEL
from context.services.ordering import ORDERINGS
from context.services.rendering import STYLES
from memories.exceptions import Forbidden, InvalidInput
from memories.models import TenantMemo
from memories.scopes import tenant_scope
from memories.services.content import ContentError, check_content
from memories.services.partitions import PartitionError, PartitionPath, is_within, parse_partition

MODEL_NAME_CHARACTERS = 200
STABLE = "stable"

Value = TypeVar("Value")


@dataclass(frozen=True)
class Wish:
    """A request with nothing left open. `query` None: the partition's top `top_k`; else `top_k` is None."""

    request: ContextRequest
    query: str | None
    partition: PartitionPath
    profile: BudgetProfile
    model: str
    max_tokens: int
    packer: str
    ordering: str
    top_k: int | None
    memo: TenantMemo | None
    previous: Sequence[Anchor]
    notices: Sequence[Notice]

    def as_record(self) -> dict[str, Any]:
        """The inputs as a receipt keeps them."""
        return {
            "query": self.query or "",
            "partition": self.partition.path,
            "exact": self.request.exact,
            "segments": dict(self.request.segments),
            "max_tokens": self.max_tokens,
            "model": self.model,
            "packer": self.packer,
            "ordering": self.ordering,
            "render": self.request.render,
            "include_tenant_memo": _chosen(self.request.include_tenant_memo, self.profile.include_tenant_memo),
            "include_memories_top_k": self.top_k,
            "stable_with": None if self.request.stable_with is None else str(self.request.stable_with),
        }


def resolve_wish(request: ContextRequest, *, tenant_id: UUID, reach: str, calculator: BudgetCalculator) -> Wish:
    """`request` with its defaults, from the tenant's rows in one short scope.

    Raises `InvalidInput` naming the field, `Forbidden` for a partition outside of `reach`, `NotFound` for a
    `stable_with` outside of it.
    """
    _check_choices(request)
    partition = _partition(request.partition, reach)
    query = _query(request.query)
    model = request.model or DEFAULT_MODEL
    _check_tokens(request.max_tokens, calculator.context_window(model))
    with tenant_scope(tenant_id):
        profile = request.draft or current_budget_profile(tenant_id, request.budget_profile)
        memo = _memo(tenant_id, _chosen(request.include_tenant_memo, profile.include_tenant_memo))
        previous = _previous(request.stable_with, tenant_id, reach)
    default_tokens = min(profile.default_tokens, calculator.context_window(model))
    top_k = _chosen(request.include_memories_top_k, profile.include_memories_top_k)
    return Wish(
        request=request,
        query=query,
        partition=partition,
        profile=profile,
        model=model,
        max_tokens=_chosen(request.max_tokens, default_tokens),
        packer=request.packer or profile.packer,
        ordering=request.ordering or (STABLE if request.stable_with else profile.ordering),
        top_k=None if query else top_k,
        memo=memo,
        previous=previous,
        notices=_notices(request, query, model, calculator),
    )


def _chosen(given: Value | None, default: Value) -> Value:
    return default if given is None else given


def _check_choices(request: ContextRequest) -> None:
    _check_choice("render", request.render, STYLES)
    _check_choice("ordering", request.ordering or ORDERINGS[0], ORDERINGS)
    _check_choice("packer", request.packer or next(iter(PACKERS)), PACKERS)
    _check_choice("profile", request.profile, (SCORING_PROFILE_NAME,))
    _check_range("include_memories_top_k", request.include_memories_top_k, TOP_K_MAX)
    if len(request.model) > MODEL_NAME_CHARACTERS:
        raise InvalidInput("too_long", f"A model's name has at most {MODEL_NAME_CHARACTERS} characters.", "model")
    if request.draft is not None and not request.preview:
        raise InvalidInput("draft_needs_preview", "A draft of a budget profile can only be previewed.", "preview")


def _check_choice(field: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise InvalidInput("unknown_choice", f"Known are: {', '.join(known)}.", field)


def _check_range(field: str, value: int | None, highest: int) -> None:
    if value is not None and not 1 <= value <= highest:
        raise InvalidInput("out_of_range", f"The number must be between 1 and {highest:,}.", field)


def _check_tokens(max_tokens: int | None, window: int) -> None:
    _check_range("max_tokens", max_tokens, window)


def _partition(path: str, reach: str) -> PartitionPath:
    """The partition asked for; without one, all that the key reaches."""
    try:
        partition = parse_partition(path or reach)
    except PartitionError as error:
        raise InvalidInput(error.code, error.detail, "partition") from error
    if not is_within(partition.path, reach):
        raise Forbidden("outside_partition", "This key does not reach that partition.", "partition")
    return partition


def _query(query: str) -> str | None:
    text = query.strip()
    if not text:
        return None
    try:
        check_content(text)
    except ContentError as error:
        raise InvalidInput(error.code, error.detail, "query") from error
    return text


def _memo(tenant_id: UUID, is_wanted: bool) -> TenantMemo | None:
    return TenantMemo.objects.for_tenant(tenant_id).current().first() if is_wanted else None


def _previous(receipt_id: UUID | None, tenant_id: UUID, reach: str) -> list[Anchor]:
    if receipt_id is None:
        return []
    return anchors_of_receipt(tenant_id=tenant_id, receipt_id=receipt_id, reach=reach)


def _notices(request: ContextRequest, query: str | None, model: str, calculator: BudgetCalculator) -> list[Notice]:
    notices = [Notice("unknown_model", warning) for warning in calculator.warnings_for(model)]
    if request.stable_with is not None and request.ordering not in ("", STABLE):
        notices.append(Notice("stable_with_unused", "Only the ordering `stable` keeps an earlier order."))
    if query and request.include_memories_top_k is not None:
        notices.append(Notice("top_k_unused", "With a query the budget decides how many memories are kept."))
    return notices
