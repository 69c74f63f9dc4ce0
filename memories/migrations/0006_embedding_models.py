"""The models of each tenant, and the vectors that are still to be made of them (ADR-0082)."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

from memories.tenancy.row_security import add_tenant_foreign_key, enable_row_security

# A tenant that has vectors goes on with the model of its newest. The owner of the tables is bound by their policies too.
PIN = """
SELECT set_config('app.scope', 'admin_write', true);
INSERT INTO memories_embeddingmodel (id, tenant_id, name, dimension, state, is_chosen, switches_when_filled, needed, error,
    requested_by, started_at, filled_at, activated_at)
SELECT DISTINCT ON (tenant_id) gen_random_uuid(), tenant_id, model, dimension, 'active', FALSE, FALSE, 0, '', '', now(), now(), now()
FROM memories_memoryembedding ORDER BY tenant_id, id DESC;
SELECT set_config('app.scope', '', true)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0005_ticks_uncompressed"),
    ]

    operations = [
        migrations.CreateModel(
            name="EmbeddingModel",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("dimension", models.PositiveSmallIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("filling", "Filling"),
                            ("standby", "Standby"),
                            ("active", "Active"),
                            ("retiring", "Retiring"),
                            ("retired", "Retired"),
                        ],
                        max_length=8,
                    ),
                ),
                (
                    "is_chosen",
                    models.BooleanField(
                        default=False,
                        help_text="Somebody asked for it; else it is the model that settings named at the first vector.",
                    ),
                ),
                ("switches_when_filled", models.BooleanField(default=False)),
                (
                    "needed",
                    models.PositiveIntegerField(default=0, help_text="Vectors that were missing when filling began."),
                ),
                ("error", models.CharField(blank=True, default="", max_length=300)),
                ("claim", models.UUIDField(blank=True, null=True)),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("requested_by", models.CharField(blank=True, default="", max_length=150)),
                ("started_at", models.DateTimeField()),
                ("filled_at", models.DateTimeField(blank=True, null=True)),
                ("activated_at", models.DateTimeField(blank=True, null=True)),
                ("deactivated_at", models.DateTimeField(blank=True, null=True)),
                ("retired_at", models.DateTimeField(blank=True, null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="embedding_models",
                        to="memories.tenant",
                    ),
                ),
            ],
            options={
                "ordering": ["started_at", "name"],
            },
        ),
        migrations.CreateModel(
            name="MissingVector",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.PositiveIntegerField()),
                ("is_refused", models.BooleanField(default=False)),
                ("error", models.CharField(blank=True, default="", max_length=200)),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.memory"
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="missing",
                        to="memories.embeddingmodel",
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
        migrations.AddConstraint(
            model_name="embeddingmodel",
            constraint=models.UniqueConstraint(fields=("tenant", "name"), name="embedding_model_is_one_row"),
        ),
        migrations.AddConstraint(
            model_name="embeddingmodel",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="embedding_model_tenant_id"),
        ),
        migrations.AddConstraint(
            model_name="embeddingmodel",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "active")), fields=("tenant",), name="embedding_model_one_is_active"
            ),
        ),
        migrations.AddConstraint(
            model_name="embeddingmodel",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "filling")), fields=("tenant",), name="embedding_model_one_is_filled"
            ),
        ),
        migrations.AddConstraint(
            model_name="embeddingmodel",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["filling", "standby", "active", "retiring", "retired"])),
                name="embedding_model_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="embeddingmodel",
            constraint=models.CheckConstraint(
                condition=models.Q(("dimension__gte", 1)), name="embedding_model_has_a_dimension"
            ),
        ),
        migrations.AddIndex(
            model_name="missingvector",
            index=models.Index(
                condition=models.Q(("is_refused", False)), fields=["model", "id"], name="missing_vector_waiting"
            ),
        ),
        migrations.AddIndex(
            model_name="missingvector",
            index=models.Index(
                condition=models.Q(("is_refused", True)), fields=["model", "id"], name="missing_vector_refused"
            ),
        ),
        migrations.AddConstraint(
            model_name="missingvector",
            constraint=models.UniqueConstraint(fields=("model", "memory", "version"), name="missing_vector_is_unique"),
        ),
        enable_row_security("memories_embeddingmodel"),
        enable_row_security("memories_missingvector"),
        add_tenant_foreign_key("memories_missingvector", "model_id", "memories_embeddingmodel"),
        add_tenant_foreign_key("memories_missingvector", "memory_id", "memories_memory"),
        migrations.RunSQL(PIN, migrations.RunSQL.noop),
    ]
