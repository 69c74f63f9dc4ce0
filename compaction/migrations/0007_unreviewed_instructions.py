from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

_UNREVIEWED = Q(state="applied", has_possible_instruction=True, decided_at__isnull=True)


class Migration(migrations.Migration):
    """Index the applied compactions with possible instructions that no person has reviewed."""

    atomic = False
    dependencies = [("compaction", "0006_possible_instructions")]
    operations = [
        AddIndexConcurrently(
            "compaction", models.Index(fields=["tenant"], condition=_UNREVIEWED, name="compaction_unreviewed_instr")
        ),
    ]
