"""Evaluations with their answers, and golden questions; confined to their tenants (ADR-0080)."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.text
from django.db import migrations, models

from memories.tenancy.row_security import add_tenant_foreign_key, enable_row_security

TABLES = ("evaluationrun", "evaluationanswer", "goldenquestion", "goldenmemory")


class Migration(migrations.Migration):
    dependencies = [
        ("context", "0006_compaction_policy"),
        ("memories", "0005_ticks_uncompressed"),
    ]

    operations = [
        migrations.CreateModel(
            name="EvaluationRun",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "corpus_kind",
                    models.CharField(
                        choices=[
                            ("golden", "golden questions of this tenant"),
                            ("updated_facts", "updated facts, which come with the program"),
                            ("upload", "an uploaded corpus"),
                            ("file", "a file that the command read"),
                        ],
                        max_length=16,
                    ),
                ),
                ("corpus_name", models.CharField(max_length=100)),
                ("corpus_sha256", models.CharField(max_length=64)),
                ("corpus_text", models.TextField(blank=True, default="", help_text="The lines of an uploaded corpus.")),
                ("profile_name", models.CharField(max_length=64)),
                ("profile_version", models.PositiveIntegerField()),
                (
                    "profile_numbers",
                    models.JSONField(help_text="All numbers of the scoring profile that it was asked with."),
                ),
                (
                    "packer",
                    models.CharField(
                        choices=[
                            ("greedy", "greedy: best first, stops after three misses"),
                            ("elastic", "elastic: shortens items so that more of them fit"),
                            ("optimal", "optimal: the highest sum of scores"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "ordering",
                    models.CharField(
                        choices=[
                            ("top_down", "top down: best first"),
                            ("u_curve", "U curve: first half forward, second half woven in from the end"),
                            ("head_tail", "head and tail: best at both ends"),
                            ("stable", "stable: keeps the order of an earlier context"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "budgets",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.PositiveIntegerField(), help_text="Tokens, from the smallest on.", size=None
                    ),
                ),
                ("embedder_model", models.CharField(blank=True, default="", max_length=200)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=9,
                    ),
                ),
                (
                    "step",
                    models.CharField(blank=True, default="", help_text="What it is doing, or did last.", max_length=32),
                ),
                ("done", models.PositiveIntegerField(default=0, help_text="Questions asked.")),
                (
                    "total",
                    models.PositiveIntegerField(default=0, help_text="Questions of the corpus; 0 before it was read."),
                ),
                ("results", models.JSONField(blank=True, default=dict)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("error_code", models.CharField(blank=True, default="", max_length=64)),
                ("error_detail", models.CharField(blank=True, default="", max_length=300)),
                ("created_by", models.CharField(blank=True, default="", max_length=150)),
                ("created_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="evaluations", to="memories.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="EvaluationAnswer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveIntegerField(help_text="Place of the question in its corpus, from 0.")),
                ("question_id", models.CharField(max_length=255)),
                ("category", models.CharField(blank=True, default="", max_length=64)),
                (
                    "measures",
                    models.JSONField(
                        help_text="By budget: what the context held of the evidence, tokens, milliseconds."
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="answers", to="context.evaluationrun"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="GoldenMemory",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.memory"
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="GoldenQuestion",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("text", models.TextField()),
                (
                    "answer",
                    models.TextField(
                        blank=True, default="", help_text="Words that the right answer holds, where known."
                    ),
                ),
                ("category", models.CharField(blank=True, default="", max_length=64)),
                ("partition_path", models.TextField(blank=True, db_collation="C", default="")),
                (
                    "asked_at",
                    models.DateTimeField(blank=True, help_text="The time it is asked at; empty is now.", null=True),
                ),
                ("created_at", models.DateTimeField()),
                ("created_by", models.CharField(blank=True, default="", max_length=150)),
                ("removed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "memories",
                    models.ManyToManyField(
                        related_name="golden_questions", through="context.GoldenMemory", to="memories.memory"
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="golden_questions",
                        to="memories.tenant",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="goldenmemory",
            name="question",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="wanted", to="context.goldenquestion"
            ),
        ),
        migrations.AddIndex(
            model_name="evaluationrun",
            index=models.Index(
                models.F("tenant"),
                models.OrderBy(models.F("created_at"), descending=True),
                models.F("id"),
                name="evaluation_newest",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluationrun",
            index=models.Index(
                condition=models.Q(("state__in", ["queued", "running"])),
                fields=["claimed_until"],
                name="evaluation_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="evaluationrun",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="evaluation_run_tenant_id"),
        ),
        migrations.AddConstraint(
            model_name="evaluationrun",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["queued", "running", "done", "failed", "cancelled"])),
                name="evaluation_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="evaluationrun",
            constraint=models.CheckConstraint(
                condition=models.Q(("budgets__len__gte", 1), ("budgets__len__lte", 24)),
                name="evaluation_budgets_are_bounded",
            ),
        ),
        migrations.AddConstraint(
            model_name="evaluationrun",
            constraint=models.CheckConstraint(
                condition=models.Q(("done__lte", models.F("total"))), name="evaluation_asks_no_more_than_all"
            ),
        ),
        migrations.AddConstraint(
            model_name="evaluationanswer",
            constraint=models.UniqueConstraint(
                fields=("run", "question_id"), name="evaluation_answers_each_question_once"
            ),
        ),
        migrations.AddIndex(
            model_name="goldenquestion",
            index=models.Index(
                models.F("tenant"),
                models.OrderBy(models.F("created_at"), descending=True),
                models.F("id"),
                name="golden_question_newest",
            ),
        ),
        migrations.AddConstraint(
            model_name="goldenquestion",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="golden_question_tenant_id"),
        ),
        migrations.AddConstraint(
            model_name="goldenquestion",
            constraint=models.UniqueConstraint(
                models.F("tenant"),
                django.db.models.functions.text.MD5("text"),
                django.db.models.functions.text.MD5("partition_path"),
                models.F("asked_at"),
                condition=models.Q(("removed_at__isnull", True)),
                name="golden_question_is_asked_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="goldenquestion",
            constraint=models.CheckConstraint(
                condition=models.Q(("text", ""), _negated=True), name="golden_question_has_words"
            ),
        ),
        migrations.AddConstraint(
            model_name="goldenmemory",
            constraint=models.UniqueConstraint(fields=("question", "memory"), name="golden_memory_is_wanted_once"),
        ),
        *[enable_row_security(f"context_{table}") for table in TABLES],
        add_tenant_foreign_key("context_evaluationanswer", "run_id", "context_evaluationrun"),
        add_tenant_foreign_key("context_goldenmemory", "question_id", "context_goldenquestion"),
        add_tenant_foreign_key("context_goldenmemory", "memory_id", "memories_memory"),
    ]
