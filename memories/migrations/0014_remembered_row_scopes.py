from django.db import migrations

from memories.tenancy.row_security import ROW_SCOPES


class Migration(migrations.Migration):
    """Let a connection remember the tokens of row scopes that it has checked."""

    dependencies = [("memories", "0013_saved_views_of_all_lists")]

    operations = [migrations.RunSQL(ROW_SCOPES, migrations.RunSQL.noop)]
