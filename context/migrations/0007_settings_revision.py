"""Count changes of profiles and assignments in the revision of their tenant."""

from django.db import migrations

from memories.tenancy.settings_revision import count_settings_changes

TABLES = ("budgetprofile", "budgetprofileassignment", "scoringprofileversion", "scoringprofileassignment")


class Migration(migrations.Migration):
    dependencies = [
        ("context", "0006_drop_redundant_indexes"),
        ("memories", "0010_settings_revision"),
    ]

    operations = [count_settings_changes(f"context_{table}") for table in TABLES]
