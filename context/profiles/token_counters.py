"""The budget calculator of this deployment, with the tokenizers it was given: files and toksum (ADR-0052).

Both are optional and loaded at their first use: a large vocabulary takes a second and some hundred megabytes.
"""

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


class _Lazy:
    """Something loaded at its first use; a failure is logged once and remembered."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loaded: Any = None
        self._failure = ""

    def _ready(self, name: str, load: Callable[[], Any]) -> Any:
        with self._lock:
            if self._loaded is None and not self._failure:
                try:
                    self._loaded = load()
                except Exception as error:  # noqa: BLE001 - the packages raise plain exceptions of their own
                    self._failure = type(error).__name__
                    logger.warning("%s cannot be used, the next tier counts: %s", name, self._failure)
        if self._failure:
            raise CounterError(self._failure)
        return self._loaded


class TokenizerFile(_Lazy):
    """Exact counts by a Hugging Face `tokenizer.json`. Text that spells a special token is ordinary text."""

    exact = True

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.name = f"tokenizers/{path.stem}"

    def count(self, text: str) -> int:
        """Return the tokens of `text` without those that a chat template adds. Raises `CounterError`."""
        return len(self._ready(self.name, self._load).encode(text, add_special_tokens=False).ids)

    def _load(self) -> Any:
        tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(str(self._path))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        return tokenizer


class ToksumCounter(_Lazy):
    """Estimates by the package toksum, for the models it knows."""

    exact = False

    def __init__(self, model: str) -> None:
        super().__init__()
        self._model = model
        self.name = f"{TOKSUM}/{model}"

    def count(self, text: str) -> int:
        """About how many tokens `text` has. Raises `CounterError`, also for a model that toksum does not know."""
        counter = self._ready(self.name, self._load)
        return int(counter.count(text)) if text else 0

    def _load(self) -> Any:
        return importlib.import_module(TOKSUM).TokenCounter(self._model)


def is_toksum_installed() -> bool:
    """Return whether toksum is installed."""
    return importlib.util.find_spec(TOKSUM) is not None


def available_counters(folder: Path | None = None) -> dict[str, FamilyCounter]:
    """Return a counter by model name prefix: a file `<name>.json` of the folder, else toksum's estimate."""
    counters: dict[str, FamilyCounter] = {}
    if is_toksum_installed():
        inexact = (family for family in load_catalog().families if not family.is_exact)
        counters |= {name: ToksumCounter(name) for family in inexact for name in family.names}
    files = sorted(folder.glob("*.json")) if folder else []
    return counters | {path.stem.lower(): TokenizerFile(path) for path in files}


@cache
def budget_calculator() -> BudgetCalculator:
    """Return the calculator of this process, so that a tokenizer is loaded once; threads may share it."""
    folder = settings.BASE_DIR / settings.TOKENIZERS_DIR if settings.TOKENIZERS_DIR else None
    return BudgetCalculator(available_counters(folder))
