"""Foreign keys whose column another index begins with need no index of their own."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0007_partition_summary_summariser"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="auditentry",
            name="tenant",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.tenant"),
        ),
        migrations.AlterField(
            model_name="commonlexeme",
            name="tenant",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.tenant"),
        ),
        migrations.AlterField(
            model_name="embeddingmodel",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="embedding_models",
                to="memories.tenant",
            ),
        ),
        migrations.AlterField(
            model_name="hygieneact",
            name="tenant",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.tenant"),
        ),
        migrations.AlterField(
            model_name="idempotencyrecord",
            name="api_key",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.apikey"),
        ),
        migrations.AlterField(
            model_name="membership",
            name="user",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="memberships",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField(
            model_name="memory",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="memories",
                to="memories.tenant",
            ),
        ),
        migrations.AlterField(
            model_name="memoryembedding",
            name="memory",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="embeddings",
                to="memories.memory",
            ),
        ),
        migrations.AlterField(
            model_name="memoryembedding",
            name="tenant",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.tenant"),
        ),
        migrations.AlterField(
            model_name="memoryfinding",
            name="memory",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.memory"),
        ),
        migrations.AlterField(
            model_name="memorypair",
            name="older",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.memory"),
        ),
        migrations.AlterField(
            model_name="memoryversion",
            name="memory",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="versions",
                to="memories.memory",
            ),
        ),
        migrations.AlterField(
            model_name="memoryversion",
            name="tenant",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.tenant"),
        ),
        migrations.AlterField(
            model_name="missingvector",
            name="model",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="missing",
                to="memories.embeddingmodel",
            ),
        ),
        migrations.AlterField(
            model_name="partition",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="partitions",
                to="memories.tenant",
            ),
        ),
        migrations.AlterField(
            model_name="partitioncount",
            name="tenant",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=models.CASCADE,
                related_name="+",
                to="memories.tenant",
            ),
        ),
        migrations.AlterField(
            model_name="partitioncountchange",
            name="tenant",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=models.CASCADE,
                related_name="+",
                to="memories.tenant",
            ),
        ),
        migrations.AlterField(
            model_name="partitionsummary",
            name="partition",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="summaries",
                to="memories.partition",
            ),
        ),
        migrations.AlterField(
            model_name="partitionsummary",
            name="tenant",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.tenant"),
        ),
        migrations.AlterField(
            model_name="recalledtext",
            name="memory",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.memory"),
        ),
        migrations.AlterField(
            model_name="recalledtext",
            name="tenant",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.tenant"),
        ),
        migrations.AlterField(
            model_name="retrievaltick",
            name="tenant",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.tenant"),
        ),
        migrations.AlterField(
            model_name="snapshot",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="snapshots",
                to="memories.tenant",
            ),
        ),
        migrations.AlterField(
            model_name="tenantmemo",
            name="tenant",
            field=models.ForeignKey(
                db_index=False, on_delete=models.CASCADE, related_name="memos", to="memories.tenant"
            ),
        ),
        migrations.AlterField(
            model_name="uncomparedmemory",
            name="memory",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.memory"),
        ),
        migrations.AlterField(
            model_name="uncomparedmemory",
            name="tenant",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.tenant"),
        ),
    ]
