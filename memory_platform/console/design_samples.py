"""Samples for the design guide: each component as on pages, with invented numbers."""

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from compaction.services.sessions.pressure import PressureParts
from compaction.sessions.charts import pressure_gauge
from context.services.profiles.compaction_policy import CompactionPolicy
from context.services.profiles.scoring_profiles import ADR_0040
from memories.services.store.text_diff import diff_words
from memory_platform.web.charts import Chart, ChartRow

SAMPLE_WINDOW_TOKENS = 8_000
BREAKDOWN = {"relevance": 0.82, "recency": 0.64, "usefulness": 0.5, "confidence": 0.9, "frequency": 0.2}


def component_samples(now: datetime) -> dict[str, Any]:
    """Return the components that the guide's template shows."""
    return {
        "themes": ["light", "dark"],
        "kinds": ["", "good", "warning", "bad"],
        "now": now,
        "breakdown": BREAKDOWN,
        "score": sum(ADR_0040.weights[name] * value for name, value in BREAKDOWN.items()),
        "weights": ADR_0040.weights,
        "sections": [("tenant_memo", 120), ("partition_summary", 240), ("linked_memory", 90), ("memory", 610)],
        "gauges": [
            pressure_gauge(PressureParts(said, 120, 280, 800, 1_200), SAMPLE_WINDOW_TOKENS, CompactionPolicy())
            for said in (900, 3_500, 4_700, 6_200)
        ],
        "toasts": [
            SimpleNamespace(level_tag="success", message="Archived. Contexts omit it.", extra_tags="/design"),
            SimpleNamespace(level_tag="error", message="Undo failed. Someone changed the memory.", extra_tags=""),
        ],
        "chart": Chart(
            "Contexts served",
            "contexts a day",
            ["to agents", "previews"],
            [ChartRow(now - timedelta(days=14 - day), [40 + day * 7 % 11, day * 5 % 9]) for day in range(14)],
        ),
        "pieces": diff_words("The workshop closes at six.", "The workshop in Kiel closes at seven."),
    }
