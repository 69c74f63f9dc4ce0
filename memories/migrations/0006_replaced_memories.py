"""A memory that another one replaced stops being true before it is archived; hygiene lists such pairs."""

from django.db import migrations, models

ACTS = ["merge", "archive", "dismiss", "restore", "pin", "unpin", "kind", "move", "replace"]
KINDS = ["near_duplicate", "contradiction", "recall_loop", "replaced"]


class Migration(migrations.Migration):
    dependencies = [("memories", "0005_tenant_names_and_memory_sources")]

    operations = [
        migrations.AddField(
            model_name="memory",
            name="valid_to",
            field=models.DateTimeField(
                blank=True,
                editable=False,
                help_text="Set with `archived_at` if another memory replaced it: when it stopped being true.",
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(valid_to__isnull=True)
                | models.Q(archived_at__isnull=False, valid_to__gte=models.F("valid_from")),
                name="memory_valid_interval",
            ),
        ),
        migrations.RemoveConstraint(model_name="memorypair", name="memory_pair_kind_is_known"),
        migrations.AddConstraint(
            model_name="memorypair",
            constraint=models.CheckConstraint(condition=models.Q(kind__in=KINDS), name="memory_pair_kind_is_known"),
        ),
        migrations.AlterField(
            model_name="memorypair",
            name="kind",
            field=models.CharField(choices=[(kind, kind.replace("_", " ").title()) for kind in KINDS], max_length=16),
        ),
        migrations.AlterField(
            model_name="memorypair",
            name="similarity",
            field=models.FloatField(
                blank=True, help_text="Cosine of their vectors when they were compared, 0 to 1.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="hygieneact",
            name="act",
            field=models.CharField(choices=[(act, act.capitalize()) for act in ACTS], max_length=8),
        ),
    ]
