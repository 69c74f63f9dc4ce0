from django.db import migrations


class Migration(migrations.Migration):
    """Rename the model but not its table, which processes of the former version still use during an upgrade."""

    dependencies = [("memories", "0016_reads_of_texts")]
    operations = [
        migrations.AlterModelTable("hygieneact", "memories_hygieneact"),
        migrations.RenameModel("HygieneAct", "StoredAct"),
    ]
