"""An index of the runs that failed: what waits for somebody is counted on every visit of an overview."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("compaction", "0002_confine")]

    operations = [
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("state", "failed")), fields=["tenant", "finished_at"], name="run_failed"
            ),
        ),
    ]
