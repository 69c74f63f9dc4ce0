"""A version of a budget profile says of which older one it has the numbers again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("context", "0009_figures_of_receipts")]

    operations = [
        migrations.AddField(
            model_name="budgetprofile",
            name="rolled_back_to",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="The version whose numbers it put into force again; 0: the defaults.",
                null=True,
            ),
        ),
    ]
