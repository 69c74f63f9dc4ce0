"""Memories are counted state by state, each along an index that holds nothing else."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0017_cheaper_policies")]

    operations = [
        migrations.RemoveIndex(model_name="memory", name="memory_in_partition"),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["tenant", "partition_path", "-created_at"],
                include=("id", "version", "pinned", "tokens_o200k_base", "archived_at", "expires_at", "recorded_from"),
                name="memory_in_partition",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["tenant", "kind"],
                include=("tokens_o200k_base",),
                name="memory_unarchived",
                condition=models.Q(("archived_at__isnull", True)),
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["tenant", "expires_at"],
                include=("kind", "tokens_o200k_base"),
                name="memory_expiring",
                condition=models.Q(("archived_at__isnull", True), ("expires_at__isnull", False)),
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["tenant", "-created_at", "id"],
                name="memory_archived",
                condition=models.Q(("archived_at__isnull", False)),
            ),
        ),
    ]
