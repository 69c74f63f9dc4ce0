"""Count changes of profiles and assignments in the revision of their tenant."""

from django.db import migrations

from memories.tenancy.settings_revision import count_settings_changes

TABLES = ("budgetprofile", "budgetprofileassignment", "scoringprofileversion", "scoringprofileassignment")


class Migration(migrations.Migration):
    dependencies = [
        ("context", "0005_budget_profile_memory_days_and_elastic_fill"),
        ("memories", "0006_settings_revision"),
    ]

    operations = [count_settings_changes(f"context_{table}") for table in TABLES]
