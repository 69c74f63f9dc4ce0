"""The rows of a context besides search results, read in one short scope: profiles, focus, memo, summaries.

A part that cannot be read is excluded with a warning; only a missing focus is an error.
"""

import logging
from collections.abc import Callable, Hashable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db import Error as DatabaseFailure

from context.assembly.settings_cache import settings_cache
from context.models import BudgetProfile
from context.profiles.budget_profiles import budget_profile_for, default_budget_profile
from context.profiles.scoring_profiles import resolve_scoring_profile
from context.receipts.results import ContextRequest, ContextWarning, Focus
from context.receipts.storing import StoredContext, read_receipt
from context.services.assembly.focus_partition import focus_partition
from context.services.profiles.scoring_profiles import ADR_0040, ScoringProfile
from memories.models import EmbeddingModel, PartitionSummary, TenantMemo
from memories.services.partitions.paths import PartitionPath, parse_partition
from memories.services.store.moments import PointInTime
from memories.store.readings import Candidate, read_memories, read_partition_summaries, read_summary
from memories.store.search_scope import SearchScope
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import tenant_scope

logger = logging.getLogger(__name__)

KEY_ACTOR = "key"
_Part = TypeVar("_Part")

#: The sentences of the warnings `<part>_failed`.
FAILURES = {
    "profile": "The budget profile could not be read; the default is used.",
    "scoring_profile": "The scoring profile could not be read; the default is used.",
    "embedding_model": "The embedding model could not be read; the default is used.",
    "focus": "The focus could not be read and is excluded; its partition is not searched.",
    "memo": "The memo could not be read and is excluded.",
    "summaries": "The partition summaries could not be read and are excluded.",
    "stable_with": "The earlier context could not be read, so its order is not kept.",
}


class ContextCaller(NamedTuple):
    """Who requests a context of a tenant's rows within `reach` ("" is the whole tenant), and at what time.

    With the tenant's settings `revision`, profiles, memo and summaries may come from the cache of this process.
    """

    tenant_id: UUID
    actor: Actor
    now: datetime
    reach: str = ""
    revision: int | None = None

    @property
    def api_key_id(self) -> str | None:
        """The key whose profiles apply; None for an operator or a task."""
        return self.actor.id if self.actor.kind == KEY_ACTOR else None


@dataclass(frozen=True)
class ContextSources:
    """The rows that were read; `summaries` are those of the partition that the context is about, and above it.

    `partition` limits the search; None if it is that of a focus that could not be read.
    """

    partition: PartitionPath | None
    profile: BudgetProfile
    scoring: ScoringProfile
    embedding_model: EmbeddingModel | None
    memory: Candidate | None
    summary: PartitionSummary | None
    memo: TenantMemo | None
    summaries: list[PartitionSummary]
    earlier: StoredContext | None
    notices: list[ContextWarning]


@dataclass
class SourceReader:
    """Reads the parts of a request's context; `partition` is the named path in the caller's reach."""

    request: ContextRequest
    caller: ContextCaller
    partition: PartitionPath
    moment: PointInTime
    is_careful: bool = False
    has_scope: bool = False
    notices: list[ContextWarning] = field(default_factory=list)

    def read(self) -> ContextSources:
        """Return all parts, read in one scope; if that fails, each in its own scope.

        Raises `NotFound` for a focus or an earlier context that does not exist within reach, `InvalidInput` for an
        unknown profile.
        """
        try:
            with ExitStack() as self._scopes:
                return self._parts()
        except DatabaseFailure:
            self.is_careful = True
            return self._parts()

    def _parts(self) -> ContextSources:
        request, tenant_id = self.request, self.caller.tenant_id
        has_focus_row = request.focus is not None and request.focus.partition is None
        memory, summary = (self._part("focus", self._focus) if has_focus_row else None) or (None, None)
        about = memory.partition_path if memory else summary.partition.path if summary else None
        partition = self._bounds(about)
        who: dict[str, Any] = {
            "api_key_id": self.caller.api_key_id,
            "partition_path": (self.partition if partition is None else partition).path,
        }
        profile = self._part(
            "profile",
            lambda: budget_profile_for(tenant_id, name=request.budget_profile or None, **who),
            given=request.draft,
            key=(request.budget_profile, *who.values()),
        ) or default_budget_profile(tenant_id)
        scoring = self._part(
            "scoring_profile",
            lambda: resolve_scoring_profile(tenant_id, name=request.profile, **who),
            given=request.scoring,
            key=(request.profile, *who.values()),
        )
        model = self._part(
            "embedding_model", lambda: EmbeddingModel.objects.for_tenant(tenant_id).active().first(), key=()
        )
        # memos and summaries of past times are not cached, because there are as many as times
        present = None if self.moment.reads_history else ()
        memo = None
        if given_or_default(request.include_tenant_memo, profile.include_tenant_memo):
            memo = self._part("memo", self._memo, key=present)
        earlier = self._part("stable_with", self._earlier) if request.stable_with else None
        path = self.partition.path if about is None else about
        levels = given_or_default(self.request.include_summaries_at, profile.include_summaries_at)
        style = self.request.summary_style or profile.summary_style
        key = None if present is None else (self.caller.reach, path, tuple(levels), style)
        read = partial(read_partition_summaries, self._scope, path, levels=set(levels), style=style)
        summaries = self._part("summaries", read, key=key) or []
        return ContextSources(
            partition=partition,
            profile=profile,
            scoring=scoring or ADR_0040,
            embedding_model=model,  # None if the tenant has no vectors yet
            memory=memory,
            summary=summary,
            memo=memo,
            # the focus has its own section
            summaries=[row for row in summaries if summary is None or row.summary_id != summary.summary_id],
            earlier=earlier,
            notices=self.notices,
        )

    def _part(
        self,
        name: str,
        read: Callable[[], _Part],
        *,
        given: _Part | None = None,
        key: tuple[Hashable, ...] | None = None,
    ) -> _Part | None:
        """Return the given value, else the result of `read`; with a `key`, the cached value if there is one."""
        if given is not None:
            return given
        if not self.is_careful:
            if key is None:
                return self._in_scope(read)
            entry = (name, *key)
            caller = self.caller
            return settings_cache.get(caller.tenant_id, caller.revision, entry, lambda: self._in_scope(read))
        try:
            with tenant_scope(self.caller.tenant_id):
                return read()
        except DatabaseFailure as error:
            log_failure(name, error)
            self.notices.append(ContextWarning(f"{name}_failed", FAILURES[name]))
            return None

    def _in_scope(self, read: Callable[[], _Part]) -> _Part:
        """Call `read` in the one scope of this request, which opens at the first part that is not in the cache."""
        if not self.has_scope:
            self._scopes.enter_context(tenant_scope(self.caller.tenant_id))
            self.has_scope = True
        return read()

    def _focus(self) -> tuple[Candidate | None, PartitionSummary | None]:
        focus = self.request.focus or Focus()
        memory = summary = None
        if focus.memory_id is not None:
            memory = next(iter(read_memories(self._scope, [focus.memory_id])), None)
            if memory is None:
                raise NotFound("not_found", "There is no such memory.", "focus.memory_id")
        if focus.summary_id is not None:
            summary = read_summary(self._scope, focus.summary_id)
            if summary is None:
                raise NotFound("not_found", "There is no such summary.", "focus.summary_id")
        return memory, summary

    def _bounds(self, about: str | None) -> PartitionPath | None:
        """Return the partition to search: the named one, else that of the focus (`about` is its path)."""
        focus = self.request.focus
        if self.request.partition is not None or focus is None or focus.partition is not None:
            return self.partition
        if about is None:
            return None
        return focus_partition(parse_partition(about), self.request.segments, reach=self.caller.reach)

    @property
    def _scope(self) -> SearchScope:
        return SearchScope(self.caller.tenant_id, self.caller.reach, self.moment)

    def _memo(self) -> TenantMemo | None:
        memo: TenantMemo | None = TenantMemo.objects.for_tenant(self.caller.tenant_id).at(self.moment).first()
        return memo

    def _earlier(self) -> StoredContext | None:
        tenant_id, receipt_id = self.caller.tenant_id, self.request.stable_with
        if receipt_id is None:
            return None
        try:
            return read_receipt(tenant_id=tenant_id, receipt_id=receipt_id, reach=self.caller.reach)
        except NotFound as error:
            raise NotFound(error.code, error.detail, "stable_with") from error


def given_or_default(given: _Part | None, default: _Part) -> _Part:
    """Return what was given, else the default."""
    return default if given is None else given


def log_failure(what: str, error: Exception) -> None:
    """Log a failure with the database's code; its message may quote a row."""
    code = getattr(error.__cause__, "sqlstate", None) or ""
    logger.warning("%s failed: %s %s", what, type(error).__name__, code)
