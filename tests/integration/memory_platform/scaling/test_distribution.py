"""What distributing the tables by tenant requires, checked without Citus (ADR-0193); keys: test_tenant_keys.py."""

import re
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from memories.models import Tenant
from memory_platform.postgres.base import has_tenant
from memory_platform.postgres.distribution import TENANTS, distributed_tables, reference_tables
from tests.factories import make_memory
from tests.users import api_client

pytestmark = pytest.mark.django_db

#: Finds the tenant of a key, so it cannot name the tenant; one indexed look-up on each node.
AUTHENTICATION = "memories_apikey"
COLUMN_TYPES = """
SELECT DISTINCT format_type(a.atttypid, a.atttypmod) FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
WHERE (c.relname, a.attname) IN (SELECT * FROM unnest(%s::name[], %s::name[]))
"""
TABLE = re.compile(r"\b(?:memories|context|compaction)_[a-z]+\b")
CONFINED = re.compile(r"tenant_id\"?(?: =|,|\)| IN)|\bINSERT INTO\b", re.IGNORECASE)


def printed() -> list[str]:
    output = StringIO()
    call_command("distribute", "--dry-run", stdout=output)
    return output.getvalue().splitlines()


def test_each_table_of_a_tenant_is_distributed_once_with_the_tenants() -> None:
    lines = printed()
    tables = {model._meta.db_table for model in apps.get_models() if has_tenant(model)}
    for table in tables:
        expected = f"SELECT create_distributed_table('{table}', 'tenant_id', colocate_with => '{TENANTS}');"
        assert lines.count(expected) == 1
    assert sum("create_distributed_table" in line for line in lines) == len(tables) + 1
    first = lines.index(f"SELECT create_distributed_table('{TENANTS}', 'id', colocate_with => 'none');")
    assert all("memories_tenant'" in line for line in lines[first:] if "create_distributed_table" in line)
    assert [line for line in lines if "create_reference_table('auth_user')" in line]


def test_foreign_keys_are_dropped_and_added_again() -> None:
    lines = printed()
    dropped = [re.sub(" DROP CONSTRAINT", "", line.rstrip(";")) for line in lines if " DROP CONSTRAINT " in line]
    added = [re.sub(" ADD CONSTRAINT", "", line) for line in lines if " ADD CONSTRAINT " in line]
    assert len(dropped) == len(added) > 50
    assert all(line.startswith(f"{start} ") for line, start in zip(added, dropped, strict=True))


def test_statements_are_printed_only() -> None:
    with pytest.raises(CommandError, match="--dry-run"):
        call_command("distribute")


def test_tables_that_are_not_distributed_refer_to_none_that_is() -> None:
    distributed = distributed_tables()
    for model in apps.get_models(include_auto_created=True):
        targets = {field.related_model._meta.db_table for field in model._meta.local_fields if field.related_model}
        if model._meta.db_table not in distributed:
            assert not targets & distributed.keys(), model
        else:
            assert targets <= distributed.keys() | set(reference_tables()), model


def test_columns_of_one_type_are_stored_together() -> None:
    tables = distributed_tables()
    with connections["owner"].cursor() as cursor:
        cursor.execute(COLUMN_TYPES, [list(tables), list(tables.values())])
        assert cursor.fetchall() == [("uuid",)]
    connections["owner"].close()


def test_hot_statements_name_the_tenant(tenant: Tenant, api_key: str) -> None:
    """A statement that does not name the tenant is sent to every node."""
    make_memory(tenant, "The raspberry jam is in the cellar.", is_embedded=True)
    agent = api_client(api_key)

    def ask(path: str, body: dict[str, Any]) -> Any:
        answer = agent.post(f"/api/v1/{path}", body, format="json")
        assert answer.status_code < 300, answer.content
        return answer.json()

    with CaptureQueriesContext(connection) as captured:
        ask("memories", {"content": "The periwinkle is in the garden.", "user_id": "alex"})
        ask("memories/bulk", {"memories": [{"content": "One more."}]})
        ask("memories/search", {"query": "jam"})
        ask("context", {"query": "Where is the jam?", "max_tokens": 300})
        session = ask("sessions", {"max_context_tokens": 4000})["id"]
        ask(f"sessions/{session}/messages", {"messages": [{"role": "user", "content": "Hello."}]})
        ask(f"sessions/{session}/context", {"query": "jam"})
    statements = [query["sql"] for query in captured if TABLE.search(query["sql"])]
    assert len(statements) > 20
    assert [each for each in statements if AUTHENTICATION not in each and not CONFINED.search(each)] == []
