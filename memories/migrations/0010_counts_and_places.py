"""How many memories stand where, and vectors that say themselves which are current (ADR-0077)."""

import django.db.models.deletion
from django.db import migrations, models

from memories.tenancy.row_security import enable_row_security

# What a vector needs to be found by comes from its memory, whoever inserts it.
EMBEDDING_PLACE = """
CREATE FUNCTION memories_embedding_place() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT memory.partition_path, memory.version = NEW.version AND memory.archived_at IS NULL
    INTO NEW.partition_path, NEW.is_current
    FROM memories_memory AS memory WHERE memory.id = NEW.memory_id;
    NEW.partition_path := coalesce(NEW.partition_path, '');
    NEW.is_current := coalesce(NEW.is_current, FALSE);
    RETURN NEW;
END
$$;
CREATE TRIGGER memories_embedding_place BEFORE INSERT ON memories_memoryembedding
FOR EACH ROW EXECUTE FUNCTION memories_embedding_place();

CREATE FUNCTION memories_memory_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE memories_memoryembedding AS own
    SET is_current = own.version = NEW.version AND NEW.archived_at IS NULL, partition_path = NEW.partition_path
    WHERE own.memory_id = NEW.id AND (
        own.is_current <> (own.version = NEW.version AND NEW.archived_at IS NULL)
        OR own.is_current AND own.partition_path <> NEW.partition_path
    );
    IF (OLD.archived_at IS NULL) <> (NEW.archived_at IS NULL) OR OLD.partition_path <> NEW.partition_path THEN
        INSERT INTO memories_partitioncountchange (tenant_id, path, rows)
        SELECT OLD.tenant_id, OLD.partition_path, -1 WHERE OLD.archived_at IS NULL
        UNION ALL SELECT NEW.tenant_id, NEW.partition_path, 1 WHERE NEW.archived_at IS NULL;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER memories_memory_moved AFTER UPDATE ON memories_memory FOR EACH ROW
WHEN (
    OLD.version <> NEW.version OR OLD.partition_path <> NEW.partition_path
    OR (OLD.archived_at IS NULL) <> (NEW.archived_at IS NULL)
)
EXECUTE FUNCTION memories_memory_moved();
"""
DROP_EMBEDDING_PLACE = """
DROP TRIGGER memories_embedding_place ON memories_memoryembedding;
DROP FUNCTION memories_embedding_place();
DROP TRIGGER memories_memory_moved ON memories_memory;
DROP FUNCTION memories_memory_moved();
"""
# A row for each partition that a statement wrote to; nothing is updated, so no writer waits for another.
COUNTS = """
CREATE FUNCTION memories_memory_counted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memories_partitioncountchange (tenant_id, path, rows)
    SELECT tenant_id, partition_path, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
    FROM written WHERE archived_at IS NULL GROUP BY tenant_id, partition_path;
    RETURN NULL;
END
$$;
CREATE TRIGGER memories_memory_added AFTER INSERT ON memories_memory REFERENCING NEW TABLE AS written
FOR EACH STATEMENT EXECUTE FUNCTION memories_memory_counted();
CREATE TRIGGER memories_memory_removed AFTER DELETE ON memories_memory REFERENCING OLD TABLE AS written
FOR EACH STATEMENT EXECUTE FUNCTION memories_memory_counted();
"""
DROP_COUNTS = """
DROP TRIGGER memories_memory_added ON memories_memory;
DROP TRIGGER memories_memory_removed ON memories_memory;
DROP FUNCTION memories_memory_counted();
"""
# For the rows that are there already; as the owner, whom row-level security confines too.
FILL = """
SELECT set_config('app.scope', 'admin_write', true);
UPDATE memories_memoryembedding AS own
SET is_current = own.version = memory.version AND memory.archived_at IS NULL, partition_path = memory.partition_path
FROM memories_memory AS memory WHERE memory.id = own.memory_id;
INSERT INTO memories_partitioncountchange (tenant_id, path, rows)
SELECT tenant_id, partition_path, count(*) FROM memories_memory WHERE archived_at IS NULL GROUP BY 1, 2;
SELECT set_config('app.scope', '', true);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0009_text_in_every_script"),
    ]

    operations = [
        migrations.CreateModel(
            name="PartitionCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("path", models.TextField(blank=True, db_collation="C")),
                ("own_rows", models.IntegerField(default=0)),
                ("subtree_rows", models.IntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="PartitionCountChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("path", models.TextField(blank=True, db_collation="C")),
                ("rows", models.IntegerField()),
            ],
        ),
        migrations.AddField(
            model_name="memoryembedding",
            name="is_current",
            field=models.BooleanField(default=True, editable=False),
        ),
        migrations.AddField(
            model_name="memoryembedding",
            name="partition_path",
            field=models.TextField(blank=True, db_collation="C", default="", editable=False),
        ),
        migrations.AddIndex(
            model_name="memoryembedding",
            index=models.Index(
                condition=models.Q(("is_current", True)),
                fields=["tenant", "model", "partition_path"],
                name="embedding_in_partition",
            ),
        ),
        migrations.AddIndex(
            model_name="memoryversion",
            index=models.Index(fields=["tenant", "session", "position"], name="memory_version_in_session"),
        ),
        migrations.AddField(
            model_name="partitioncount",
            name="tenant",
            field=models.ForeignKey(
                db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
            ),
        ),
        migrations.AddField(
            model_name="partitioncountchange",
            name="tenant",
            field=models.ForeignKey(
                db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
            ),
        ),
        migrations.AddConstraint(
            model_name="partitioncount",
            constraint=models.UniqueConstraint(fields=("tenant", "path"), name="partition_count_is_one_row"),
        ),
        migrations.AddIndex(
            model_name="partitioncountchange",
            index=models.Index(fields=["tenant", "path"], include=("rows",), name="partition_count_change_at"),
        ),
        enable_row_security("memories_partitioncount"),
        enable_row_security("memories_partitioncountchange"),
        migrations.RunSQL(EMBEDDING_PLACE, DROP_EMBEDDING_PLACE),
        migrations.RunSQL(COUNTS, DROP_COUNTS),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
