"""The next-best statements of a compaction and the budget of its summary, for its review."""

import django.core.serializers.json
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("compaction", "0004_session_pressure")]

    operations = [
        migrations.AddField(
            "compaction",
            "candidates",
            models.JSONField(
                blank=True,
                default=list,
                encoder=django.core.serializers.json.DjangoJSONEncoder,
                help_text="The next-best statements, best first.",
            ),
        ),
        migrations.AddField(
            "compaction",
            "summary_budget_tokens",
            models.PositiveIntegerField(default=0, help_text="0: made before budgets were stored."),
        ),
    ]
