"""Row-level security for every table of this app, and foreign keys that cannot leave their tenant."""

from django.db import migrations

from memories.tenancy.row_security import add_tenant_foreign_key, enable_row_security

TABLES = ("session", "message", "compaction", "compactionmember", "compactionprompt", "run", "providerbreaker")


class Migration(migrations.Migration):
    dependencies = [("compaction", "0001_initial"), ("memories", "0004_recalled_hashes_of_ticks")]

    operations = [
        *[enable_row_security(f"compaction_{table}") for table in TABLES],
        add_tenant_foreign_key("compaction_session", "partition_id", "memories_partition"),
        add_tenant_foreign_key("compaction_session", "current_id", "compaction_compaction"),
        add_tenant_foreign_key("compaction_message", "session_id", "compaction_session"),
        add_tenant_foreign_key("compaction_message", "compaction_id", "compaction_compaction"),
        add_tenant_foreign_key("compaction_compaction", "session_id", "compaction_session"),
        add_tenant_foreign_key("compaction_compaction", "replaces_id", "compaction_compaction"),
        add_tenant_foreign_key("compaction_compaction", "previous_id", "compaction_compaction"),
        add_tenant_foreign_key("compaction_compactionmember", "compaction_id", "compaction_compaction"),
        add_tenant_foreign_key("compaction_compactionmember", "message_id", "compaction_message"),
        add_tenant_foreign_key("compaction_run", "session_id", "compaction_session"),
        add_tenant_foreign_key("compaction_run", "compaction_id", "compaction_compaction"),
        add_tenant_foreign_key("compaction_run", "partition_id", "memories_partition"),
    ]
