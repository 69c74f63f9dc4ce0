"""Row-level security for every table of this app, and foreign keys that cannot leave their tenant."""

from django.db import migrations

from memories.tenancy.row_security import confine, same_tenant

TABLES = ("session", "message", "compaction", "compactionmember", "compactionprompt", "run", "providerbreaker")


class Migration(migrations.Migration):
    dependencies = [("compaction", "0001_initial"), ("memories", "0004_recalled_hashes_of_ticks")]

    operations = [
        *[confine(f"compaction_{table}") for table in TABLES],
        same_tenant("compaction_session", "partition_id", "memories_partition"),
        same_tenant("compaction_session", "current_id", "compaction_compaction"),
        same_tenant("compaction_message", "session_id", "compaction_session"),
        same_tenant("compaction_message", "compaction_id", "compaction_compaction"),
        same_tenant("compaction_compaction", "session_id", "compaction_session"),
        same_tenant("compaction_compaction", "replaces_id", "compaction_compaction"),
        same_tenant("compaction_compaction", "previous_id", "compaction_compaction"),
        same_tenant("compaction_compactionmember", "compaction_id", "compaction_compaction"),
        same_tenant("compaction_compactionmember", "message_id", "compaction_message"),
        same_tenant("compaction_run", "session_id", "compaction_session"),
        same_tenant("compaction_run", "compaction_id", "compaction_compaction"),
        same_tenant("compaction_run", "partition_id", "memories_partition"),
    ]
