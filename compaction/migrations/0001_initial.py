"""The tables of how conversations shrink."""

import uuid

import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.core.serializers.json
import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Coalesce


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("memories", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Session",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to="memories.tenant",
                    ),
                ),
                (
                    "partition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="sessions", to="memories.partition"
                    ),
                ),
                ("partition_path", models.TextField(blank=True, db_collation="C", editable=False)),
                (
                    "created_by_key",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="memories.apikey",
                    ),
                ),
                ("model", models.CharField(max_length=200)),
                ("max_context_tokens", models.PositiveIntegerField()),
                ("directive", models.TextField(blank=True, default="")),
                ("directive_tokens", models.PositiveIntegerField(default=0)),
                (
                    "metadata",
                    models.JSONField(blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder),
                ),
                ("created_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "last_message_at",
                    models.DateTimeField(blank=True, help_text="When a message was last appended.", null=True),
                ),
                (
                    "message_count",
                    models.PositiveIntegerField(default=0, help_text="Also the next message's sequence."),
                ),
                ("context_tokens", models.PositiveIntegerField(default=0)),
                (
                    "summary_tokens",
                    models.PositiveIntegerField(default=0, help_text="Of them, those of the current summary."),
                ),
                (
                    "marker_tokens",
                    models.PositiveIntegerField(
                        default=0, help_text="Tokens of the marker lines, not included in the message tokens."
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        models.F("tenant"),
                        models.OrderBy(models.F("created_at"), descending=True),
                        models.F("id"),
                        name="session_newest",
                    ),
                    models.Index(fields=["tenant", "id"], name="session_by_id"),
                    models.Index(
                        condition=models.Q(("closed_at__isnull", True)),
                        fields=["last_message_at"],
                        name="session_open_by_last_message",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("max_context_tokens__gte", 256), ("max_context_tokens__lte", 10000000)),
                        name="session_window_is_bounded",
                    ),
                    models.CheckConstraint(condition=models.Q(("model__regex", "\\S")), name="session_has_a_model"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Compaction",
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
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="compactions", to="compaction.session"
                    ),
                ),
                (
                    "trigger",
                    models.CharField(
                        choices=[
                            ("scheduled", "scheduled: the session was idle"),
                            ("emergency", "emergency: a context was requested"),
                            ("manual", "Manual"),
                            ("regenerate", "regenerated in review"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("proposed", "proposed: waits for review"),
                            ("applied", "Applied"),
                            ("rejected", "Rejected"),
                            ("rolled_back", "rolled back"),
                            ("failed", "Failed"),
                            ("superseded", "Superseded"),
                        ],
                        default="pending",
                        max_length=11,
                    ),
                ),
                (
                    "generation",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="How many times in succession the summary was made from an earlier one."
                    ),
                ),
                ("policy", models.JSONField(help_text="The policy that applied when it was created.")),
                ("summariser", models.CharField(blank=True, default="", max_length=32)),
                (
                    "is_fallback",
                    models.BooleanField(default=False, help_text="The model failed, so the text was made without it."),
                ),
                ("model", models.CharField(blank=True, default="", max_length=200)),
                ("prompt_version", models.PositiveIntegerField(default=0, help_text="0: made without a prompt.")),
                ("first_sequence", models.PositiveIntegerField(blank=True, null=True)),
                ("last_sequence", models.PositiveIntegerField(blank=True, null=True)),
                ("tokens_before", models.PositiveIntegerField(default=0, help_text="Of the session's context.")),
                ("tokens_after", models.PositiveIntegerField(default=0, help_text="Of the session's context.")),
                (
                    "original_token_count",
                    models.PositiveIntegerField(default=0, help_text="Of the messages that were summarised."),
                ),
                ("summary_token_count", models.PositiveIntegerField(default=0)),
                (
                    "summary_budget_tokens",
                    models.PositiveIntegerField(default=0, help_text="0: made before budgets were stored."),
                ),
                (
                    "compacted_count",
                    models.PositiveIntegerField(default=0, help_text="Messages that the summary replaces."),
                ),
                ("masked_count", models.PositiveIntegerField(default=0)),
                ("summary_text", models.TextField(blank=True, default="", help_text="Empty where masking was enough.")),
                (
                    "statements",
                    models.JSONField(blank=True, default=list, encoder=django.core.serializers.json.DjangoJSONEncoder),
                ),
                (
                    "candidates",
                    models.JSONField(
                        blank=True,
                        default=list,
                        encoder=django.core.serializers.json.DjangoJSONEncoder,
                        help_text="The next-best statements, best first.",
                    ),
                ),
                (
                    "journal",
                    models.JSONField(blank=True, default=list, encoder=django.core.serializers.json.DjangoJSONEncoder),
                ),
                (
                    "retention",
                    models.JSONField(blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder),
                ),
                (
                    "has_lost_constraint",
                    models.BooleanField(
                        default=False, help_text="A constraint is missing that the previous summary did not lose."
                    ),
                ),
                ("is_edited", models.BooleanField(default=False)),
                (
                    "edit_version",
                    models.PositiveIntegerField(default=0, help_text="Increases with every change to a proposal."),
                ),
                ("error_code", models.CharField(blank=True, default="", max_length=64)),
                ("error_detail", models.CharField(blank=True, default="", max_length=300)),
                ("warnings", models.JSONField(blank=True, default=list)),
                ("created_at", models.DateTimeField()),
                (
                    "finished_at",
                    models.DateTimeField(blank=True, help_text="When it was proposed, applied or failed.", null=True),
                ),
                ("compacted_at", models.DateTimeField(blank=True, help_text="When it was applied.", null=True)),
                ("requested_by", models.CharField(blank=True, default="", max_length=150)),
                ("decided_by", models.CharField(blank=True, default="", max_length=150)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("decision_reason", models.CharField(blank=True, default="", max_length=500)),
                (
                    "replaces",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="replacements",
                        to="compaction.compaction",
                    ),
                ),
                (
                    "previous",
                    models.ForeignKey(
                        blank=True,
                        help_text="The session's current compaction before this one was applied.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="compaction.compaction",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        models.F("tenant"),
                        models.OrderBy(models.F("created_at"), descending=True),
                        models.F("id"),
                        name="compaction_newest",
                    ),
                    models.Index(
                        models.F("tenant"),
                        models.OrderBy(
                            Coalesce("decided_at", "finished_at", "created_at"),
                            descending=True,
                        ),
                        models.F("id"),
                        name="compaction_last_settled",
                    ),
                    models.Index(fields=["tenant", "state"], name="compaction_by_state"),
                    models.Index(
                        condition=models.Q(
                            ("decided_at__isnull", True), ("has_lost_constraint", True), ("state", "applied")
                        ),
                        fields=["tenant"],
                        name="compaction_unreviewed_loss",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "pending")),
                        fields=("session", "tenant"),
                        name="session_has_one_pending_compaction",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "proposed")),
                        fields=("session", "tenant"),
                        name="session_has_one_proposed_compaction",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                ["pending", "proposed", "applied", "rejected", "rolled_back", "failed", "superseded"],
                            )
                        ),
                        name="compaction_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state__in", ["applied", "rolled_back"]), _negated=True),
                            ("compacted_at__isnull", False),
                            _connector="OR",
                        ),
                        name="compaction_applied_says_when",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "applied"), _negated=True),
                            ("tokens_after__lte", models.F("tokens_before")),
                            _connector="OR",
                        ),
                        name="compaction_applied_does_not_grow",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
                        to="compaction.session",
                    ),
                ),
                (
                    "sequence",
                    models.PositiveIntegerField(blank=True, help_text="Place in the session, from 0.", null=True),
                ),
                (
                    "compaction",
                    models.ForeignKey(
                        blank=True,
                        help_text="Of a summary: the compaction that made it.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="summaries",
                        to="compaction.compaction",
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("system", "System"),
                            ("developer", "Developer"),
                            ("user", "User"),
                            ("assistant", "Assistant"),
                            ("tool", "Tool"),
                        ],
                        max_length=9,
                    ),
                ),
                ("content", models.TextField(blank=True)),
                ("name", models.CharField(blank=True, default="", max_length=128)),
                (
                    "tool_calls",
                    models.JSONField(blank=True, default=list, encoder=django.core.serializers.json.DjangoJSONEncoder),
                ),
                ("tool_call_id", models.CharField(blank=True, default="", max_length=255)),
                ("tokens", models.PositiveIntegerField()),
                (
                    "shown_tokens",
                    models.PositiveIntegerField(help_text="Tokens that it uses in a context now; 0 once compacted."),
                ),
                ("pinned", models.BooleanField(default=False)),
                (
                    "metadata",
                    models.JSONField(blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder),
                ),
                ("source_id", models.CharField(blank=True, default="", max_length=255)),
                ("created_at", models.DateTimeField(help_text="When it was said.")),
                ("recorded_at", models.DateTimeField(help_text="When it was appended.")),
                (
                    "state",
                    models.CharField(
                        choices=[("live", "Live"), ("masked", "Masked"), ("compacted", "Compacted")],
                        default="live",
                        max_length=9,
                    ),
                ),
                ("masked_at", models.DateTimeField(blank=True, null=True)),
                ("original_tool", models.CharField(blank=True, default="", max_length=128)),
                (
                    "search_vector",
                    models.GeneratedField(
                        db_persist=True,
                        expression=django.contrib.postgres.search.SearchVector("content", config="english"),
                        output_field=django.contrib.postgres.search.SearchVectorField(),
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["session", "state", "sequence"], name="message_of_session_by_state"),
                    django.contrib.postgres.indexes.GinIndex(fields=["search_vector"], name="message_search"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("session", "sequence", "tenant"), name="message_sequence_is_unique"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("source_id", ""), _negated=True),
                        fields=("session", "source_id", "tenant"),
                        name="message_source_is_unique",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("compaction__isnull", False)),
                        fields=("compaction", "tenant"),
                        name="compaction_has_one_summary",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("compaction__isnull", True), ("sequence__isnull", False)),
                            models.Q(("compaction__isnull", False), ("role", "system"), ("sequence__isnull", True)),
                            _connector="OR",
                        ),
                        name="message_is_original_or_summary",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["system", "developer", "user", "assistant", "tool"])),
                        name="message_role_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role", "assistant"), ("tool_calls", []), _connector="OR"),
                        name="message_tools_are_called_by_the_assistant",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("role", "tool"), ("tool_call_id__gt", "")),
                            models.Q(models.Q(("role", "tool"), _negated=True), ("tool_call_id", "")),
                            _connector="OR",
                        ),
                        name="message_of_a_tool_answers_a_call",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state", "live"),
                            ("state", "compacted"),
                            models.Q(("role", "tool"), ("state", "masked")),
                            _connector="OR",
                        ),
                        name="message_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "masked"), _negated=True), ("masked_at__isnull", False), _connector="OR"
                        ),
                        name="message_masked_says_when",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("pinned", False), models.Q(("state", "compacted"), _negated=True), _connector="OR"
                        ),
                        name="message_pinned_is_never_compacted",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CompactionMember",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
                (
                    "compaction",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="members",
                        to="compaction.compaction",
                    ),
                ),
                (
                    "message",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="compaction.message"
                    ),
                ),
                ("act", models.CharField(choices=[("masked", "Masked"), ("compacted", "Compacted")], max_length=9)),
                (
                    "previous_state",
                    models.CharField(
                        choices=[("live", "Live"), ("masked", "Masked"), ("compacted", "Compacted")], max_length=9
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("compaction", "message", "tenant"), name="compaction_member_is_one_row"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CompactionPrompt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("text", models.TextField()),
                ("recorded_from", models.DateTimeField()),
                ("recorded_to", models.DateTimeField(blank=True, null=True)),
                ("created_by", models.CharField(blank=True, default="", max_length=150)),
                (
                    "rolled_back_to",
                    models.PositiveIntegerField(
                        blank=True, help_text="The version whose text it reactivated.", null=True
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "version"), name="prompt_version_is_unique"),
                    models.UniqueConstraint(
                        condition=models.Q(("recorded_to__isnull", True)),
                        fields=("tenant",),
                        name="prompt_has_one_current_version",
                    ),
                    models.CheckConstraint(condition=models.Q(("version__gte", 2)), name="prompt_version_1_is_code"),
                    models.CheckConstraint(condition=models.Q(("text__regex", "\\S")), name="prompt_is_not_blank"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Run",
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
                    "kind",
                    models.CharField(choices=[("compaction", "Compaction"), ("roll_up", "roll-up")], max_length=10),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("queued", "Queued"), ("running", "Running"), ("done", "Done"), ("failed", "Failed")],
                        default="queued",
                        max_length=7,
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="compaction.session",
                    ),
                ),
                (
                    "compaction",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="compaction.compaction",
                    ),
                ),
                (
                    "partition",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.partition",
                    ),
                ),
                (
                    "style",
                    models.CharField(
                        blank=True, choices=[("compact", "Compact"), ("detailed", "Detailed")], default="", max_length=8
                    ),
                ),
                (
                    "step",
                    models.CharField(blank=True, default="", help_text="What it is doing, or did last.", max_length=32),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("error_code", models.CharField(blank=True, default="", max_length=64)),
                ("error_detail", models.CharField(blank=True, default="", max_length=300)),
                ("requested_by", models.CharField(blank=True, default="", max_length=150)),
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
                        name="run_newest",
                    ),
                    models.Index(
                        condition=models.Q(("state__in", ["queued", "running"])),
                        fields=["claimed_until"],
                        name="run_open",
                    ),
                    models.Index(
                        condition=models.Q(("state", "failed")), fields=["tenant", "finished_at"], name="run_failed"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("session__isnull", False), ("state__in", ["queued", "running"])),
                        fields=("session", "tenant"),
                        name="session_has_one_open_run",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("partition__isnull", False), ("state__in", ["queued", "running"])),
                        fields=("partition", "style", "tenant"),
                        name="partition_has_one_open_run",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("compaction__isnull", False),
                                ("kind", "compaction"),
                                ("partition__isnull", True),
                                ("session__isnull", False),
                            ),
                            models.Q(
                                ("compaction__isnull", True),
                                ("kind", "roll_up"),
                                ("partition__isnull", False),
                                ("session__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="run_has_its_target",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["queued", "running", "done", "failed"])),
                        name="run_state_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProviderBreaker",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
                ("provider", models.CharField(max_length=64)),
                ("failures", models.PositiveSmallIntegerField(default=0)),
                ("open_until", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("tenant", "provider"), name="breaker_is_one_row")],
            },
        ),
        migrations.AddField(
            model_name="session",
            name="current",
            field=models.ForeignKey(
                blank=True,
                help_text="The applied compaction whose summary is in the context.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="compaction.compaction",
            ),
        ),
    ]
