"""Versions of scoring profiles and their assignments; confined to their tenants (ADR-0084)."""

import django.db.models.deletion
from django.db import migrations, models

from memories.tenancy.row_security import add_tenant_foreign_key, enable_row_security


class Migration(migrations.Migration):
    dependencies = [
        ("context", "0007_evaluations"),
        ("memories", "0005_ticks_uncompressed"),
    ]

    operations = [
        migrations.CreateModel(
            name="ScoringProfileAssignment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("profile_name", models.CharField(max_length=64)),
                ("partition_path", models.TextField(blank=True, db_collation="C", null=True)),
                ("recorded_from", models.DateTimeField()),
                ("recorded_to", models.DateTimeField(blank=True, null=True)),
                ("created_by", models.CharField(default="", max_length=150)),
                (
                    "api_key",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.apikey",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("api_key__isnull", True), ("partition_path__isnull", False)),
                            models.Q(("api_key__isnull", False), ("partition_path__isnull", True)),
                            _connector="OR",
                        ),
                        name="scoring_assignment_has_one_target",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("api_key__isnull", False), ("recorded_to__isnull", True)),
                        fields=("tenant", "api_key"),
                        name="scoring_assignment_of_key_is_unique",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("partition_path__isnull", False), ("recorded_to__isnull", True)),
                        fields=("tenant", "partition_path"),
                        name="scoring_assignment_of_partition_is_unique",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ScoringProfileVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64)),
                ("version", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("evaluated", "Evaluated"),
                            ("published", "Published"),
                            ("retired", "Retired"),
                        ],
                        default="draft",
                        max_length=9,
                    ),
                ),
                ("numbers", models.JSONField(help_text="What `ScoringProfile.to_numbers` writes.")),
                (
                    "based_on",
                    models.CharField(
                        blank=True, default="", help_text="`name version` it was copied from.", max_length=80
                    ),
                ),
                (
                    "adr_reference",
                    models.CharField(blank=True, default="", help_text="The decision that argues it.", max_length=16),
                ),
                (
                    "report",
                    models.JSONField(
                        blank=True, default=dict, help_text="What `fit_profile` measured on held-out questions."
                    ),
                ),
                ("recorded_from", models.DateTimeField(help_text="When it was saved.")),
                (
                    "recorded_to",
                    models.DateTimeField(blank=True, help_text="When it was superseded or retired.", null=True),
                ),
                ("created_by", models.CharField(blank=True, default="", max_length=150)),
                ("published_at", models.DateTimeField(blank=True, null=True)),
                ("published_by", models.CharField(blank=True, default="", max_length=150)),
                (
                    "evaluation_run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="proven_profiles",
                        to="context.evaluationrun",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scoring_profiles",
                        to="memories.tenant",
                    ),
                ),
            ],
            options={
                "ordering": ["name", "-version"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "name", "version"), name="scoring_profile_version_is_unique"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("recorded_to__isnull", True), ("state", "published")),
                        fields=("tenant", "name"),
                        name="scoring_profile_has_one_in_force",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name__regex", "^[a-z][a-z0-9_-]*$")), name="scoring_profile_name_is_a_word"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["draft", "evaluated", "published", "retired"])),
                        name="scoring_profile_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "published"), _negated=True),
                            models.Q(("evaluation_run__isnull", False), models.Q(("adr_reference", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="scoring_profile_is_published_with_proof",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "evaluated"), _negated=True),
                            ("evaluation_run__isnull", False),
                            _connector="OR",
                        ),
                        name="scoring_profile_is_evaluated_by_a_run",
                    ),
                ],
            },
        ),
        enable_row_security("context_scoringprofileversion"),
        enable_row_security("context_scoringprofileassignment"),
        add_tenant_foreign_key("context_scoringprofileversion", "evaluation_run_id", "context_evaluationrun"),
    ]
