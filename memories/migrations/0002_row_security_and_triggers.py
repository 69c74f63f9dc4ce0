"""Row-level security, triggers and storage of what is stored."""

from django.db import migrations

from memories.tenancy.row_security import enable_row_security
from memories.tenancy.settings_revision import COUNT_CHANGES, DROP_COUNTING, count_settings_changes

READ_TO_AUTHENTICATE = ("membership", "apikey")
OTHERS = (
    *("commonlexeme", "partition", "partitioncount", "partitioncountchange", "partitionsummary", "tenantmemo"),
    *("memory", "memoryversion", "memoryembedding", "memorylink", "embeddingmodel", "missingvector"),
    *("uncomparedmemory", "memorypair", "memoryfinding", "hygieneact"),
    *("snapshot", "retrievaltick", "recalledtext", "idempotencyrecord", "auditentry"),
)
# Whose changes are changes of the settings of every context (ADR-0116).
SETTINGS = ("embeddingmodel", "tenantmemo", "partitionsummary")

# A row is in the language of its tenant, whoever inserts it.
LANGUAGE = """
CREATE FUNCTION memories_take_language() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.search_config := coalesce(
        (SELECT text_search_config FROM memories_tenant WHERE id = NEW.tenant_id), NEW.search_config
    );
    RETURN NEW;
END
$$;
CREATE TRIGGER takes_language BEFORE INSERT ON memories_memory
FOR EACH ROW EXECUTE FUNCTION memories_take_language();
CREATE TRIGGER takes_language BEFORE INSERT ON memories_memoryversion
FOR EACH ROW EXECUTE FUNCTION memories_take_language()
"""
DROP_LANGUAGE = """
DROP TRIGGER takes_language ON memories_memory;
DROP TRIGGER takes_language ON memories_memoryversion;
DROP FUNCTION memories_take_language()
"""

# What a vector needs to be found by comes from its memory, whoever inserts it (ADR-0077).
EMBEDDING_PLACE = """
CREATE FUNCTION memories_embedding_place() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT memory.partition_path, memory.version = NEW.version AND memory.archived_at IS NULL
    INTO NEW.partition_path, NEW.is_current
    FROM memories_memory AS memory WHERE memory.id = NEW.memory_id AND memory.tenant_id = NEW.tenant_id;
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
    WHERE own.memory_id = NEW.id AND own.tenant_id = NEW.tenant_id AND (
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
EXECUTE FUNCTION memories_memory_moved()
"""
DROP_EMBEDDING_PLACE = """
DROP TRIGGER memories_embedding_place ON memories_memoryembedding;
DROP FUNCTION memories_embedding_place();
DROP TRIGGER memories_memory_moved ON memories_memory;
DROP FUNCTION memories_memory_moved()
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
FOR EACH STATEMENT EXECUTE FUNCTION memories_memory_counted()
"""
DROP_COUNTS = """
DROP TRIGGER memories_memory_added ON memories_memory;
DROP TRIGGER memories_memory_removed ON memories_memory;
DROP FUNCTION memories_memory_counted()
"""

# Rows that live for seconds are not worth compressing, least of all ids and hashes.
TICK_STORAGE = """
ALTER TABLE memories_retrievaltick
    ALTER memory_ids SET STORAGE {storage}, ALTER recalled_hashes SET STORAGE {storage}
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0001_initial")]

    operations = [
        enable_row_security("memories_tenant", column="id", is_read_to_authenticate=True),
        *[enable_row_security(f"memories_{table}", is_read_to_authenticate=True) for table in READ_TO_AUTHENTICATE],
        *[enable_row_security(f"memories_{table}") for table in OTHERS],
        migrations.RunSQL(LANGUAGE, DROP_LANGUAGE),
        migrations.RunSQL(EMBEDDING_PLACE, DROP_EMBEDDING_PLACE),
        migrations.RunSQL(COUNTS, DROP_COUNTS),
        migrations.RunSQL(TICK_STORAGE.format(storage="EXTERNAL"), TICK_STORAGE.format(storage="EXTENDED")),
        migrations.RunSQL(COUNT_CHANGES, DROP_COUNTING),
        *[count_settings_changes(f"memories_{table}") for table in SETTINGS],
    ]
