from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import F, Q

_IS_ACT = ~Q(
    actor_kind="key",
    verb__in=[
        *("append_messages", "close_session", "create_partition", "create_session", "export", "give_feedback"),
        *("link_memories", "record_outcome", "request_compaction", "restore_session", "store_memories", "store_memory"),
        *("unlink_memories", "update_memory", "update_session", "withdraw_feedback"),
        *("read_context", "preview_context", "search_memories", "read_text", "store_long_query"),
    ],
)
_INDEXES = (
    models.Index(F("tenant"), F("at").desc(), condition=_IS_ACT, name="audit_listed_newest"),
    models.Index(F("tenant"), F("actor_kind"), F("at").desc(), condition=_IS_ACT, name="audit_listed_of_kind"),
)


class Migration(migrations.Migration):
    """Leave reads of texts out of the indexes of the Activity page."""

    atomic = False
    dependencies = [("memories", "0015_audit_details")]
    operations = [
        *(AddIndexConcurrently("auditentry", index) for index in _INDEXES),
        *(RemoveIndexConcurrently("auditentry", name) for name in ("audit_acts_newest", "audit_acts_of_kind")),
    ]
