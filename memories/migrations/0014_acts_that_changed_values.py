from django.core.serializers.json import DjangoJSONEncoder
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0013_saved_views_of_all_lists")]
    operations = [
        migrations.AlterField(
            "hygieneact",
            "act",
            models.CharField(
                choices=[
                    *(("merge", "Merge"), ("archive", "Archive"), ("dismiss", "Dismiss"), ("restore", "Restore")),
                    *(("pin", "Pin"), ("unpin", "Unpin"), ("kind", "Kind"), ("move", "Move"), ("replace", "Replace")),
                    *(("import", "Import"), ("change", "values that an act changed")),
                ],
                max_length=8,
            ),
        ),
        migrations.AlterField(
            "hygieneact",
            "changed",
            models.JSONField(
                blank=True,
                default=list,
                encoder=DjangoJSONEncoder,
                help_text="For each changed memory or value: id, field, previous and new value.",
            ),
        ),
    ]
