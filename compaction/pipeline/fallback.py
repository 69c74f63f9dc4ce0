"""Call the configured summariser and fall back to the rules if it fails (ADR-0072). Call with no scope open."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from compaction.pipeline import breakers
from compaction.pipeline.drafting_input import DraftingClock, DraftingError
from compaction.pipeline.summarisers import Summariser, SummariserError, configured_summariser, fallback_summariser
from context.receipts.results import ContextWarning

logger = logging.getLogger(__name__)
_T = TypeVar("_T")

#: How often a run calls a provider that fails temporarily, before rules write the text.
PROVIDER_ATTEMPTS_MAX = 3
BACKOFF_SECONDS, BACKOFF_SECONDS_MAX = 5.0, 300.0
#: Seconds of a time limit that are kept for the rules.
SECONDS_FOR_RULES = 3.0


class ProviderUnavailableError(Exception):
    """The provider fails temporarily: try again after `wait`."""

    def __init__(self, code: str, wait: timedelta) -> None:
        super().__init__(code)
        self.code = code
        self.wait = wait


class SummariserWithFallback:
    """The model if one is configured and works, else the rules; `notices` says why the model was not used."""

    def __init__(
        self,
        tenant_id: UUID,
        clock: DraftingClock,
        *,
        deadline: datetime | None = None,
        attempt: int = 1,
        is_by_rules: bool = False,
    ) -> None:
        self._tenant_id = tenant_id
        self._clock = clock
        self._deadline = deadline
        self._attempt = attempt
        self._is_without_provider = is_by_rules
        self.notices: list[ContextWarning] = []

    def call(self, use: Callable[[Summariser, float | None], _T], *, can_wait: bool = False) -> tuple[_T, Summariser]:
        """Return the result and its summariser; `use` receives the time limit in seconds.

        Raises `ProviderUnavailableError` if it `can_wait`, and `DraftingError` if the rules fail as well.
        """
        chosen = configured_summariser()
        if not chosen.is_local and not self._is_without_provider:
            end = self._deadline
            limit = None if end is None else (end - self._clock()).total_seconds() - SECONDS_FOR_RULES
            if limit is not None and limit <= 0:
                self._without("time_limit", "No time was left to call the model.")
            elif breakers.is_provider_off(self._tenant_id, chosen.name, now=self._clock()):
                self._without("provider_off", "The model failed repeatedly and is temporarily suspended.")
            else:
                try:
                    answer = use(chosen, limit)
                except SummariserError as error:
                    self._after_failure(chosen, error, can_wait=can_wait)
                else:
                    breakers.note_success(self._tenant_id, chosen.name)
                    return answer, chosen
        local = fallback_summariser()
        try:
            return use(local, None), local
        except SummariserError as error:
            raise DraftingError(error.code, error.detail) from error

    def _after_failure(self, chosen: Summariser, error: SummariserError, *, can_wait: bool) -> None:
        attempt = self._attempt
        is_off = not error.blames_task and breakers.note_failure(self._tenant_id, chosen.name, now=self._clock())
        logger.warning("The model failed (%s), attempt %d", error.code, attempt)
        if can_wait and not error.is_permanent and not is_off and attempt < PROVIDER_ATTEMPTS_MAX:
            # Doubled each time, at least the provider's own delay.
            seconds = max(BACKOFF_SECONDS * 2 ** (attempt - 1), error.retry_after_seconds)
            wait = timedelta(seconds=min(seconds, BACKOFF_SECONDS_MAX))
            raise ProviderUnavailableError(error.code, wait) from error
        self._without(error.code, f"{error.detail} The text was extracted by rules instead.")

    def _without(self, code: str, detail: str) -> None:
        self._is_without_provider = True
        self.notices.append(ContextWarning("fallback", f"{detail} ({code})"))
