"""Audit entries that the application can only add, and the seals that chain them (ADR-0142)."""

import django.db.models.deletion
from django.db import migrations, models

from memories.tenancy.row_security import enable_row_security

# Functions of the owner of the tables pass: below, and in later migrations.
REFUSE_CHANGES = """
CREATE FUNCTION memories_refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_user <> (SELECT pg_catalog.pg_get_userbyid(relowner) FROM pg_catalog.pg_class WHERE oid = TG_RELID) THEN
        RAISE insufficient_privilege USING MESSAGE = TG_TABLE_NAME || ' can only be added to';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER only_added_to BEFORE UPDATE OR DELETE ON memories_auditentry
FOR EACH STATEMENT EXECUTE FUNCTION memories_refuse_audit_change();
CREATE TRIGGER only_added_to BEFORE UPDATE OR DELETE ON memories_auditseal
FOR EACH STATEMENT EXECUTE FUNCTION memories_refuse_audit_change()
"""
ALLOW_CHANGES = """
DROP TRIGGER only_added_to ON memories_auditentry;
DROP TRIGGER only_added_to ON memories_auditseal;
DROP FUNCTION memories_refuse_audit_change()
"""

# What an erasure may do: replace text and ids by [erased], and delete the log with its tenant. Row-level security holds
# here too.
REDACT = """
CREATE FUNCTION redact_audit_entries(of_tenant uuid, redacted jsonb) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    changed integer;
BEGIN
    UPDATE memories_auditentry AS entry SET reason = rest.reason, target_ids = rest.target_ids
    FROM jsonb_to_recordset(redacted) AS rest (id uuid, reason text, target_ids varchar[])
    WHERE entry.id = rest.id AND entry.tenant_id = of_tenant
        AND entry.reason LIKE replace(regexp_replace(rest.reason, '([\\\\%_])', '\\\\\\1', 'g'), '[erased]', '%')
        AND cardinality(entry.target_ids) = cardinality(rest.target_ids)
        AND NOT EXISTS (
            SELECT FROM unnest(entry.target_ids, rest.target_ids) AS pair (before, after)
            WHERE after NOT IN (before, '[erased]')
        );
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed <> jsonb_array_length(redacted) THEN
        RAISE insufficient_privilege USING MESSAGE = 'text can only be removed from audit entries';
    END IF;
END
$$
"""
DELETE_WITH_TENANT = """
CREATE FUNCTION delete_audit_log(of_tenant uuid) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    -- Outside of a scope of the tenant its row would only be invisible.
    IF (row_scope('tenant')::uuid IS DISTINCT FROM of_tenant AND row_scope('admin_write') IS NULL)
        OR EXISTS (SELECT FROM memories_tenant WHERE id = of_tenant)
    THEN
        RAISE insufficient_privilege USING MESSAGE = 'an audit log is deleted with its tenant';
    END IF;
    DELETE FROM memories_auditseal WHERE tenant_id = of_tenant;
    DELETE FROM memories_auditentry WHERE tenant_id = of_tenant;
END
$$
"""

# Inserted in the transaction of the entry, so a row is visible exactly when its entry is, in whatever order they commit.
QUEUE = """
CREATE FUNCTION memories_queue_audit_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memories_unsealedauditentry (tenant_id, entry_id) SELECT tenant_id, id FROM added ORDER BY at, id;
    RETURN NULL;
END
$$;
CREATE TRIGGER queued_for_a_seal AFTER INSERT ON memories_auditentry REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION memories_queue_audit_entries()
"""
DROP_QUEUE = """
DROP TRIGGER queued_for_a_seal ON memories_auditentry;
DROP FUNCTION memories_queue_audit_entries()
"""
# Entries of before; the policies of a table confine its owner too.
QUEUE_EARLIER_ENTRIES = """
ALTER TABLE memories_auditentry NO FORCE ROW LEVEL SECURITY;
INSERT INTO memories_unsealedauditentry (tenant_id, entry_id) SELECT tenant_id, id FROM memories_auditentry ORDER BY at, id;
ALTER TABLE memories_auditentry FORCE ROW LEVEL SECURITY
"""


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0004_audit_of_verb"),
    ]

    operations = [
        migrations.AlterField(
            model_name="auditentry",
            name="tenant",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name="+", to="memories.tenant"
            ),
        ),
        migrations.CreateModel(
            name="AuditCheck",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("checked_at", models.DateTimeField()),
                ("last_number", models.PositiveBigIntegerField(help_text="The number of the last correct seal.")),
                ("last_hash", models.CharField(blank=True, default="", max_length=64)),
                ("last_sealed_at", models.DateTimeField(help_text="Of the last correct seal.", null=True)),
                (
                    "problem",
                    models.CharField(blank=True, default="", help_text="Empty if nothing is wrong.", max_length=32),
                ),
                ("problem_entry_id", models.UUIDField(null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("tenant",), name="audit_check_is_one_row")],
            },
        ),
        migrations.CreateModel(
            name="AuditSeal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveBigIntegerField(help_text="From 1 without gaps.")),
                ("entry_id", models.UUIDField()),
                ("is_redaction", models.BooleanField(default=False)),
                ("content_hash", models.CharField(max_length=64)),
                ("seal_hash", models.CharField(max_length=64)),
                ("sealed_at", models.DateTimeField()),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["tenant", "entry_id"], name="audit_seal_of_entry")],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "number"), name="audit_seal_number_is_unique")
                ],
            },
        ),
        migrations.CreateModel(
            name="UnsealedAuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("entry_id", models.UUIDField()),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "unsealed audit entries",
                "indexes": [models.Index(fields=["tenant", "id"], name="unsealed_entry_of_tenant")],
            },
        ),
        migrations.RunSQL(QUEUE_EARLIER_ENTRIES, migrations.RunSQL.noop),
        *[enable_row_security(f"memories_{table}") for table in ("auditcheck", "auditseal", "unsealedauditentry")],
        migrations.RunSQL(QUEUE, DROP_QUEUE),
        migrations.RunSQL(REFUSE_CHANGES, ALLOW_CHANGES),
        migrations.RunSQL(REDACT, "DROP FUNCTION redact_audit_entries(uuid, jsonb)"),
        migrations.RunSQL(DELETE_WITH_TENANT, "DROP FUNCTION delete_audit_log(uuid)"),
    ]
