"""A cache by text whose memory is bounded: an entry of `lru_cache` may be a text of any length."""

from collections.abc import Callable
from functools import lru_cache, update_wrapper
from typing import Concatenate, ParamSpec, TypeVar

#: Longer texts and words are not cached, because a thousand of them would fill a process's memory.
CHARACTERS_KEPT_MAX = 500

P = ParamSpec("P")
R = TypeVar("R")


def cached_texts(
    count: int, longest: int = CHARACTERS_KEPT_MAX
) -> Callable[[Callable[Concatenate[str, P], R]], Callable[Concatenate[str, P], R]]:
    """Return a decorator as `lru_cache(count)`, for functions of a text; those longer than `longest` are not kept."""

    def decorate(read: Callable[Concatenate[str, P], R]) -> Callable[Concatenate[str, P], R]:
        kept = lru_cache(count)(read)

        def read_or_recall(text: str, /, *args: P.args, **kwargs: P.kwargs) -> R:
            if len(text) > longest:
                return read(text, *args, **kwargs)
            return kept(text, *args, **kwargs)  # type: ignore[arg-type]  # its stubs take hashable arguments only

        update_wrapper(read_or_recall, read)
        return read_or_recall

    return decorate
