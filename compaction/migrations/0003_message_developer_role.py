"""The role `developer` of messages."""

from django.db import migrations, models

ROLES = ["system", "developer", "user", "assistant", "tool"]


class Migration(migrations.Migration):
    dependencies = [("compaction", "0002_policies")]

    operations = [
        migrations.RemoveConstraint(model_name="message", name="message_role_is_known"),
        migrations.AlterField(
            model_name="message",
            name="role",
            field=models.CharField(choices=[(role, role.capitalize()) for role in ROLES], max_length=9),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.CheckConstraint(condition=models.Q(role__in=ROLES), name="message_role_is_known"),
        ),
    ]
