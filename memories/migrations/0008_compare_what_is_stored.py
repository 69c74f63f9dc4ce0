"""Memories that were stored before are compared with each other like those that come."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memories", "0007_hygiene")]

    operations = [
        # as the owner, whom row-level security confines too
        migrations.RunSQL(
            [
                "SELECT set_config('app.scope', 'admin_write', true)",
                "INSERT INTO memories_uncomparedmemory (tenant_id, memory_id, version)"
                " SELECT tenant_id, id, version FROM memories_memory"
                " WHERE archived_at IS NULL AND embedding_state = 'ready' ORDER BY tenant_id, partition_path, id"
                " ON CONFLICT DO NOTHING",
                "SELECT set_config('app.scope', '', true)",
            ],
            migrations.RunSQL.noop,
        ),
    ]
