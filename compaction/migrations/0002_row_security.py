"""Row-level security of every table."""

from django.db import migrations

from memories.tenancy.row_security import enable_row_security

TABLES = ("session", "message", "compaction", "compactionmember", "compactionprompt", "run", "providerbreaker")


class Migration(migrations.Migration):
    dependencies = [("compaction", "0001_initial")]

    operations = [enable_row_security(f"compaction_{table}") for table in TABLES]
