"""Name the time and the memories of a golden question `as_of` and `evidence`."""

import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("context", "0007_settings_revision")]

    operations = [
        migrations.RemoveConstraint("goldenquestion", "golden_question_is_asked_once"),
        migrations.RenameField("goldenquestion", "asked_at", "as_of"),
        migrations.AlterField(
            "goldenquestion",
            "as_of",
            models.DateTimeField(
                blank=True, help_text="The valid time that the question is about; empty: now.", null=True
            ),
        ),
        migrations.AddConstraint(
            "goldenquestion",
            models.UniqueConstraint(
                models.F("tenant"),
                django.db.models.functions.text.MD5("text"),
                django.db.models.functions.text.MD5("partition_path"),
                models.F("as_of"),
                condition=models.Q(("removed_at__isnull", True)),
                name="golden_question_is_asked_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AlterField(
            "goldenmemory",
            "question",
            models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="evidence",
                to="context.goldenquestion",
            ),
        ),
    ]
