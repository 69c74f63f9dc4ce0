"""Tenant names are unique in any case; memories are found by `source_id`; moves are acts."""

from django.db import migrations, models
from django.db.models.functions import Lower

ACTS = ["merge", "archive", "dismiss", "restore", "pin", "unpin", "kind", "move"]


class Migration(migrations.Migration):
    dependencies = [("memories", "0004_audit_reason")]

    operations = [
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.UniqueConstraint(
                Lower("name"),
                name="tenant_name_is_unique_in_any_case",
                violation_error_message="A tenant with this name already exists; case is ignored.",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["tenant", "partition_path", "source_id"],
                name="memory_by_source",
                condition=models.Q(archived_at__isnull=True) & ~models.Q(source_id=""),
            ),
        ),
        migrations.AlterField(
            model_name="hygieneact",
            name="act",
            field=models.CharField(choices=[(act, act.capitalize()) for act in ACTS], max_length=8),
        ),
    ]
