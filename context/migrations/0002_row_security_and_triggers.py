"""Row-level security, triggers, and the bounds of a budget profile's compaction policy."""

from django.db import migrations

from memories.tenancy.row_security import enable_row_security
from memories.tenancy.settings_revision import count_settings_changes

TABLES = (
    *("receipt", "feedback", "budgetprofile", "budgetprofileassignment"),
    *("evaluationrun", "evaluationanswer", "goldenquestion", "goldenmemory"),
    *("scoringprofileversion", "scoringprofileassignment"),
)

# Whose changes are changes of the settings of every context (ADR-0116).
SETTINGS = ("budgetprofile", "budgetprofileassignment", "scoringprofileversion", "scoringprofileassignment")

#: As they were when this was written; a later change is a later migration.
BOUNDS = {
    "sleep_threshold": (0.05, 1.0),
    "emergency_threshold": (0.05, 1.0),
    "warning_threshold": (0.05, 1.0),
    "target": (0.05, 0.95),
    "preserve_messages": (1, 500),
    "preserve_share": (0.0, 0.9),
    "mask_over_bytes": (64, 1048576),
    "retention_floor": (0.0, 1.0),
    "summary_share": (0.02, 0.9),
    "idle_minutes": (1, 10080),
    "roll_up_compact_tokens": (32, 2000),
    "roll_up_detailed_tokens": (32, 8000),
}
NUMBERS = " AND ".join(
    f"(compaction->>'{name}' IS NULL OR (compaction->>'{name}')::numeric BETWEEN {least} AND {most})"
    for name, (least, most) in BOUNDS.items()
)
CONSTRAINT = "budget_profile_policy_is_bounded"


class Migration(migrations.Migration):
    dependencies = [("context", "0001_initial"), ("memories", "0002_row_security_and_triggers")]

    operations = [
        *[enable_row_security(f"context_{table}") for table in TABLES],
        migrations.RunSQL(
            f"ALTER TABLE context_budgetprofile ADD CONSTRAINT {CONSTRAINT}"
            f" CHECK (jsonb_typeof(compaction) = 'object' AND {NUMBERS}"
            " AND (compaction->>'decision' IS NULL OR compaction->>'decision' IN ('apply', 'review')))",
            f"ALTER TABLE context_budgetprofile DROP CONSTRAINT {CONSTRAINT}",
        ),
        *[count_settings_changes(f"context_{table}") for table in SETTINGS],
    ]
