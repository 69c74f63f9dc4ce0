"""Foreign keys whose column another index begins with need no index of their own."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("compaction", "0006_lost_constraints"),
        ("memories", "0008_drop_redundant_indexes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="compaction",
            name="tenant",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.tenant"),
        ),
        migrations.AlterField(
            model_name="compactionmember",
            name="compaction",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="members",
                to="compaction.compaction",
            ),
        ),
        migrations.AlterField(
            model_name="compactionprompt",
            name="tenant",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.tenant"),
        ),
        migrations.AlterField(
            model_name="message",
            name="session",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="messages",
                to="compaction.session",
            ),
        ),
        migrations.AlterField(
            model_name="providerbreaker",
            name="tenant",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.tenant"),
        ),
        migrations.AlterField(
            model_name="run",
            name="tenant",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.tenant"),
        ),
        migrations.AlterField(
            model_name="session",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="sessions",
                to="memories.tenant",
            ),
        ),
    ]
