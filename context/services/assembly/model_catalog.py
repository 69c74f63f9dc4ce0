"""The dated catalog of model families: windows, output limits and encodings, read from `model_catalog.json`."""

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

DEFAULT_MODEL = "gpt-4o"
CATALOG_FILE = Path(__file__).with_name("model_catalog.json")

#: `-4` or `-4.5` directly after a family's name is another version of it; `-2024-08-06` and `-8b` are not.
_OTHER_VERSION = re.compile(r"[-.]?\d{1,2}(?:$|[-.@:])")
_BOUNDARIES = "-@:"


@dataclass(frozen=True)
class ModelFamily:
    """One row of the catalog. Windows and limits in tokens.

    `encoding` is one of `memories.services.tokens.ENCODINGS`; if it is not the family's own (`is_exact` false), a count
    is multiplied by `safety_factor`. `max_output_tokens` is None if the maker publishes no limit.
    """

    provider: str
    names: Sequence[str]
    context_window: int
    max_output_tokens: int | None
    encoding: str
    is_exact: bool
    safety_factor: float


@dataclass(frozen=True)
class ModelCatalog:
    """The whole catalog: the day it was checked (ISO date), its sources, the default and all families."""

    dated: str
    sources: dict[str, str]
    default: ModelFamily
    families: Sequence[ModelFamily]


@cache
def load_catalog() -> ModelCatalog:
    """Return the shipped catalog. Raises `ValueError` when a family is listed twice."""
    raw = json.loads(CATALOG_FILE.read_text(encoding="utf-8"))
    families = [ModelFamily(**row) for row in raw["families"]]
    names = [name for family in families for name in family.names]
    if len(names) != len(set(names)):
        raise ValueError(f"{CATALOG_FILE.name} lists a model twice")
    return ModelCatalog(raw["dated"], raw["sources"], ModelFamily(**raw["default"]), families)


@lru_cache(maxsize=1_024)
def find_family(model: str | None) -> ModelFamily | None:
    """Return the family of `model` (None means gpt-4o) by `longest_name_of`, or None for an unknown one."""
    families = {name: family for family in load_catalog().families for name in family.names}
    return families.get(longest_name_of(model, families) or "")


def longest_name_of(model: str | None, names: Iterable[str]) -> str | None:
    """Return the longest of `names` with which the model's name begins, None if there is none.

    A provider's prefix (`openai/`, `ft:`) and case are ignored; `gpt-4` does not match `gpt-4.7`, nor `claude-opus-4`
    `claude-opus-4-9`.
    """
    name = (model or DEFAULT_MODEL).strip().lower().rsplit("/", 1)[-1].removeprefix("ft:")
    return max((known for known in names if _is_of_family(name, known)), key=len, default=None)


def family_of(model: str | None) -> ModelFamily:
    """Return the family of `model`, or the documented default for an unknown one."""
    return find_family(model) or load_catalog().default


def encoding_for(model: str | None) -> str:
    """Return the name of the encoding under which `model` is counted, e.g. `o200k_base`."""
    return family_of(model).encoding


def to_stored_tokens(tokens: int, model: str | None) -> float:
    """Return how many tokens of the model's encoding, as stored, scale to `tokens` of the model."""
    return tokens / family_of(model).safety_factor


@lru_cache(maxsize=1_024)
def encoding_and_factor(model: str | None) -> tuple[str, float]:
    """Return the encoding of the model and its safety factor; packing calls this for each candidate."""
    family = family_of(model)
    return family.encoding, family.safety_factor


def scaled_count(tokens: int, model: str | None) -> int:
    """Return `tokens` of the model's encoding as tokens of the model: times the safety factor, rounded up."""
    _, factor = encoding_and_factor(model)
    # rounded first: 10 x 1.1 is 11.000000000000002
    return tokens if factor == 1.0 else math.ceil(round(tokens * factor, 6))


def _is_of_family(name: str, known: str) -> bool:
    if not name.startswith(known):
        return False
    rest = name[len(known) :]
    return not rest or (rest[0] in _BOUNDARIES and not _OTHER_VERSION.match(rest))
