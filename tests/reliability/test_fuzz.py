"""Requests generated from the OpenAPI document, with every kind of key: no server error, no undocumented response.

`make fuzz` sends 10,000 with a different seed each time; FUZZ_SEED repeats a run.
"""

import json
import os
import random
from collections import Counter
from typing import Any

import pytest
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator
from rest_framework.test import APIClient

from memories.models import ApiKey, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.factories import make_memory
from tests.reliability.generated_requests import RequestMaker
from tests.sessions import new_message, new_session
from tests.users import new_key

pytestmark = pytest.mark.django_db
CASES = int(os.environ.get("FUZZ_CASES", "150"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
PROBLEM = {"type", "title", "status", "code", "detail"}


def keys_of(tenant: Tenant, other: Tenant) -> dict[str, str]:
    keys = {
        "all scopes": new_key(tenant, "read", "write", "admin"),
        "read and write": new_key(tenant, "read", "write"),
        "read": new_key(tenant, "read"),
        "write": new_key(tenant, "write"),
        "one partition": new_key(tenant, "read", "write", "admin", partition="user=alex"),
        "another tenant": new_key(other, "read", "write", "admin"),
        "unknown": "abcdefgh.0123456789012345678901234567890",
        "none": "",
    }
    for kind, change in (("revoked", {"revoked": True}), ("expired", {"expiry_date": timezone.now()})):
        keys[kind] = new_key(tenant, "read", "write", "admin")
        with tenant_scope(tenant.pk):
            ApiKey.objects.filter(prefix=keys[kind].partition(".")[0]).update(**change)
    return keys


def faults_of(response: Any, operation: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """Return what is wrong with a response."""
    status, text = response.status_code, b"".join(response) if response.streaming else response.content
    if status >= 500:
        return [f"server error {status}"]
    if status >= 400:
        problem = json.loads(text) if response.headers.get("Content-Type") == "application/problem+json" else {}
        return [] if problem.keys() >= PROBLEM else [f"{status} without a problem"]
    declared = operation["responses"].get(str(status))
    if declared is None:
        return [f"status {status} is not in the document"]
    schema = declared.get("content", {}).get("application/json", {}).get("schema")
    if schema is None or response.headers.get("Content-Type") != "application/json":
        return []
    errors = Draft202012Validator({**schema, "components": document["components"]}).iter_errors(json.loads(text))
    return [f"{'.'.join(map(str, error.path))}: {error.message[:100]}" for error in errors]


def test_generated_requests_cause_no_server_error_and_match_the_schema(tenant: Tenant, other_tenant: Tenant) -> None:
    made = SchemaGenerator().get_schema(request=None, public=True)
    document: dict[str, Any] = json.loads(json.dumps(made, default=str))
    maker = RequestMaker(document, random.Random(SEED))
    make_memory(tenant, "Alex prefers green tea.", partition="user=alex")
    with tenant_scope(tenant.pk):
        new_message(new_session(tenant))
    keys, operations = keys_of(tenant, other_tenant), maker.operations()
    faults: list[str] = []
    statuses: Counter[int] = Counter()
    for number in range(CASES):
        is_first_round = number < len(operations)
        method, path, operation = operations[number] if is_first_round else maker.randomness.choice(operations)
        kind = maker.randomness.choice(["all scopes"] * 12 + list(keys))
        url, headers, body, content_type = maker.request(path, operation)
        headers |= {"Authorization": f"Bearer {keys[kind]}"} if keys[kind] else {}
        client = APIClient(raise_request_exception=False)
        response = client.generic(method.upper(), url, body, content_type=content_type, headers=headers)
        statuses[response.status_code] += 1
        sent = f"{method} {url} {body[:300]!r} ({kind})"
        faults += [f"{sent}: {fault}" for fault in faults_of(response, operation, document)]
        if response.status_code < 300 and response.headers.get("Content-Type") == "application/json":
            maker.note(path, response.json())
    print(f"{CASES} requests, seed {SEED}: {dict(sorted(statuses.items()))}")
    assert not faults, f"seed {SEED}: {len(faults)} faults\n" + "\n".join(faults[:20])
