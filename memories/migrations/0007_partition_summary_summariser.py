"""What wrote a roll-up: rules, a model, or rules because the model failed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0006_replaced_memories")]

    operations = [
        migrations.AddField(
            model_name="partitionsummary",
            name="summariser",
            field=models.CharField(
                blank=True,
                default="",
                help_text="What wrote a roll-up; blank for people and agents.",
                max_length=32,
            ),
        ),
        migrations.AddField(
            model_name="partitionsummary",
            name="is_fallback",
            field=models.BooleanField(default=False, help_text="The model failed, so rules wrote the roll-up."),
        ),
    ]
