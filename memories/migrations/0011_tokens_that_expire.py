from django.db import migrations

from memories.tenancy.row_security import ROW_SCOPES


class Migration(migrations.Migration):
    """Replace the function that checks the tokens of row scopes."""

    dependencies = [("memories", "0010_more_saved_views")]

    operations = [migrations.RunSQL(ROW_SCOPES, migrations.RunSQL.noop)]
