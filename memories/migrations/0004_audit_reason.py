"""The reason that an actor gave, in the audit log."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0003_recalled_texts_of_keys")]

    operations = [
        migrations.AddField(
            "auditentry",
            "reason",
            models.TextField(
                default="", blank=True, help_text="The reason that the actor gave, where one is required."
            ),
        ),
    ]
