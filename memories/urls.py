"""URLs of the pages about stored memories; each contains the tenant, so that it can be shared."""

from django.urls import path

from memories.embeddings.views import embedding_retire, embedding_retry, embedding_switch, embeddings
from memories.hygiene.views import hygiene, hygiene_bulk, hygiene_progress, hygiene_undo, memory_findings
from memories.partitions.views import (
    memo,
    snapshot,
    snapshot_delete,
    snapshots,
    summaries,
    summary_restore,
    summary_withdraw,
    text_tokens,
)
from memories.store.views.bulk import memory_bulk, memory_bulk_undo, memory_merge
from memories.store.views.import_export import memory_export, memory_import_export
from memories.store.views.links import memory_link, memory_link_remove, memory_link_restore
from memories.store.views.memories import MEMORY_ACTIONS, memory_action, memory_detail, memory_version_restore
from memories.store.views.memory_list import memory_list
from memories.store.views.new_memory import memory_new
from memories.tenancy.views import members, saved_views
from memories.tenancy.views.api_keys import api_key_revoke, api_keys
from memories.tenancy.views.audit_log import audit_export, audit_log
from memories.tenancy.views.invitations import invitation
from memories.tenancy.views.tenant_settings import tenant_settings

_LINK = "t/<uuid:tenant_id>/memories/<uuid:memory_id>/links/<int:link_id>"

urlpatterns = [
    path("t/<uuid:tenant_id>/keys", api_keys, name="api-keys"),
    path("t/<uuid:tenant_id>/keys/<str:prefix>/revoke", api_key_revoke, name="api-key-revoke"),
    path("t/<uuid:tenant_id>/audit", audit_log, name="audit-log"),
    path("t/<uuid:tenant_id>/audit/export", audit_export, name="audit-export"),
    path("t/<uuid:tenant_id>/settings", tenant_settings, name="tenant-settings"),
    path("t/<uuid:tenant_id>/members", members.members, name="members"),
    path("t/<uuid:tenant_id>/members/add", members.member_add, name="member-add"),
    path("t/<uuid:tenant_id>/members/invite", members.invitation_create, name="invitation-create"),
    path(
        "t/<uuid:tenant_id>/members/invitations/<uuid:invitation_id>/revoke",
        members.invitation_revoke,
        name="invitation-revoke",
    ),
    path("t/<uuid:tenant_id>/members/<str:username>/role", members.member_role, name="member-role"),
    path("t/<uuid:tenant_id>/members/<str:username>/remove", members.member_remove, name="member-remove"),
    path(
        "t/<uuid:tenant_id>/members/<str:username>/second-factor",
        members.member_second_factor,
        name="member-second-factor",
    ),
    path("join/<uuid:tenant_id>/<str:secret>", invitation, name="invitation"),
    path("t/<uuid:tenant_id>/views", saved_views.saved_view_create, name="saved-view-create"),
    path("t/<uuid:tenant_id>/views/<uuid:view_id>", saved_views.saved_view_change, name="saved-view-change"),
    path("t/<uuid:tenant_id>/views/<uuid:view_id>/delete", saved_views.saved_view_delete, name="saved-view-delete"),
    path("t/<uuid:tenant_id>/views/<uuid:view_id>/restore", saved_views.saved_view_restore, name="saved-view-restore"),
    path("t/<uuid:tenant_id>/memo", memo, name="memo"),
    path("t/<uuid:tenant_id>/text-tokens", text_tokens, name="text-tokens"),
    path("t/<uuid:tenant_id>/summaries", summaries, name="summaries"),
    path("t/<uuid:tenant_id>/summaries/withdraw", summary_withdraw, name="summary-withdraw"),
    path("t/<uuid:tenant_id>/summaries/restore", summary_restore, name="summary-restore"),
    path("t/<uuid:tenant_id>/snapshots", snapshots, name="snapshots"),
    path("t/<uuid:tenant_id>/snapshots/<uuid:snapshot_id>", snapshot, name="snapshot"),
    path("t/<uuid:tenant_id>/snapshots/<uuid:snapshot_id>/delete", snapshot_delete, name="snapshot-delete"),
    path("t/<uuid:tenant_id>/embeddings", embeddings, name="embeddings"),
    path("t/<uuid:tenant_id>/embeddings/<uuid:model_id>/switch", embedding_switch, name="embedding-switch"),
    path("t/<uuid:tenant_id>/embeddings/<uuid:model_id>/retire", embedding_retire, name="embedding-retire"),
    path("t/<uuid:tenant_id>/embeddings/<uuid:model_id>/retry", embedding_retry, name="embedding-retry"),
    path("t/<uuid:tenant_id>/hygiene", hygiene, name="hygiene"),
    path("t/<uuid:tenant_id>/hygiene/bulk/<uuid:act_id>/undo", hygiene_undo, name="hygiene-bulk-undo"),
    path("t/<uuid:tenant_id>/hygiene/progress", hygiene_progress, name="hygiene-progress"),
    path("t/<uuid:tenant_id>/hygiene/<slug:name>", hygiene, name="hygiene-list"),
    path("t/<uuid:tenant_id>/hygiene/<slug:name>/bulk", hygiene_bulk, name="hygiene-bulk"),
    path("t/<uuid:tenant_id>/memories", memory_list, name="memories"),
    path("t/<uuid:tenant_id>/memories/export", memory_export, name="memory-export"),
    path("t/<uuid:tenant_id>/memories/import-export", memory_import_export, name="memory-import-export"),
    path("t/<uuid:tenant_id>/memories/new", memory_new, name="memory-new"),
    path("t/<uuid:tenant_id>/memories/bulk", memory_bulk, name="memories-bulk"),
    path("t/<uuid:tenant_id>/memories/bulk/<uuid:act_id>/undo", memory_bulk_undo, name="memories-bulk-undo"),
    path("t/<uuid:tenant_id>/memories/<uuid:memory_id>", memory_detail, name="memory"),
    path("t/<uuid:tenant_id>/memories/<uuid:memory_id>/merge", memory_merge, name="memory-merge"),
    path("t/<uuid:tenant_id>/memories/<uuid:memory_id>/findings", memory_findings, name="memory-findings"),
    path("t/<uuid:tenant_id>/memories/<uuid:memory_id>/links", memory_link, name="memory-link"),
    path(f"{_LINK}/remove", memory_link_remove, name="memory-link-remove"),
    path(f"{_LINK}/restore", memory_link_restore, name="memory-link-restore"),
    *(
        path(
            f"t/<uuid:tenant_id>/memories/<uuid:memory_id>/{name}", memory_action, {"name": name}, name=f"memory-{name}"
        )
        for name in MEMORY_ACTIONS
    ),
    path(
        "t/<uuid:tenant_id>/memories/<uuid:memory_id>/versions/<int:version>/restore",
        memory_version_restore,
        name="memory-version-restore",
    ),
]
