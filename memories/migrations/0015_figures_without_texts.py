"""Figures of a whole tenant: an index that holds what is counted, and operators' tenants cast once a query."""

from django.db import migrations, models

SCOPE = "(SELECT current_setting('app.scope', true))"
READABLE = "(SELECT nullif(current_setting('app.readable_tenants', true), '')::uuid[])::uuid[]"
RECAST = f"""
DO $$
DECLARE policy record;
BEGIN
    FOR policy IN SELECT tablename FROM pg_policies WHERE policyname = 'operator_read' AND schemaname = current_schema()
    LOOP
        EXECUTE format(
            $rule$ALTER POLICY operator_read ON %I USING ({SCOPE} = 'operator_read' AND %I = ANY ({READABLE}))$rule$,
            policy.tablename, CASE policy.tablename WHEN 'memories_tenant' THEN 'id' ELSE 'tenant_id' END
        );
    END LOOP;
END
$$
"""  # noqa: S608 - constants alone


class Migration(migrations.Migration):
    dependencies = [("memories", "0014_orders_of_memories")]

    operations = [
        migrations.RunSQL(RECAST, migrations.RunSQL.noop),
        migrations.RemoveIndex(model_name="memory", name="memory_in_partition"),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["tenant", "partition_path", "-created_at"],
                include=(
                    *("id", "version", "kind", "pinned", "embedding_state", "tokens_o200k_base"),
                    *("archived_at", "expires_at", "recorded_from"),
                ),
                name="memory_in_partition",
            ),
        ),
    ]
