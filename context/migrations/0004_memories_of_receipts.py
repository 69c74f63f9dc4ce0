"""Receipts name the memories they hold in a column of their own, which can be asked for; so do those stored before."""

import base64
import json
import zlib
from typing import Any

import django.contrib.postgres.fields
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

ROWS_PER_BATCH = 500
MEMORY = "memory"
#: Length of a candidate's row in receipts of the first version, where the type of the anchor stands before the id.
FIRST_CANDIDATE_COLUMNS = 11
#: What deflated candidates call themselves where they are stored by column.
COLUMNS = "columns"


def memories_of(blocks: list[list[Any]], candidates: str | list[list[Any]]) -> list[str]:
    """Ids of the memories that blocks hold, each once: named in the block's own row, or in the candidate it points to.

    A copy of what `context.receipts.rows` reads, as stored rows were when this ran.
    """
    pointed = any(isinstance(row[1], int) for row in blocks)
    if pointed and isinstance(candidates, str):
        candidates = json.loads(zlib.decompress(base64.b64decode(candidates)))
        candidates = list(zip(*candidates[COLUMNS], strict=True)) if isinstance(candidates, dict) else candidates
    found: dict[str, None] = {}
    for _, second, *rest in blocks:
        if isinstance(second, int):
            row: Any = candidates[second]
            found[row[1] if len(row) == FIRST_CANDIDATE_COLUMNS else row[0]] = None
        elif second == MEMORY:
            found[rest[0]] = None
    return list(found)


def fill(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Batch by batch, in the order of ids; as the owner, whom row-level security confines too."""
    receipts = apps.get_model("context", "Receipt").objects.using(schema_editor.connection.alias)
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT set_config('app.scope', 'admin_write', true)")
    rows, last = receipts.only("id", "blocks", "candidates").order_by("pk"), None
    while batch := list((rows if last is None else rows.filter(pk__gt=last))[:ROWS_PER_BATCH]):
        for row in batch:
            row.memory_ids = memories_of(row.blocks, row.candidates)
        receipts.bulk_update([row for row in batch if row.memory_ids], ["memory_ids"])
        last = batch[-1].pk
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT set_config('app.scope', '', true)")


class Migration(migrations.Migration):
    dependencies = [("context", "0003_feedback_score_before")]

    operations = [
        migrations.AddField(
            model_name="receipt",
            name="memory_ids",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.UUIDField(),
                default=list,
                help_text="The memories its text was made of, each once.",
                size=None,
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
