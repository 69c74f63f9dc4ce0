"""The link of an audit entry, and the part of an id that is shown."""

import pytest

from memories.services.tenancy.audit_targets import AuditTargetPage, audit_target_page, displayed_target_id

ID = "99f0efff-3ba4-4d3d-8cd4-71830b0b6e23"
HASH = "sha512$$" + "0f" * 64


@pytest.mark.parametrize(
    ("verb", "kind", "target_id", "page"),
    [
        ("update_memory", "memory", ID, AuditTargetPage("memory", (ID,))),
        ("create_snapshot", "snapshot", ID, AuditTargetPage("snapshot", (ID,))),
        ("save_memo", "tenant_memo", "4", AuditTargetPage("memo")),
        ("create_api_key", "api_key", f"abcd1234.{HASH}", AuditTargetPage("api-keys", admins_only=True)),
        ("create_budget_profile", "budget_profile", "default 3", AuditTargetPage("budget", ("default",))),
        (
            "request_roll_up",
            "partition",
            "agent=a/user=b",
            AuditTargetPage("partitions", query={"partition": "agent=a/user=b"}),
        ),
        ("delete_snapshot", "snapshot", ID, None),
        ("update_memory", "memory", "../admin", None),
        ("prune_receipts", "receipt", "12 receipts", None),
        ("append_messages", "message", ID, None),
    ],
)
def test_row_leads_to_the_page_about_it(verb: str, kind: str, target_id: str, page: AuditTargetPage | None) -> None:
    assert audit_target_page(verb, kind, target_id) == page


def test_what_a_profile_is_assigned_to_is_not_taken_for_a_profile() -> None:
    assert audit_target_page("assign_budget_profile", "budget_profile", "tenant", is_first=False) is None


@pytest.mark.parametrize(
    ("target_id", "shown"), [(f"abcd1234.{HASH}", "abcd1234"), (ID, ID), ("agent=a.b", "agent=a.b"), ("12", "12")]
)
def test_hash_of_a_key_is_not_shown(target_id: str, shown: str) -> None:
    assert displayed_target_id(target_id) == shown
