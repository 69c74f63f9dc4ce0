"""Count changes of the rows that steer every context."""

from django.db import migrations, models

from memories.tenancy.settings_revision import COUNT_CHANGES, DROP_COUNTING, count_settings_changes


class Migration(migrations.Migration):
    dependencies = [("memories", "0009_sign_in_failures")]

    operations = [
        migrations.AddField(
            "tenant", "settings_revision", models.BigIntegerField(db_default=0, default=0, editable=False)
        ),
        migrations.RunSQL(COUNT_CHANGES, DROP_COUNTING),
        *[
            count_settings_changes(f"memories_{table}")
            for table in ("embeddingmodel", "tenantmemo", "partitionsummary")
        ],
    ]
