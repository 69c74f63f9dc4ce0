from django.db import migrations, models


class Migration(migrations.Migration):
    """Mark the compactions with possible instructions."""

    dependencies = [("compaction", "0005_alerts")]
    operations = [
        migrations.AddField(
            "compaction",
            "has_possible_instruction",
            models.BooleanField(
                db_default=False, default=False, help_text="A new statement or fact may instruct the assistant."
            ),
        ),
    ]
