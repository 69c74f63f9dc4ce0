"""Budget profiles may render the day before each memory, and let the elastic packer fill the budget."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("context", "0004_publishing_argument")]

    operations = [
        migrations.AddField(
            model_name="budgetprofile",
            name="elastic_fills_budget",
            field=models.BooleanField(
                default=True,
                help_text="Whether to exceed the target and the maximum length while budget remains.",
            ),
        ),
        migrations.AddField(
            model_name="budgetprofile",
            name="include_memory_days",
            field=models.BooleanField(
                default=False, help_text="Whether the text gives the day (UTC) of each memory before it."
            ),
        ),
    ]
