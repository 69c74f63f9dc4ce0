"""What a version of a scoring profile was published with: its argument and its comparison (ADR-0098)."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

CONSTRAINT = "scoring_profile_is_published_with_proof"
#: The owner is confined too, so row security is not forced while the numbers of decisions become arguments.
REFERENCES_TO_ARGUMENTS = (
    "ALTER TABLE context_scoringprofileversion NO FORCE ROW LEVEL SECURITY;"
    "UPDATE context_scoringprofileversion"
    " SET argument = jsonb_build_object('context', '', 'decision', adr_reference, 'consequences', '',"
    " 'reason', '') WHERE adr_reference <> '';"
    "ALTER TABLE context_scoringprofileversion FORCE ROW LEVEL SECURITY"
)
ARGUMENTS_TO_REFERENCES = (
    "ALTER TABLE context_scoringprofileversion NO FORCE ROW LEVEL SECURITY;"
    "UPDATE context_scoringprofileversion SET adr_reference = left(argument->>'decision', 16) WHERE argument <> '{}';"
    "ALTER TABLE context_scoringprofileversion FORCE ROW LEVEL SECURITY"
)


class Migration(migrations.Migration):
    dependencies = [("context", "0003_one_explicit_vote_a_day")]

    operations = [
        migrations.RemoveConstraint("scoringprofileversion", CONSTRAINT),
        migrations.AddField(
            "scoringprofileversion",
            "argument",
            models.JSONField(
                default=dict,
                blank=True,
                help_text="Why it was published: `context`, `decision`, `consequences`, `reason`.",
            ),
        ),
        migrations.RunSQL(REFERENCES_TO_ARGUMENTS, ARGUMENTS_TO_REFERENCES),
        migrations.RemoveField("scoringprofileversion", "adr_reference"),
        migrations.AddField(
            "scoringprofileversion",
            "comparison",
            models.JSONField(
                default=dict,
                blank=True,
                help_text="What `EvidenceComparison.to_dict` wrote when it was published.",
            ),
        ),
        migrations.AddField(
            "scoringprofileversion",
            "baseline_run",
            models.ForeignKey(
                "context.EvaluationRun",
                on_delete=django.db.models.deletion.RESTRICT,
                null=True,
                blank=True,
                related_name="+",
            ),
        ),
        migrations.AddConstraint(
            "scoringprofileversion",
            models.CheckConstraint(
                condition=~Q(state="published")
                | Q(evaluation_run__isnull=False, argument__has_keys=["context", "decision", "consequences"]),
                name=CONSTRAINT,
            ),
        ),
    ]
