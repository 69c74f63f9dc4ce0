"""The tables of what an agent gets to read."""

import uuid

import django.contrib.postgres.fields
import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
from django.db import migrations, models
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import MD5, Cast

import context.models.profiles


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("memories", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Receipt",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="receipts",
                        to="memories.tenant",
                    ),
                ),
                (
                    "api_key",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="memories.apikey"
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("query", models.TextField(blank=True, default="")),
                ("partition_path", models.TextField(blank=True, db_collation="C", default="")),
                (
                    "request",
                    models.JSONField(
                        encoder=django.core.serializers.json.DjangoJSONEncoder,
                        help_text="The inputs after defaults were filled in.",
                    ),
                ),
                ("profile", models.JSONField(help_text="Name and version of the scoring profile.")),
                ("budget_profile", models.JSONField(help_text="Name and version of the budget profile.")),
                ("budget", models.JSONField()),
                ("tokens_used", models.PositiveIntegerField()),
                (
                    "blocks",
                    models.JSONField(
                        encoder=django.core.serializers.json.DjangoJSONEncoder,
                        help_text="Anchors, tokens, places and score parts; no text.",
                    ),
                ),
                ("omitted", models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder)),
                (
                    "candidates",
                    models.JSONField(
                        encoder=django.core.serializers.json.DjangoJSONEncoder,
                        help_text="Every candidate's score parts; no text.",
                    ),
                ),
                ("plan", models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ("warnings", models.JSONField(default=list)),
                ("timings", models.JSONField(default=dict)),
                ("text_sha256", models.CharField(max_length=64)),
                ("nonce_counter", models.PositiveIntegerField(default=0)),
                (
                    "as_of",
                    models.DateTimeField(
                        blank=True, help_text="The valid time that was read; empty is now.", null=True
                    ),
                ),
                ("stable_prefix_tokens", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "memory_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(),
                        default=list,
                        help_text="The memories included in its text, each listed once.",
                        size=None,
                    ),
                ),
                (
                    "max_tokens",
                    models.GeneratedField(
                        db_persist=True,
                        expression=Cast(KeyTextTransform("max_tokens", "budget"), models.IntegerField()),
                        null=True,
                        output_field=models.IntegerField(),
                    ),
                ),
                (
                    "latency_ms",
                    models.GeneratedField(
                        db_persist=True,
                        expression=Cast(KeyTextTransform("total", "timings"), models.FloatField()),
                        null=True,
                        output_field=models.FloatField(),
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        models.F("tenant"),
                        models.OrderBy(models.F("created_at"), descending=True),
                        models.F("id"),
                        name="receipt_newest",
                    ),
                    models.Index(
                        fields=["tenant", "created_at"],
                        include=("latency_ms", "tokens_used", "max_tokens"),
                        name="receipt_figures",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("tokens_used__gte", 0)), name="receipt_tokens_are_not_negative"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Feedback",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="feedback", to="memories.memory"
                    ),
                ),
                (
                    "receipt",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="feedback",
                        to="context.receipt",
                    ),
                ),
                ("kind", models.CharField(choices=[("explicit", "Explicit"), ("implicit", "Implicit")], max_length=8)),
                (
                    "weight",
                    models.FloatField(help_text="+1, -1 or -3 as given; +0.25 where an answer used the memory."),
                ),
                ("reason", models.CharField(blank=True, default="", max_length=500)),
                ("at", models.DateTimeField()),
                (
                    "on_day",
                    models.DateField(
                        help_text="The UTC day of `at`: at most one explicit vote per actor and one implicit vote."
                    ),
                ),
                ("actor_kind", models.CharField(max_length=8)),
                ("actor_id", models.CharField(blank=True, default="", max_length=150)),
                ("actor_label", models.CharField(blank=True, default="", max_length=150)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_by", models.CharField(blank=True, default="", max_length=150)),
                (
                    "score_before",
                    models.FloatField(
                        blank=True,
                        help_text="The memory's usefulness before its first vote; restored if all votes are withdrawn.",
                        null=True,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "feedback",
                "indexes": [
                    models.Index(fields=["tenant", "memory", "-at"], name="feedback_of_memory"),
                    models.Index(fields=["receipt"], name="feedback_of_receipt"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "explicit"), ("weight__in", [1.0, -1.0, -3.0])),
                            models.Q(("kind", "implicit"), ("weight", 0.25)),
                            _connector="OR",
                        ),
                        name="feedback_weight_is_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "implicit"), ("withdrawn_at__isnull", True)),
                        fields=("memory", "on_day", "tenant"),
                        name="feedback_is_implied_once_a_day",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "explicit"), ("withdrawn_at__isnull", True)),
                        fields=("tenant", "memory", "on_day", "actor_kind", "actor_id"),
                        name="feedback_is_explicit_once_a_day",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="BudgetProfile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="budget_profiles",
                        to="memories.tenant",
                    ),
                ),
                ("name", models.CharField(default="default", max_length=64)),
                ("version", models.PositiveIntegerField()),
                (
                    "default_tokens",
                    models.PositiveIntegerField(
                        default=4000,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(2000000),
                        ],
                    ),
                ),
                (
                    "overfetch_ratio",
                    models.FloatField(
                        default=1.25,
                        validators=[
                            django.core.validators.MinValueValidator(1.0),
                            django.core.validators.MaxValueValidator(10.0),
                        ],
                    ),
                ),
                (
                    "minimum_score",
                    models.FloatField(
                        default=0.0,
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                    ),
                ),
                (
                    "pinned_share",
                    models.FloatField(
                        default=0.5,
                        help_text="Share of the memory budget that pinned memories may use before search results.",
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                    ),
                ),
                (
                    "packer",
                    models.CharField(
                        choices=[
                            ("greedy", "greedy: best first, stops after three misses"),
                            ("elastic", "elastic: shortens items so that more of them fit"),
                            ("optimal", "optimal: the highest sum of scores"),
                        ],
                        default="greedy",
                        max_length=16,
                    ),
                ),
                (
                    "ordering",
                    models.CharField(
                        choices=[
                            ("top_down", "top down: best first"),
                            ("u_curve", "U curve: first half alternating with the reversed second half"),
                            ("head_tail", "head and tail: best at both ends"),
                            ("stable", "stable: keeps the order of an earlier context"),
                        ],
                        default="top_down",
                        max_length=16,
                    ),
                ),
                ("include_tenant_memo", models.BooleanField(default=True)),
                (
                    "include_memories_top_k",
                    models.PositiveSmallIntegerField(
                        default=5,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(200),
                        ],
                    ),
                ),
                (
                    "include_memory_days",
                    models.BooleanField(
                        default=False, help_text="Whether the text gives the day (UTC) of each memory before it."
                    ),
                ),
                (
                    "sections",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text='Budget by section: {"tokens": n} or {"share": 0..1}; absent: what remains.',
                    ),
                ),
                (
                    "include_summaries_at",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.PositiveSmallIntegerField(),
                        blank=True,
                        default=context.models.profiles.default_summary_levels,
                        size=None,
                    ),
                ),
                (
                    "summary_style",
                    models.CharField(
                        choices=[("compact", "Compact"), ("detailed", "Detailed")], default="compact", max_length=8
                    ),
                ),
                ("include_linked_memories", models.BooleanField(default=True)),
                (
                    "near_duplicate_threshold",
                    models.FloatField(
                        default=0.97,
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                    ),
                ),
                (
                    "elastic_target_items",
                    models.PositiveSmallIntegerField(
                        default=6,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(200),
                        ],
                    ),
                ),
                (
                    "elastic_fills_budget",
                    models.BooleanField(
                        default=True,
                        help_text="Whether to exceed the target and the maximum length while budget remains.",
                    ),
                ),
                (
                    "elastic_min_tokens",
                    models.PositiveSmallIntegerField(
                        default=20,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(8192),
                        ],
                    ),
                ),
                (
                    "elastic_max_tokens",
                    models.PositiveSmallIntegerField(
                        default=90,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(8192),
                        ],
                    ),
                ),
                (
                    "receipt_days",
                    models.PositiveSmallIntegerField(
                        default=90,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(3650),
                        ],
                    ),
                ),
                (
                    "receipt_count",
                    models.PositiveIntegerField(
                        default=100000,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(10000000),
                        ],
                    ),
                ),
                (
                    "compaction",
                    models.JSONField(
                        blank=True, default=dict, help_text="Differences from the default compaction policy."
                    ),
                ),
                ("recorded_from", models.DateTimeField()),
                ("recorded_to", models.DateTimeField(blank=True, null=True)),
                ("created_by", models.CharField(default="", max_length=150)),
                (
                    "rolled_back_to",
                    models.PositiveIntegerField(
                        blank=True, help_text="The version whose settings it reactivated; 0: the defaults.", null=True
                    ),
                ),
            ],
            options={
                "ordering": ["name", "-version"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "name", "version"), name="budget_profile_version_is_unique"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("recorded_to__isnull", True)),
                        fields=("tenant", "name"),
                        name="budget_profile_has_one_current_version",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name__regex", "^[a-z][a-z0-9_-]*$")), name="budget_profile_name_is_a_word"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("default_tokens__gte", 1), ("default_tokens__lte", 2000000)),
                        name="budget_profile_tokens_are_bounded",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("overfetch_ratio__gte", 1.0), ("overfetch_ratio__lte", 10.0)),
                        name="budget_profile_overfetch_is_bounded",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("minimum_score__gte", 0.0), ("minimum_score__lte", 1.0)),
                        name="budget_profile_score_is_a_share",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("include_memories_top_k__gte", 1), ("include_memories_top_k__lte", 200)),
                        name="budget_profile_top_k_is_bounded",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("include_summaries_at__len__lte", 9)),
                        name="budget_profile_levels_are_bounded",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("near_duplicate_threshold__gte", 0.0), ("near_duplicate_threshold__lte", 1.0)
                        ),
                        name="budget_profile_threshold_is_a_share",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("pinned_share__gte", 0.0), ("pinned_share__lte", 1.0)),
                        name="budget_profile_pinned_share_is_a_share",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("elastic_target_items__gte", 1),
                            ("elastic_target_items__lte", 200),
                            ("elastic_min_tokens__gte", 1),
                            ("elastic_min_tokens__lte", models.F("elastic_max_tokens")),
                            ("elastic_max_tokens__lte", 8192),
                        ),
                        name="budget_profile_elastic_is_bounded",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("receipt_days__gte", 1),
                            ("receipt_days__lte", 3650),
                            ("receipt_count__gte", 1),
                            ("receipt_count__lte", 10000000),
                        ),
                        name="budget_profile_retention_is_bounded",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="BudgetProfileAssignment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
                ("profile_name", models.CharField(max_length=64)),
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
                ("partition_path", models.TextField(blank=True, db_collation="C", null=True)),
                ("recorded_from", models.DateTimeField()),
                ("recorded_to", models.DateTimeField(blank=True, null=True)),
                ("created_by", models.CharField(default="", max_length=150)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("api_key__isnull", True), ("partition_path__isnull", False)),
                            models.Q(("api_key__isnull", False), ("partition_path__isnull", True)),
                            _connector="OR",
                        ),
                        name="assignment_has_one_target",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("api_key__isnull", False), ("recorded_to__isnull", True)),
                        fields=("tenant", "api_key"),
                        name="assignment_of_key_is_unique",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("partition_path__isnull", False), ("recorded_to__isnull", True)),
                        fields=("tenant", "partition_path"),
                        name="assignment_of_partition_is_unique",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EvaluationRun",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="evaluations",
                        to="memories.tenant",
                    ),
                ),
                (
                    "corpus_kind",
                    models.CharField(
                        choices=[
                            ("golden", "golden questions of this tenant"),
                            ("updated_facts", "updated facts (built in)"),
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
                ("profile_numbers", models.JSONField(help_text="All settings of the scoring profile used.")),
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
                            ("u_curve", "U curve: first half alternating with the reversed second half"),
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
            ],
            options={
                "indexes": [
                    models.Index(
                        models.F("tenant"),
                        models.OrderBy(models.F("created_at"), descending=True),
                        models.F("id"),
                        name="evaluation_newest",
                    ),
                    models.Index(
                        condition=models.Q(("state__in", ["queued", "running"])),
                        fields=["claimed_until"],
                        name="evaluation_open",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["queued", "running", "done", "failed", "cancelled"])),
                        name="evaluation_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("budgets__len__gte", 1), ("budgets__len__lte", 24)),
                        name="evaluation_budgets_are_bounded",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("done__lte", models.F("total"))), name="evaluation_asks_no_more_than_all"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EvaluationAnswer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answers",
                        to="context.evaluationrun",
                    ),
                ),
                ("position", models.PositiveIntegerField(help_text="Place of the question in its corpus, from 0.")),
                ("question_id", models.CharField(max_length=255)),
                ("category", models.CharField(blank=True, default="", max_length=64)),
                ("measures", models.JSONField(help_text="By budget: evidence included, tokens and milliseconds.")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "question_id", "tenant"), name="evaluation_answers_each_question_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="GoldenQuestion",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="golden_questions",
                        to="memories.tenant",
                    ),
                ),
                ("text", models.TextField()),
                (
                    "answer",
                    models.TextField(blank=True, default="", help_text="Words of the correct answer, if known."),
                ),
                ("category", models.CharField(blank=True, default="", max_length=64)),
                ("partition_path", models.TextField(blank=True, db_collation="C", default="")),
                (
                    "as_of",
                    models.DateTimeField(
                        blank=True, help_text="The valid time that the question is about; empty: now.", null=True
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("created_by", models.CharField(blank=True, default="", max_length=150)),
                ("removed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        models.F("tenant"),
                        models.OrderBy(models.F("created_at"), descending=True),
                        models.F("id"),
                        name="golden_question_newest",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("tenant"),
                        MD5("text"),
                        MD5("partition_path"),
                        models.F("as_of"),
                        condition=models.Q(("removed_at__isnull", True)),
                        name="golden_question_is_asked_once",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True), name="golden_question_has_words"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="GoldenMemory",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
                (
                    "question",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="evidence",
                        to="context.goldenquestion",
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.memory"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("question", "memory", "tenant"), name="golden_memory_is_wanted_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ScoringProfileVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scoring_profiles",
                        to="memories.tenant",
                    ),
                ),
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
                    "argument",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="Why it was published: `context`, `decision`, `consequences`, `reason`.",
                    ),
                ),
                (
                    "comparison",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="What `EvidenceComparison.to_dict` wrote when it was published.",
                    ),
                ),
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
                    "baseline_run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="+",
                        to="context.evaluationrun",
                    ),
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
                            models.Q(
                                ("argument__has_keys", ["context", "decision", "consequences"]),
                                ("evaluation_run__isnull", False),
                            ),
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
        migrations.CreateModel(
            name="ScoringProfileAssignment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
                ("profile_name", models.CharField(max_length=64)),
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
                ("partition_path", models.TextField(blank=True, db_collation="C", null=True)),
                ("recorded_from", models.DateTimeField()),
                ("recorded_to", models.DateTimeField(blank=True, null=True)),
                ("created_by", models.CharField(default="", max_length=150)),
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
        migrations.AddField(
            model_name="goldenquestion",
            name="memories",
            field=models.ManyToManyField(
                related_name="golden_questions", through="context.GoldenMemory", to="memories.memory"
            ),
        ),
    ]
