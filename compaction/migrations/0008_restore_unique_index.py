"""A unique index that `0007_drop_redundant_indexes` dropped with those of the foreign keys."""

from django.db import migrations, models

_NAME = "prompt_has_one_current_version"


class Migration(migrations.Migration):
    dependencies = [("compaction", "0007_drop_redundant_indexes")]

    operations = [
        migrations.RemoveConstraint("compactionprompt", _NAME),
        migrations.AddConstraint(
            "compactionprompt",
            models.UniqueConstraint(condition=models.Q(("recorded_to__isnull", True)), fields=("tenant",), name=_NAME),
        ),
    ]
