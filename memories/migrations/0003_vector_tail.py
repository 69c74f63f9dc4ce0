"""Vectors wait in a tail until they are put into the vector index, whose name tells what it contains (ADR-0123)."""

from django.db import migrations, models

# `migrate` builds the new ones.
DROP_FORMER_INDEXES = """
DO $$
DECLARE former text;
BEGIN
    FOR former IN SELECT indexname FROM pg_indexes
        WHERE tablename = 'memories_memoryembedding' AND starts_with(indexname, 'embedding_near_')
    LOOP
        EXECUTE format('DROP INDEX %I', former);
    END LOOP;
END
$$
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0002_row_security_and_triggers")]

    operations = [
        migrations.AddField(
            "memoryembedding", "is_indexed", models.BooleanField(db_default=False, default=False, editable=False)
        ),
        migrations.AddIndex(
            "memoryembedding",
            models.Index(
                fields=["tenant", "model", "id"],
                condition=models.Q(is_current=True, is_indexed=False),
                name="embedding_not_marked",
            ),
        ),
        migrations.RunSQL(DROP_FORMER_INDEXES, migrations.RunSQL.noop),
    ]
