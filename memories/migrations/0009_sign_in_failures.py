"""Failed sign-ins by name, address and both (ADR-0110)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0008_drop_redundant_indexes"),
    ]

    operations = [
        migrations.CreateModel(
            name="SignInFailures",
            fields=[
                ("key", models.CharField(db_collation="C", max_length=64, primary_key=True, serialize=False)),
                ("failures", models.PositiveIntegerField()),
                ("last_at", models.DateTimeField(db_index=True)),
            ],
        ),
    ]
