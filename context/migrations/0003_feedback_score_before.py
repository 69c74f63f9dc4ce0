from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("context", "0002_profiles_and_feedback"),
    ]

    operations = [
        migrations.AddField(
            model_name="feedback",
            name="score_before",
            field=models.FloatField(
                blank=True,
                help_text="The memory's usefulness before the vote: where it returns without any.",
                null=True,
            ),
        ),
    ]
