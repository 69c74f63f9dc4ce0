"""Forms of pages as a browser sends them: with the state that the page shows, so that tests need not look it up.

`tests.conftest` makes every test client do so. If a test gives the state itself, or sends "", it is not changed.
"""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from django.contrib.auth.models import User
from django.test import Client
from django.urls import Resolver404, resolve

from compaction.models import AlertRule, Compaction, Erasure, RetentionPolicy
from compaction.pipeline.prompt_versions import current_prompt
from compaction.services.alerts.rules import state_of_rules
from context.models import BudgetProfileAssignment, GoldenQuestion, ScoringProfileAssignment, ScoringProfileVersion
from context.profiles.budget_profiles import current_budget_profile
from memories.models import Memory, PartitionSummary, SavedView, Tenant
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.roles import role_of


def _edit_version(tenant_id: UUID, named: Mapping[str, Any], _: Mapping[str, Any]) -> Any:
    row = Compaction.objects.for_tenant(tenant_id).filter(pk=named["compaction_id"]).first()
    return row.edit_version if row else 0


def _assigned(model: Any) -> Callable[..., Any]:
    def assignment(tenant_id: UUID, _: Mapping[str, Any], data: Mapping[str, Any]) -> Any:
        rows = model.objects.for_tenant(tenant_id).active()
        key = data.get("api_key")
        rows = rows.filter(api_key__prefix=key) if key else rows.filter(partition_path=data.get("partition", ""))
        row = rows.first()
        return row.pk if row else "none"

    return assignment


def _assignments(model: Any) -> Callable[..., Any]:
    def shown(tenant_id: UUID, *_: object) -> Any:
        ids = model.objects.for_tenant(tenant_id).active().values_list("pk", flat=True)
        return ",".join(str(each) for each in ids) or "none"

    return shown


def _summary(tenant_id: UUID, _: Mapping[str, Any], data: Mapping[str, Any]) -> Any:
    rows = PartitionSummary.objects.for_tenant(tenant_id).current().filter(partition__path=data.get("partition", ""))
    row = rows.filter(style=data.get("style", "")).first()
    return row.version if row else 0


def _active(tenant_id: UUID, named: Mapping[str, Any], _: Mapping[str, Any]) -> Any:
    row = ScoringProfileVersion.objects.for_tenant(tenant_id).active().filter(name=named["name"]).first()
    return row.version if row else 0


def _shown(tenant_id: UUID, named: Mapping[str, Any], data: Mapping[str, Any]) -> Any:
    newest = ScoringProfileVersion.objects.for_tenant(tenant_id).filter(name=named["name"]).order_by("-version").first()
    return _active(tenant_id, named, data) or (newest.version if newest else 0)


def _view(tenant_id: UUID, named: Mapping[str, Any], _: Mapping[str, Any]) -> Any:
    row = SavedView.objects.for_tenant(tenant_id).filter(pk=named["view_id"]).first()
    return row.name if row else "none"


def _question(tenant_id: UUID, named: Mapping[str, Any], _: Mapping[str, Any]) -> Any:
    row = GoldenQuestion.objects.for_tenant(tenant_id).filter(pk=named["question_id"]).first()
    return row.state_hash() if row else "none"


def _role(_: UUID, named: Mapping[str, Any], __: Mapping[str, Any]) -> Any:
    user = User.objects.filter(username=named["username"]).first()
    return (user and role_of(user)) or "none"


def _budget(tenant_id: UUID, named: Mapping[str, Any], _: Mapping[str, Any]) -> Any:
    try:
        return current_budget_profile(tenant_id, named["name"]).version
    except InvalidInput:
        return 0


def _memory(tenant_id: UUID, named: Mapping[str, Any], _: Mapping[str, Any]) -> Any:
    row = Memory.objects.for_tenant(tenant_id).filter(pk=named["memory_id"]).first()
    return row.version if row else 0


def _counted(tenant_id: UUID, named: Mapping[str, Any], _: Mapping[str, Any]) -> Any:
    row = Erasure.objects.for_tenant(tenant_id).filter(pk=named["erasure_id"]).first()
    return row.counted_state if row else ""


def _policies(tenant_id: UUID, *_: object) -> Any:
    return ",".join(each.state for each in RetentionPolicy.objects.for_tenant(tenant_id)) or "none"


def _policy(tenant_id: UUID, named: Mapping[str, Any], _: Mapping[str, Any]) -> Any:
    row = RetentionPolicy.objects.for_tenant(tenant_id).filter(pk=named["policy_id"]).first()
    return row.state if row else "none"


#: By the name of an address: the field, and how to compute it from the tenant, the names in the address, and the data.
STATES: dict[str, tuple[str, Callable[..., Any]]] = {
    "alerts": ("replaces", lambda tenant_id, *_: state_of_rules(AlertRule.objects.all_kinds(tenant_id))),
    "budget-assignment-end": ("replaces", _assigned(BudgetProfileAssignment)),
    **dict.fromkeys(
        ("compaction-append", "compaction-approve", "compaction-mark-reviewed", "compaction-reject"),
        ("edit_version", _edit_version),
    ),
    "budget-rollback": ("replaces", _budget),
    "budget-assignments": ("shown", _assignments(BudgetProfileAssignment)),
    "erasure": ("shown", _counted),
    "erasures": ("shown", _policies),
    "golden-question": ("seen", _question),
    "member-role": ("replaces", _role),
    "memory-version-restore": ("seen_version", _memory),
    "prompt-rollback": ("edited_from", lambda tenant_id, *_: current_prompt(tenant_id)[0]),
    "retention-remove": ("replaces", _policy),
    "saved-view-change": ("replaces", _view),
    "scoring-assignment-end": ("replaces", _assigned(ScoringProfileAssignment)),
    "scoring-assignments": ("shown", _assignments(ScoringProfileAssignment)),
    "scoring-profile": ("edited_from", _shown),
    **dict.fromkeys(("scoring-publish", "scoring-rollback"), ("replaces", _active)),
    "summary-withdraw": ("seen_version", _summary),
    "tenant-settings": ("replaces", lambda tenant_id, *_: Tenant.objects.get(pk=tenant_id).text_search_config),
}


def with_state(address: str, data: Any) -> Any:
    """Return the data of a POST with the current state, if the form at the address has a state and the data lack it."""
    try:
        found = resolve(urlsplit(address).path)
    except Resolver404:
        return data
    field, state = STATES.get(found.url_name or "", ("", None))
    if state is None or not isinstance(data, dict | None) or field in (data or {}):
        return data
    if field in parse_qs(urlsplit(address).query):  # an undo
        return data
    if field == "edited_from" and (version := parse_qs(urlsplit(address).query).get("version")):
        return {**(data or {}), field: version[0]}
    tenant_id = found.kwargs["tenant_id"]
    with tenant_scope(tenant_id):
        return {**(data or {}), field: state(tenant_id, found.kwargs, data or {})}


def post_as_browsers_do() -> None:
    """Let test clients send the state with every form that has one."""
    post: Any = Client.post

    def posted(self: Client, path: str, data: Any = None, *args: Any, **more: Any) -> Any:
        return post(self, path, with_state(path, data), *args, **more)

    Client.post = posted  # type: ignore[method-assign, assignment]
