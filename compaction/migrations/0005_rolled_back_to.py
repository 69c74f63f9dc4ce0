"""A version of a tenant's prompt says of which older one it has the text again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("compaction", "0004_last_settled")]

    operations = [
        migrations.AddField(
            model_name="compactionprompt",
            name="rolled_back_to",
            field=models.PositiveIntegerField(
                blank=True, help_text="The version whose text it put into force again.", null=True
            ),
        ),
    ]
