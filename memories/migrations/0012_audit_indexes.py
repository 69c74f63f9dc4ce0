from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import F, Q

_IS_ACT = ~Q(
    actor_kind="key",
    verb__in=[
        *("append_messages", "close_session", "create_partition", "create_session", "export", "give_feedback"),
        *("link_memories", "record_outcome", "request_compaction", "restore_session", "store_memories", "store_memory"),
        *("unlink_memories", "update_memory", "update_session", "withdraw_feedback", "read_context"),
        "store_long_query",
    ],
)
_INDEXES = (
    models.Index(F("tenant"), F("target_ids__0"), F("at").desc(), name="audit_about_one"),
    models.Index(F("tenant"), F("at").desc(), condition=Q(target_ids__1__isnull=False), name="audit_about_several"),
    models.Index(F("tenant"), F("at").desc(), condition=_IS_ACT, name="audit_acts"),
    models.Index(F("tenant"), F("actor_kind"), F("at").desc(), condition=_IS_ACT, name="audit_acts_by"),
)


class Migration(migrations.Migration):
    """Replace the index that row-level security kept from use, and index what the Activity page lists."""

    atomic = False
    dependencies = [("memories", "0011_tokens_that_expire")]
    operations = [
        RemoveIndexConcurrently("auditentry", "audit_about"),
        # a type without a length rewrites neither table nor other indexes
        migrations.AlterField("auditentry", "target_ids", ArrayField(models.CharField(), default=list)),
        *(AddIndexConcurrently("auditentry", index) for index in _INDEXES),
    ]
