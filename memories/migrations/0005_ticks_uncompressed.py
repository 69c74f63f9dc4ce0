"""Rows that live for seconds are not worth compressing, least of all ids and hashes."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memories", "0004_recalled_hashes_of_ticks")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE memories_retrievaltick"
            " ALTER memory_ids SET STORAGE EXTERNAL, ALTER recalled_hashes SET STORAGE EXTERNAL",
            "ALTER TABLE memories_retrievaltick"
            " ALTER memory_ids SET STORAGE EXTENDED, ALTER recalled_hashes SET STORAGE EXTENDED",
        )
    ]
