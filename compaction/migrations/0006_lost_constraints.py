"""Whether a compaction lost a constraint, and an index of those that nobody has reviewed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("compaction", "0005_compaction_candidates")]

    operations = [
        migrations.AddField(
            "compaction",
            "has_lost_constraint",
            models.BooleanField(
                default=False, help_text="A constraint is missing that the previous summary did not lose."
            ),
        ),
        migrations.AddIndex(
            "compaction",
            models.Index(
                fields=["tenant"],
                condition=models.Q(state="applied", has_lost_constraint=True, decided_at__isnull=True),
                name="compaction_unreviewed_loss",
            ),
        ),
    ]
