"""The key that received a recalled text, and the partition of its context."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0002_policies_and_triggers"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="recalledtext",
            name="recalled_text_is_unique",
        ),
        migrations.AddField(
            model_name="recalledtext",
            name="api_key_prefix",
            field=models.CharField(blank=True, default="", help_text="Of the receiver; empty for none.", max_length=8),
        ),
        migrations.AddField(
            model_name="recalledtext",
            name="context_partition",
            field=models.TextField(
                blank=True,
                db_collation="C",
                default="",
                help_text="And, after //, the segments that the context required.",
            ),
        ),
        migrations.AddField(
            model_name="retrievaltick",
            name="api_key_prefix",
            field=models.CharField(blank=True, default="", max_length=8),
        ),
        migrations.AddField(
            model_name="retrievaltick",
            name="context_partition",
            field=models.TextField(
                blank=True,
                db_collation="C",
                default="",
                help_text="And, after //, the segments that the context required.",
            ),
        ),
        migrations.AddConstraint(
            model_name="recalledtext",
            constraint=models.UniqueConstraint(
                fields=("memory", "recalled_hash", "api_key_prefix", "context_partition", "tenant"),
                name="recalled_text_is_unique",
            ),
        ),
    ]
