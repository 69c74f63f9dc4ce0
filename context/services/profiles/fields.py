"""The numbers that an operator tunes, each described once for columns, checks, forms, API and pages (ADR-0064)."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memories.services.partitions.paths import MAX_DEPTH

#: The number of a partition's last possible segment, counted from 0.
SUMMARY_LEVEL_MAX = MAX_DEPTH - 1
SUMMARY_LEVELS_MAX = 9
TOKENS_MIN, TOKENS_MAX = 1, 2_000_000
TOP_K_MAX = 200
ELASTIC_ITEMS_MAX, ELASTIC_TOKENS_MAX = 200, 8_192


@dataclass(frozen=True)
class ProfileField:
    """How one number of a profile is stored, checked and shown; its type is that of `default`.

    `bounds` are the least and the most, both included. Forms show `label`, comparisons `title` (else the label in lower
    case). `units` are the singular and the plural of what it counts, `zero_text` is the meaning of 0 if 0 is not an
    amount, and `is_amount` is false for a unit that messages omit. `input_help` and `output_help` are for the OpenAPI
    document.
    """

    default: Any
    bounds: tuple[float, float] | None = None
    label: str = ""
    title: str = ""
    units: tuple[str, str] = ("", "")
    step: str = ""
    hint: str = ""
    zero_text: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    is_amount: bool = True
    input_help: str = ""
    output_help: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether only whole numbers are accepted."""
        return isinstance(self.default, int)

    @property
    def least(self) -> float:
        return self.bounds[0] if self.bounds else -math.inf

    @property
    def most(self) -> float:
        return self.bounds[1] if self.bounds else math.inf

    @property
    def unit(self) -> str:
        """The plural of the unit, shown next to an input."""
        return self.units[1]

    @property
    def input_step(self) -> str:
        """The step of its input: 1 for whole numbers."""
        return "1" if self.is_whole and self.bounds else self.step

    @property
    def shape(self) -> dict[str, Any]:
        """Its JSON schema, without a default."""
        shape: dict[str, Any] = {"type": _JSON_TYPES[type(self.default)]}
        if self.bounds:
            least, most = self.bounds
            shape |= {"minimum": 0 if self.zero_text else least, "maximum": most}
        return shape | ({"enum": list(self.choices)} if self.choices else {})


_JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "number"}


def tuned(default: Any, bounds: tuple[float, float] | None = None, **texts: Any) -> Any:
    """Return a dataclass field with its description; if `default` is a type, each instance gets its own value."""
    described = {"profile": ProfileField(default, bounds, **texts)}
    if isinstance(default, type):
        return field(default_factory=default, metadata=described)
    return field(default=default, metadata=described)


def tuned_fields(profile: type) -> dict[str, ProfileField]:
    """Return the descriptions of a dataclass's `tuned` fields by name."""
    return {each.name: each.metadata["profile"] for each in dataclasses.fields(profile) if "profile" in each.metadata}


_TOKENS, _DAYS, _ITEMS = ("token", "tokens"), ("day", "days"), ("item", "items")

#: The numbers of a budget profile, in the order in which versions are compared.
BUDGET_FIELDS: dict[str, ProfileField] = {
    "default_tokens": ProfileField(4000, (TOKENS_MIN, TOKENS_MAX), label="Default budget", units=_TOKENS),
    "sections": ProfileField(
        {}, title="section limits", input_help="Budget by section; a section without an entry uses what remains."
    ),
    "include_tenant_memo": ProfileField(True, label="Tenant memo leads every context", title="tenant memo"),
    "include_summaries_at": ProfileField(
        [0, 1],
        (0, SUMMARY_LEVEL_MAX),
        label="Summary levels",
        title="levels with summaries",
        hint="0: first path segment, 1: second. Separate with commas.",
        input_help="Levels of the partition tree, 0 being the first segment.",
    ),
    "summary_style": ProfileField("compact"),
    "include_linked_memories": ProfileField(True, label="Memories linked to the focus", title="linked memories"),
    "include_memories_top_k": ProfileField(
        5, (1, TOP_K_MAX), label="Memories without query", title="memories without query", units=("memory", "memories")
    ),
    "include_memory_days": ProfileField(
        False,
        label="Day before each memory",
        title="day before each memory",
        hint="Costs 8 tokens per memory.",
        input_help="Whether the text gives the day (UTC) of each memory before it.",
    ),
    "overfetch_ratio": ProfileField(
        1.25,
        (1.0, 10.0),
        label="Overfetch ratio",
        units=("× budget", "× budget"),
        step="0.05",
        hint="Limits candidates to this many times the budget.",
    ),
    "minimum_score": ProfileField(0.0, (0.0, 1.0), step="0.01", hint="0 to 1. Memories below it are excluded."),
    "pinned_share": ProfileField(
        0.5,
        (0.0, 1.0),
        label="Pinned share",
        units=("of the section budget", "of the section budget"),
        step="0.05",
        hint="0 to 1 of the memory budget. Further pinned memories compete by score.",
        input_help="Share of the memory budget that pinned memories may use before search results.",
        output_help="Beyond it a pinned memory competes by its score.",
    ),
    "near_duplicate_threshold": ProfileField(
        0.97,
        (0.0, 1.0),
        label="Near-duplicate threshold",
        units=("cosine", "cosine"),
        step="0.005",
        hint="0 to 1. More similar memories that state the same are excluded.",
        is_amount=False,
    ),
    "packer": ProfileField("greedy"),
    "elastic_target_items": ProfileField(
        6, (1, ELASTIC_ITEMS_MAX), label="Target items", title="elastic: target items", units=_ITEMS
    ),
    "elastic_fills_budget": ProfileField(
        True,
        label="Fill the budget",
        title="elastic: fills the budget",
        hint="Adds items and length while the budget has space.",
        input_help="Whether to exceed the target and the maximum length while budget remains.",
    ),
    "elastic_min_tokens": ProfileField(
        20,
        (1, ELASTIC_TOKENS_MAX),
        label="Minimum length",
        title="elastic: minimum length",
        units=_TOKENS,
        hint="No text is cut shorter than this.",
    ),
    "elastic_max_tokens": ProfileField(
        90, (1, ELASTIC_TOKENS_MAX), label="Maximum length", title="elastic: maximum length", units=_TOKENS
    ),
    "ordering": ProfileField("top_down"),
    "receipt_days": ProfileField(90, (1, 3_650), label="Retention period", title="receipts kept for", units=_DAYS),
    "receipt_count": ProfileField(
        100_000,
        (1, 10_000_000),
        label="Maximum receipts",
        title="maximum receipts",
        units=("receipt", "receipts"),
        hint="The oldest are deleted first.",
    ),
    "compaction": ProfileField(
        {},
        title="compaction policy",
        input_help="Compaction policy; missing settings use the defaults.",
        output_help="What differs from the default compaction policy.",
    ),
}
