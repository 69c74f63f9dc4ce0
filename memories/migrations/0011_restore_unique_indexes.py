"""Unique indexes that `0008_drop_redundant_indexes` dropped with those of the foreign keys.

Django drops every index of a column alone when its field loses its own, partial ones as well.
"""

from django.db import migrations, models

_CONSTRAINTS = (
    ("embeddingmodel", "embedding_model_one_is_active", models.Q(("state", "active"))),
    ("embeddingmodel", "embedding_model_one_is_filled", models.Q(("state", "filling"))),
    ("tenantmemo", "memo_has_one_current_version", models.Q(("recorded_to__isnull", True))),
)


class Migration(migrations.Migration):
    dependencies = [("memories", "0010_settings_revision")]

    operations = [
        operation
        for model, name, condition in _CONSTRAINTS
        for operation in (
            migrations.RemoveConstraint(model, name),
            migrations.AddConstraint(
                model, models.UniqueConstraint(condition=condition, fields=("tenant",), name=name)
            ),
        )
    ]
