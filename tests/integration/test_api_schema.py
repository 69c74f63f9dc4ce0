"""The OpenAPI document and its page."""

import json
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema
from rest_framework.test import APIClient

from memories.api.schema import PROBLEM


@pytest.fixture
def schema(db: None) -> dict[str, Any]:
    response = APIClient().get("/api/schema/", headers={"Accept": "application/vnd.oai.openapi+json"})
    assert response.status_code == 200
    document: dict[str, Any] = json.loads(response.content)
    return document


def test_schema_is_valid_openapi(schema: dict[str, Any]) -> None:
    validate_schema(schema)


def test_schema_is_made_without_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    SchemaGenerator().get_schema(request=None, public=True)
    assert capsys.readouterr().err == ""


def test_schema_names_every_endpoint_with_security_and_problems(schema: dict[str, Any]) -> None:
    assert set(schema["paths"]) == {
        "/api/v1/memories",
        "/api/v1/memories/bulk",
        "/api/v1/memories/search",
        "/api/v1/memories/{memory_id}",
        "/api/v1/memories/{memory_id}/restore",
        "/api/v1/memories/{memory_id}/history",
        "/api/v1/context",
        "/api/v1/context/{receipt_id}",
        "/api/v1/contexts",
    }
    assert set(schema["components"]["securitySchemes"]) == {"bearerKey", "headerKey"}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert operation["security"] == [{"bearerKey": []}, {"headerKey": []}], where
            assert {"400", "401", "403", "429"} <= set(operation["responses"]), where
            assert PROBLEM in operation["responses"]["401"]["content"], where
            assert "422" not in operation["responses"], where
            assert operation["description"], where


def test_schema_carries_bounds_and_examples(schema: dict[str, Any]) -> None:
    new_memory = schema["components"]["schemas"]["MemoryInputRequest"]
    assert new_memory["required"] == ["content"]
    assert new_memory["properties"]["confidence"] | {"default": 0.8} == {
        "type": "number", "minimum": 0, "maximum": 1, "default": 0.8,
    }  # fmt: skip
    body = schema["paths"]["/api/v1/memories"]["post"]["requestBody"]["content"]
    assert list(body) == ["application/json"]
    assert body["application/json"]["examples"]


def test_docs_page_loads_only_from_here_and_runs_no_inline_script(db: None) -> None:
    page = APIClient().get("/api/docs/")
    assert APIClient().get("/api/docs").status_code == APIClient().get("/api/schema").status_code == 200
    assert page.status_code == 200
    text = page.content.decode()
    assert "<style" not in text
    assert "http" not in text.replace("<!DOCTYPE html>", "")
    assert page["Content-Security-Policy"] == APIClient().get("/sign-in")["Content-Security-Policy"]
    script = APIClient().get("/api/docs/?script=")
    assert script["Content-Type"].startswith("application/javascript")
