"""The OpenAPI document and its page."""

import json
import re
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from rest_framework.test import APIClient

from memories.tenancy.api.problems import PROBLEM_TYPE
from tests.integration.memory_platform.rest.test_api_routes import ROUTES


@pytest.fixture(scope="module")
def schema(module_db: None) -> dict[str, Any]:
    response = APIClient().get("/api/schema/", headers={"Accept": "application/vnd.oai.openapi+json"})
    assert response.status_code == 200
    document: dict[str, Any] = json.loads(response.content)
    return document


def test_schema_is_valid_openapi(schema: dict[str, Any]) -> None:
    validate_schema(schema)


#: Ends of addresses whose POST creates nothing that a repetition could create twice.
NOTHING_MADE = ("/search", "/restore", "/replay", "/diff", "/explain", "/trial", "/simulate")


@pytest.mark.parametrize("query", ["version=%00", "version=a%0ab&format=json"])
def test_schema_is_returned_for_any_requested_version(db: None, query: str) -> None:
    response = APIClient().get(f"/api/schema/?{query}")
    assert response.status_code == 200
    assert response["Content-Disposition"].isprintable()


def test_schema_is_made_without_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    SchemaGenerator().get_schema(request=None, public=True)
    assert capsys.readouterr().err == ""


def test_schema_names_every_endpoint_with_security_and_problems(schema: dict[str, Any]) -> None:
    shown = {re.sub(r"<\w+:(\w+)>", r"{\1}", f"/{route}") for route in ROUTES}
    assert set(schema["paths"]) == shown
    assert set(schema["components"]["securitySchemes"]) == {"bearerKey", "headerKey"}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert operation["security"] == [{"bearerKey": []}, {"headerKey": []}], where
            assert {"400", "401", "403", "429"} <= set(operation["responses"]), where
            assert PROBLEM_TYPE in operation["responses"]["401"]["content"], where
            assert "422" not in operation["responses"], where
            assert operation["description"].startswith(operation["summary"]), where
            assert 0 < len(operation["summary"]) < 110, where
            body = operation.get("requestBody")
            for content in body["content"].values() if body else ():
                assert content["examples"], where
            if method == "post" and not path.endswith(NOTHING_MADE):
                assert "Idempotency-Key" in {parameter["name"] for parameter in operation["parameters"]}, where
            if "next" in str(operation["responses"].get("200", "")):
                assert "cursor" in {parameter["name"] for parameter in operation["parameters"]}, where


def test_schema_carries_bounds_and_examples(schema: dict[str, Any]) -> None:
    new_memory = schema["components"]["schemas"]["MemoryInputRequest"]
    assert new_memory["required"] == ["content"]
    assert new_memory["properties"]["confidence"] | {"default": 0.8} == {
        "type": "number", "minimum": 0, "maximum": 1, "default": 0.8,
    }  # fmt: skip
    request = schema["components"]["schemas"]["ContextInputRequest"]["properties"]
    assert (request["max_tokens"]["minimum"], request["include_memories_top_k"]["maximum"]) == (1, 200)
    body = schema["paths"]["/api/v1/memories"]["post"]["requestBody"]["content"]
    assert list(body) == ["application/json"]
    assert body["application/json"]["examples"]


def test_every_response_with_a_body_has_an_example_that_its_schema_allows(schema: dict[str, Any]) -> None:
    components = {"components": schema["components"]}
    for operation in (operation for operations in schema["paths"].values() for operation in operations.values()):
        shown = {status: each for status, each in operation["responses"].items() if "content" in each}
        name = operation["operationId"]
        for status in shown:
            for content in shown[status]["content"].values():
                assert "example" in content, f"{name} {status}: record the examples again"
                problem = best_match(
                    Draft202012Validator({**content["schema"], **components}).iter_errors(content["example"])
                )
                assert problem is None, f"{name} {status}: {problem.json_path}: {problem.message}"


def test_every_documented_error_has_an_example_about_its_own_operation(schema: dict[str, Any]) -> None:
    counted = 0
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            headers = {parameter["name"] for parameter in operation.get("parameters", ())}
            for status in (status for status in operation["responses"] if status >= "400"):
                example = operation["responses"][status]["content"][PROBLEM_TYPE]["example"]
                where = f"{operation['operationId']} {status}: {example}"
                assert str(example["status"]) == status, where
                assert "URL" not in example["detail"], where
                assert "Idempotency-Key" in headers or not example["code"].startswith("idempotency"), where
                counted += 1
            assert "503" in operation["responses"], path
    assert counted > 6 * len(schema["paths"])


def test_operations_come_in_the_order_of_the_tags(schema: dict[str, Any]) -> None:
    tags = [tag["name"] for tag in schema["tags"]]
    shown = [next(iter(operations.values()))["tags"][0] for operations in schema["paths"].values()]
    assert list(dict.fromkeys(shown)) == tags
    assert "Quick start" in schema["info"]["description"]


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
