"""The budget calculator of this deployment; tokenizer files and toksum are optional, loaded at first use (ADR-0052)."""

import importlib
import importlib.util
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from django.conf import settings

from context.services.assembly.model_catalog import load_catalog
from context.services.budget import BudgetCalculator, CounterError, FamilyCounter

logger = logging.getLogger(__name__)

TOKSUM = "toksum"


class LazyCounter:
    """A tokenizer that `load` returns as a function at its first use; a failure is logged once and cached."""

    def __init__(self, name: str, load: Callable[[], Callable[[str], int]], *, exact: bool) -> None:
        self.name, self.exact = name, exact
        self._load, self._lock = load, Lock()
        self._count: Callable[[str], int] | None = None
        self._failure = ""

    def count(self, text: str) -> int:
        """Return the tokens of `text`. Raises `CounterError`."""
        with self._lock:
            if self._count is None and not self._failure:
                try:
                    self._count = self._load()
                except Exception as error:  # noqa: BLE001 - the packages raise plain exceptions of their own
                    self._failure = type(error).__name__
                    logger.warning("%s cannot be used, the next tier counts: %s", self.name, self._failure)
        if self._count is None:
            raise CounterError(self._failure)
        return self._count(text)


def tokenizer_file(path: Path) -> LazyCounter:
    """Return the exact counter of a Hugging Face `tokenizer.json`; special tokens in a text are ordinary text."""

    def load() -> Callable[[str], int]:
        tokenizer: Any = importlib.import_module("tokenizers").Tokenizer.from_file(str(path))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)

    return LazyCounter(f"tokenizers/{path.stem}", load, exact=True)


def toksum_counter(model: str) -> LazyCounter:
    """Return the estimating counter of the package toksum for a model."""

    def load() -> Callable[[str], int]:
        counter: Any = importlib.import_module(TOKSUM).TokenCounter(model)
        return lambda text: int(counter.count(text)) if text else 0

    return LazyCounter(f"{TOKSUM}/{model}", load, exact=False)


def is_toksum_installed() -> bool:
    """Return whether toksum is installed."""
    return importlib.util.find_spec(TOKSUM) is not None


def available_counters(folder: Path | None = None) -> dict[str, FamilyCounter]:
    """Return a counter by model name prefix: a file `<name>.json` of the folder, else toksum's estimate."""
    counters: dict[str, FamilyCounter] = {}
    if is_toksum_installed():
        inexact = (family for family in load_catalog().families if not family.is_exact)
        counters |= {name: toksum_counter(name) for family in inexact for name in family.names}
    files = sorted(folder.glob("*.json")) if folder else []
    return counters | {path.stem.lower(): tokenizer_file(path) for path in files}


@cache
def budget_calculator() -> BudgetCalculator:
    """Return the calculator of this process, so that a tokenizer is loaded once; threads may share it."""
    folder = settings.BASE_DIR / settings.TOKENIZERS_DIR if settings.TOKENIZERS_DIR else None
    return BudgetCalculator(available_counters(folder))
