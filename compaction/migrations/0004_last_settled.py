"""An index of compactions by when they were decided: the page of reviews shows the latest decisions."""

from django.db import migrations, models
from django.db.models import F
from django.db.models.functions import Coalesce


class Migration(migrations.Migration):
    dependencies = [("compaction", "0003_failed_runs")]

    operations = [
        migrations.AddIndex(
            model_name="compaction",
            index=models.Index(
                F("tenant"),
                Coalesce("decided_at", "finished_at", "created_at").desc(),
                F("id"),
                name="compaction_last_settled",
            ),
        ),
    ]
