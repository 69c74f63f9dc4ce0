"""URLs of the pages about stored memories, below the URL of the tenant."""

from django.urls import path

from memories.embeddings import views as embeddings
from memories.hygiene import views as hygiene
from memories.partitions import views as partitions
from memories.store.views import bulk, import_export, links, memories, memory_list, new_memory
from memories.tenancy.views import api_keys, audit_log, members, saved_views, tenant_settings

_LINK = "memories/<uuid:memory_id>/links/<int:link_id>"

urlpatterns = [
    path("keys", api_keys.api_keys, name="api-keys"),
    path("keys/<str:prefix>/revoke", api_keys.api_key_revoke, name="api-key-revoke"),
    path("audit", audit_log.audit_log, name="audit-log"),
    path("audit/export", audit_log.audit_export, name="audit-export"),
    path("settings", tenant_settings.tenant_settings, name="tenant-settings"),
    path("members", members.members, name="members"),
    path("members/add", members.member_add, name="member-add"),
    path("members/invite", members.invitation_create, name="invitation-create"),
    path("members/invitations/<uuid:invitation_id>/revoke", members.invitation_revoke, name="invitation-revoke"),
    path("members/<str:username>/role", members.member_role, name="member-role"),
    path("members/<str:username>/remove", members.member_remove, name="member-remove"),
    path("members/<str:username>/second-factor", members.member_second_factor, name="member-second-factor"),
    path("views", saved_views.saved_view_create, name="saved-view-create"),
    path("views/<uuid:view_id>", saved_views.saved_view_change, name="saved-view-change"),
    path("views/<uuid:view_id>/delete", saved_views.saved_view_delete, name="saved-view-delete"),
    path("views/<uuid:view_id>/restore", saved_views.saved_view_restore, name="saved-view-restore"),
    path("memo", partitions.memo, name="memo"),
    path("text-tokens", partitions.text_tokens, name="text-tokens"),
    path("summaries", partitions.summaries, name="summaries"),
    path("summaries/withdraw", partitions.summary_withdraw, name="summary-withdraw"),
    path("summaries/restore", partitions.summary_restore, name="summary-restore"),
    path("snapshots", partitions.snapshots, name="snapshots"),
    path("snapshots/<uuid:snapshot_id>", partitions.snapshot, name="snapshot"),
    path("snapshots/<uuid:snapshot_id>/delete", partitions.snapshot_delete, name="snapshot-delete"),
    path("embeddings", embeddings.embeddings, name="embeddings"),
    path("embeddings/<uuid:model_id>/switch", embeddings.embedding_switch, name="embedding-switch"),
    path("embeddings/<uuid:model_id>/retire", embeddings.embedding_retire, name="embedding-retire"),
    path("embeddings/<uuid:model_id>/retry", embeddings.embedding_retry, name="embedding-retry"),
    path("hygiene", hygiene.hygiene, name="hygiene"),
    path("hygiene/bulk/<uuid:act_id>/undo", hygiene.hygiene_undo, name="hygiene-bulk-undo"),
    path("hygiene/progress", hygiene.hygiene_progress, name="hygiene-progress"),
    path("hygiene/<slug:name>", hygiene.hygiene, name="hygiene-list"),
    path("hygiene/<slug:name>/bulk", hygiene.hygiene_bulk, name="hygiene-bulk"),
    path("memories", memory_list.memory_list, name="memories"),
    path("memories/export", import_export.memory_export, name="memory-export"),
    path("memories/import-export", import_export.memory_import_export, name="memory-import-export"),
    path("memories/new", new_memory.memory_new, name="memory-new"),
    path("memories/bulk", bulk.memory_bulk, name="memories-bulk"),
    path("memories/bulk/<uuid:act_id>/undo", bulk.memory_bulk_undo, name="memories-bulk-undo"),
    path("memories/<uuid:memory_id>", memories.memory_detail, name="memory"),
    path("memories/<uuid:memory_id>/merge", bulk.memory_merge, name="memory-merge"),
    path("memories/<uuid:memory_id>/findings", hygiene.memory_findings, name="memory-findings"),
    path("memories/<uuid:memory_id>/links", links.memory_link, name="memory-link"),
    path(f"{_LINK}/remove", links.memory_link_remove, name="memory-link-remove"),
    path(f"{_LINK}/restore", links.memory_link_restore, name="memory-link-restore"),
    *(
        path(f"memories/<uuid:memory_id>/{name}", memories.memory_action, {"name": name}, name=f"memory-{name}")
        for name in memories.MEMORY_ACTIONS
    ),
    path(
        "memories/<uuid:memory_id>/versions/<int:version>/restore",
        memories.memory_version_restore,
        name="memory-version-restore",
    ),
]
