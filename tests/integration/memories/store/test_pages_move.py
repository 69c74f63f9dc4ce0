"""Memories are moved from the list: previewed, performed, undone."""

from django.contrib.auth.models import User

from memories.models import Tenant
from tests.integration.page_helpers import as_stored, client_of, make_bakery_memories, page, text_of, undo_of


def test_selected_memories_are_moved_and_moved_back(operator: User, tenant: Tenant) -> None:
    client = client_of(operator)
    one, other, *_ = make_bakery_memories(tenant)
    address = page("memories-bulk", tenant)
    preview = client.get(address, {"action": "move", "id": [str(one.pk), str(other.pk)]})
    assert "Move 2 memories?" in text_of(preview)
    sent = {"action": "move", "selected": f"{one.pk}:1 {other.pk}:1"}
    for wrong in ("", "no path"):
        assert client.post(address, sent | {"to_partition": wrong}).status_code == 422
    moved = client.post(address, sent | {"to_partition": "agent=workshop"}, follow=True)
    assert "2 memories moved." in text_of(moved)
    assert {as_stored(row).partition_path for row in (one, other)} == {"agent=workshop"}
    client.post(undo_of(moved))
    assert {as_stored(row).partition_path for row in (one, other)} == {"agent=service"}
