"""One explicit vote of an actor on a memory and day: the newest counts, earlier ones are withdrawn."""

from django.db import migrations, models

# In this order: the rows are invisible outside of a scope, and the constraint refuses what the statements withdraw.
WITHDRAW_EARLIER = """
SELECT set_config('app.scope', 'admin_write', true);
CREATE TEMPORARY TABLE earlier_votes ON COMMIT DROP AS
SELECT * FROM (
    SELECT tenant_id, id, memory_id, row_number() OVER (
        PARTITION BY tenant_id, memory_id, on_day, actor_kind, actor_id ORDER BY at DESC, id DESC
    ) AS place
    FROM context_feedback WHERE kind = 'explicit' AND withdrawn_at IS NULL
) AS votes WHERE place > 1;
UPDATE context_feedback AS vote SET withdrawn_at = now(), withdrawn_by = 'one vote a day'
FROM earlier_votes AS earlier WHERE vote.tenant_id = earlier.tenant_id AND vote.id = earlier.id;
UPDATE memories_memory AS memory SET usefulness_score = (1 + positive) / (2 + positive + negative)
FROM (
    SELECT vote.tenant_id, vote.memory_id,
        coalesce(sum(weight) FILTER (WHERE weight > 0), 0) AS positive,
        coalesce(-sum(weight) FILTER (WHERE weight < 0), 0) AS negative
    FROM context_feedback AS vote
    WHERE withdrawn_at IS NULL AND (tenant_id, memory_id) IN (SELECT tenant_id, memory_id FROM earlier_votes)
    GROUP BY vote.tenant_id, vote.memory_id
) AS sums WHERE memory.tenant_id = sums.tenant_id AND memory.id = sums.memory_id;
SELECT set_config('app.scope', '', true)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("context", "0002_policies"),
        ("memories", "0002_policies_and_triggers"),
    ]

    operations = [
        migrations.RunSQL(WITHDRAW_EARLIER, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name="feedback",
            name="on_day",
            field=models.DateField(
                help_text="The UTC day of `at`: at most one explicit vote per actor and one implicit vote."
            ),
        ),
        migrations.AddConstraint(
            model_name="feedback",
            constraint=models.UniqueConstraint(
                condition=models.Q(kind="explicit", withdrawn_at__isnull=True),
                fields=("tenant", "memory", "on_day", "actor_kind", "actor_id"),
                name="feedback_is_explicit_once_a_day",
            ),
        ),
    ]
