"""Who has a compaction open: kept briefly in the cache and renewed by the page (ADR-0091).

If two reviewers renew at the same time, one may be missing until the next renewal. Without a cache, no one is shown.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.core.cache import cache
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

#: How long a reviewer counts as present after the last renewal; pages renew every eight seconds.
SEEN_FOR = timedelta(seconds=25)
#: How long an unreachable cache is not called: a hanging one would delay every page.
_PAUSE_SECONDS = 30.0


@dataclass(frozen=True)
class Reviewer:
    """An operator who has the page open, and the operator's role."""

    user_id: str
    name: str
    role: str


class _Pause:
    until = 0.0


def note_presence(
    *, tenant_id: UUID, compaction_id: UUID, reviewer: Reviewer, now: datetime
) -> Sequence[Reviewer] | None:
    """Record the reviewer and return the others, by name; None if the cache cannot be reached."""
    if time.monotonic() < _Pause.until:
        return None
    key = f"review-presence:{tenant_id}:{compaction_id}"
    try:
        seen: dict[str, tuple[str, str, float]] = cache.get(key) or {}
        present = {user: one for user, one in seen.items() if one[2] > (now - SEEN_FOR).timestamp()}
        present[reviewer.user_id] = (reviewer.name, reviewer.role, now.timestamp())
        cache.set(key, present, int(SEEN_FOR.total_seconds()))
    except (RedisError, OSError) as error:
        _Pause.until = time.monotonic() + _PAUSE_SECONDS
        logger.warning("The cache cannot be reached (%s): reviewers do not see each other.", type(error).__name__)
        return None
    others = (Reviewer(user, name, role) for user, (name, role, _) in present.items() if user != reviewer.user_id)
    return sorted(others, key=lambda who: who.name)
