"""Response headers, log contents, and responses to clients without a key."""

import logging
import os
import subprocess
import sys
from io import BytesIO
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from rest_framework.test import APIClient

from memories.models import Tenant
from memory_platform.web.middleware import BODY_BYTES_MAX
from memory_platform.web.request_logs import RouteFilter
from tests.architecture import ROOT
from tests.integration.rest_helpers import MEMORIES
from tests.users import new_key

LONG_KEY = "k" * 20 + "".join(map(chr, range(48, 90)))


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # tests/e2e sets the omitted one for its own threads; a deployment does not set it.
    inherited = {name: value for name, value in os.environ.items() if name != "DJANGO_ALLOW_ASYNC_UNSAFE"}
    env = {**inherited, **environment}
    return subprocess.run(
        [sys.executable, *arguments], env=env, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )


def test_deployment_check_reports_that_https_is_off() -> None:
    done = run("manage.py", "check", "--deploy", HTTPS_ONLY="0", SECRET_KEY=LONG_KEY, DEBUG="0")
    assert "security.W008" in done.stderr


def test_https_only_passes_the_deployment_check_redirects_and_insists_on_it() -> None:
    code = (
        "import django; django.setup()\n"
        "from django.core.management import call_command\n"
        "from django.test import Client\n"
        "call_command('check', '--deploy', '--fail-level', 'WARNING')\n"
        "plain = Client(headers={'host': 'localhost'})\n"
        "assert plain.get('/sign-in')['Location'] == 'https://localhost/sign-in'\n"
        "assert plain.get('/healthz').status_code == 200\n"
        "proxied = Client(headers={'host': 'localhost', 'X-Forwarded-Proto': 'https'})\n"
        "response = proxied.get('/healthz')\n"
        "assert response['Strict-Transport-Security'] == 'max-age=31536000; includeSubDomains', response.headers\n"
    )
    settings = {"DJANGO_SETTINGS_MODULE": "memory_platform.settings", "SECRET_KEY": LONG_KEY, "DEBUG": "0"}
    done = run("-c", code, HTTPS_ONLY="1", **settings)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("process", ["worker", "beat"])
def test_worker_and_beat_refuse_a_public_secret_key(process: str, tmp_path: Any) -> None:
    (tmp_path / "run").mkdir()
    arguments = ("-m", "celery", "-A", "memory_platform", process)
    done = run(*arguments, SECRET_KEY="", DATA_DIR=str(tmp_path), CELERY_BROKER_URL="memory://")
    assert done.returncode == 1
    assert "SECRET_KEY must be set" in done.stderr


def test_api_responses_are_not_stored_by_shared_caches(api: APIClient) -> None:
    created = api.post(MEMORIES, {"content": "tea"})
    read = api.get(f"{MEMORIES}/{created.json()['id']}")
    assert read["Cache-Control"] == "private, no-cache"
    for response in (api.get(MEMORIES), api.get("/api/v1/nothing"), APIClient().get(MEMORIES)):
        assert response["Cache-Control"] == "no-store"
        assert {"Authorization", "X-API-Key"} <= {name.strip() for name in response["Vary"].split(",")}


@pytest.mark.django_db
def test_pages_and_answers_have_policies(client: Client) -> None:
    for address in ("/sign-in", "/healthz", "/api/schema/"):
        response = client.get(address)
        assert "camera=()" in response["Permissions-Policy"]
        assert "default-src 'none'" in response["Content-Security-Policy"]


def test_only_a_key_sees_versions(tenant: Tenant) -> None:
    key = new_key(tenant, "read")
    anonymous, wrong, bearer, own = (
        Client(headers=headers).get("/readyz").json()
        for headers in (
            {},
            {"X-API-Key": "no.key"},
            {"Authorization": f"Bearer {key}"},
            {"X-API-Key": key},
        )
    )
    assert {part["detail"] for part in (*anonymous["parts"].values(), *wrong["parts"].values())} == {""}
    assert bearer["parts"]["database"]["detail"] == own["parts"]["database"]["detail"]
    assert own["parts"]["database"]["detail"].startswith("PostgreSQL ")


def test_log_names_the_route_of_a_request_and_no_partition(api: APIClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(RouteFilter())
    with caplog.at_level(logging.WARNING):
        api.get("/api/v1/partitions/user%3Dalex/summaries?nothing=1")
        api.get("/api/v1/no/user%3Dalex")
    assert "alex" not in caplog.text
    assert "GET /api/v1/partitions/<place:place>/summaries" in caplog.text


@pytest.mark.parametrize("value", [1, -3, True, None, 1.5, "text", ["a", 2], {"a": [1.5, False]}])
def test_cache_keeps_json_values(value: Any) -> None:
    cache.set("hardening", value, 10)
    assert cache.get("hardening") == value
    cache.delete("hardening")


def test_cache_runs_no_code_of_what_it_reads() -> None:
    if "redis" not in type(cache._connections["default"]).__module__:
        pytest.skip("needs a Redis")
    with pytest.raises(TypeError):
        cache.set("hardening", object(), 10)


@pytest.mark.django_db
def test_body_that_is_larger_than_any_form_is_refused_and_discarded(client: Client) -> None:
    body = BytesIO(b"read by no view")
    sent = {"wsgi.input": body, "CONTENT_LENGTH": str(BODY_BYTES_MAX + 1)}
    response = client.post("/sign-in", **sent)
    assert (response.status_code, body.read()) == (413, b"")
