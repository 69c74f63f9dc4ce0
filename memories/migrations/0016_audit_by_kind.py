"""The newest entries about one kind of thing are found without reading the rest of the log."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0015_figures_without_texts")]

    operations = [
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["tenant", "target_kind", "-at"], name="audit_of_kind"),
        ),
    ]
