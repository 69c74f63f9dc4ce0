"""The parts of a session's pressure, counted for the sessions that exist (ADR-0100)."""

from django.db import migrations, models

#: Tokens of markers as `compaction.services.sessions.section_budgets.marker_tokens` estimates them.
COUNT = """
SELECT set_config('app.scope', 'admin_write', true);
UPDATE compaction_session AS session SET
    marker_tokens = CASE WHEN directive = '' THEN 0 ELSE 4 END + CASE WHEN current_id IS NULL THEN 0 ELSE 4 END + (
        SELECT coalesce(sum(
            4 + CASE WHEN name = '' THEN 0 ELSE 4 END + CASE WHEN tool_calls = '[]' THEN 0 ELSE 3 END
            + CASE WHEN tool_call_id = '' THEN 0 ELSE (length(tool_call_id) + 1) / 2 + 2 END
        ), 0) FROM compaction_message AS message
        WHERE message.session_id = session.id AND sequence IS NOT NULL AND state <> 'compacted'
    ),
    summary_tokens = (
        SELECT coalesce(sum(shown_tokens), 0) FROM compaction_message AS summary
        WHERE summary.compaction_id = session.current_id
    );
SELECT set_config('app.scope', '', true)
"""


class Migration(migrations.Migration):
    dependencies = [("compaction", "0003_message_developer_role")]

    operations = [
        migrations.AddField(
            "session",
            "summary_tokens",
            models.PositiveIntegerField(default=0, help_text="Of them, those of the current summary."),
        ),
        migrations.AddField(
            "session",
            "marker_tokens",
            models.PositiveIntegerField(
                default=0, help_text="Tokens of the marker lines, not included in the message tokens."
            ),
        ),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
    ]
