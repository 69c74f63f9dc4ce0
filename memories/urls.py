"""Addresses of the pages about what is stored; the tenant stands in each, so that it can be shared."""

from django.urls import path

from memories import views

urlpatterns = [
    path("t/<uuid:tenant_id>/keys", views.api_keys, name="api-keys"),
    path("t/<uuid:tenant_id>/keys/<str:prefix>/revoke", views.api_key_revoke, name="api-key-revoke"),
    path("t/<uuid:tenant_id>/audit", views.audit_log, name="audit-log"),
    path("t/<uuid:tenant_id>/settings", views.tenant_settings, name="tenant-settings"),
    path("t/<uuid:tenant_id>/settings/members/add", views.member_add, name="member-add"),
    path("t/<uuid:tenant_id>/settings/members/<str:username>/remove", views.member_remove, name="member-remove"),
    path("t/<uuid:tenant_id>/memo", views.memo, name="memo"),
    path("t/<uuid:tenant_id>/text-tokens", views.text_tokens, name="text-tokens"),
    path("t/<uuid:tenant_id>/summaries", views.summaries, name="summaries"),
    path("t/<uuid:tenant_id>/summaries/withdraw", views.summary_withdraw, name="summary-withdraw"),
    path("t/<uuid:tenant_id>/summaries/again", views.summary_again, name="summary-again"),
    path("t/<uuid:tenant_id>/snapshots", views.snapshots, name="snapshots"),
    path("t/<uuid:tenant_id>/snapshots/<uuid:snapshot_id>", views.snapshot, name="snapshot"),
    path("t/<uuid:tenant_id>/snapshots/<uuid:snapshot_id>/delete", views.snapshot_delete, name="snapshot-delete"),
    path("t/<uuid:tenant_id>/embeddings", views.embeddings, name="embeddings"),
    path("t/<uuid:tenant_id>/embeddings/<uuid:model_id>/switch", views.embedding_switch, name="embedding-switch"),
    path("t/<uuid:tenant_id>/embeddings/<uuid:model_id>/retire", views.embedding_retire, name="embedding-retire"),
    path("t/<uuid:tenant_id>/embeddings/<uuid:model_id>/retry", views.embedding_retry, name="embedding-retry"),
    path("t/<uuid:tenant_id>/hygiene", views.hygiene, name="hygiene"),
    path("t/<uuid:tenant_id>/hygiene/acts/<uuid:act_id>/undo", views.hygiene_undo, name="hygiene-undo"),
    path("t/<uuid:tenant_id>/hygiene/waiting", views.hygiene_progress, name="hygiene-progress"),
    path("t/<uuid:tenant_id>/hygiene/<slug:name>", views.hygiene, name="hygiene-list"),
    path("t/<uuid:tenant_id>/hygiene/<slug:name>/act", views.hygiene_act, name="hygiene-act"),
    path("t/<uuid:tenant_id>/memories", views.memories, name="memories"),
    path("t/<uuid:tenant_id>/memories/act", views.memory_bulk, name="memories-act"),
    path("t/<uuid:tenant_id>/memories/acts/<uuid:act_id>/undo", views.memory_bulk_undo, name="memories-undo"),
    path("t/<uuid:tenant_id>/memories/<uuid:memory_id>", views.memory, name="memory"),
    path("t/<uuid:tenant_id>/memories/<uuid:memory_id>/merge", views.memory_merge, name="memory-merge"),
    path("t/<uuid:tenant_id>/memories/<uuid:memory_id>/archive", views.archive, name="memory-archive"),
    path("t/<uuid:tenant_id>/memories/<uuid:memory_id>/restore", views.restore, name="memory-restore"),
    path("t/<uuid:tenant_id>/memories/<uuid:memory_id>/pin", views.pin, name="memory-pin"),
    path("t/<uuid:tenant_id>/memories/<uuid:memory_id>/unpin", views.unpin, name="memory-unpin"),
    path(
        "t/<uuid:tenant_id>/memories/<uuid:memory_id>/versions/<int:version>/restore",
        views.restore_version,
        name="memory-version-restore",
    ),
]
