"""Invalid values in the environment are refused with the name of the variable."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from memory_platform.embedded.environment import (
    EmbeddingFiles,
    NamedEnv,
    broker_options,
    cache_config,
    database_config,
    email_config,
    embedding_files,
)
from memory_platform.embedded.supervisor import last_log_line

PROJECT = Path(__file__).resolve().parents[4]


@pytest.fixture
def env(monkeypatch):
    environment = NamedEnv()
    monkeypatch.setattr(
        NamedEnv, "ENVIRON", {"N": "x", "B": "maybe", "EMPTY": "", "YES": " On", "NO": "0", "SEVEN": "7"}
    )
    return environment


def test_values_are_read_and_an_empty_one_is_not_set(env):
    assert env.int("SEVEN", default=1) == 7
    assert env.int("EMPTY", default=1) == env.int("ABSENT", default=1) == 1
    assert env.bool("YES", default=False) is True
    assert env.bool("NO", default=True) is False
    assert env.bool("EMPTY", default=True) is env.bool("ABSENT", default=True) is True
    assert env.list("EMPTY", default=["localhost"]) == ["localhost"]


@pytest.mark.parametrize("read", ["int", "float"])
def test_a_number_that_is_none_is_named(env, read):
    with pytest.raises(ImproperlyConfigured, match=r"^N must be a number$"):
        getattr(env, read)("N", default=1)


def test_a_flag_is_yes_or_no(env):
    with pytest.raises(ImproperlyConfigured, match=r"^B must be 1 or 0, not 'maybe'$"):
        env.bool("B", default=False)


@pytest.mark.parametrize("url", ["foo", "", "mysql://u:secret@h/x", "postgres://h:port/x"])
def test_a_database_that_is_no_postgres_is_refused_and_its_password_not_repeated(url, recwarn):
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL") as refusal:
        database_config(url)
    assert "secret" not in str(refusal.value)
    assert not recwarn


def test_a_redis_that_hangs_is_not_waited_for():
    options = cache_config("redis://localhost:6379/1")["OPTIONS"]
    assert options["socket_timeout"] == options["socket_connect_timeout"] == 1.0
    assert "OPTIONS" not in cache_config("locmemcache://")


def test_broker_and_cache_are_found_through_sentinels():
    named = {"master": "memory", "sentinel_password": "asked"}
    config = cache_config("sentinel://:p%40ss@one:26379/1;sentinel://two:26380/1", named)
    pool = import_string(config["OPTIONS"].pop("pool_class")).from_url(*config["LOCATION"], **config["OPTIONS"])
    assert (pool.service_name, pool.connection_kwargs["db"], pool.connection_kwargs["password"]) == (
        "memory",
        1,
        "p@ss",
    )
    asked = [each.connection_pool.connection_kwargs for each in pool.sentinel_manager.sentinels]
    assert [(each["host"], each["port"], each["password"]) for each in asked] == [
        ("one", 26379, "asked"),
        ("two", 26380, "asked"),
    ]
    options = broker_options("sentinel://one:26379;sentinel://two:26380", Path(), named)
    assert (options["master_name"], options["sentinel_kwargs"]["password"]) == ("memory", "asked")
    assert options["visibility_timeout"] == broker_options("redis://one", Path(), named)["visibility_timeout"] > 600


def test_a_cache_that_is_no_url_is_named():
    with pytest.raises(ImproperlyConfigured, match=r"^CACHE_URL"):
        cache_config("foo")


def test_a_mail_server_is_read_from_its_url_and_absent_without_one():
    config = email_config("smtp+tls://ada:p%40ss@mail.example:587")
    assert (config["EMAIL_HOST"], config["EMAIL_PORT"], config["EMAIL_USE_TLS"]) == ("mail.example", 587, True)
    assert (config["EMAIL_HOST_USER"], config["EMAIL_HOST_PASSWORD"]) == ("ada", "p@ss")
    assert email_config("") == {}


@pytest.mark.parametrize("url", ["mail.example", "http://mail.example", "smtp://ada:secret@mail.example:port"])
def test_a_mail_server_that_is_no_url_is_named_without_its_password(url):
    with pytest.raises(ImproperlyConfigured, match=r"^EMAIL_URL") as refused:
        email_config(url)
    assert "secret" not in str(refused.value)


REFUSED = {"SECRET_KEY": "short", "LOG_LEVEL": "loud", "DEMO": "maybe", "DATABASE_POOL_SIZE": "x"}
LOAD_SETTINGS = f"""
import os
from django.core.exceptions import ImproperlyConfigured
correct = dict(os.environ)
for variable, value in {REFUSED}.items():
    os.environ[variable] = value
    try:
        import memory_platform.settings
    except ImproperlyConfigured as error:
        print(variable, error, sep=": ")
    os.environ.clear()
    os.environ.update(correct)
import memory_platform.settings
"""


def test_settings_refuse_by_name():
    """Each on its own, in one interpreter: without any of them the settings load."""
    loaded = subprocess.run(
        [sys.executable, "-c", LOAD_SETTINGS], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    refusals = loaded.stdout.splitlines()
    assert [line.partition(" must")[0] for line in refusals] == [f"{variable}: {variable}" for variable in REFUSED]


@pytest.mark.parametrize("command", ["check", "migrate", "create_tenant"])
def test_a_command_reports_the_problem_and_its_fix_in_one_sentence(command):
    failed = managed(command, DEMO="maybe")
    assert failed.returncode == 1
    assert failed.stderr == (
        "DEMO must be 1 or 0, not 'maybe'. Correct it in the environment or in .env; .env.example explains each.\n"
    )
    assert failed.stdout == ""


def test_a_command_shows_where_settings_failed_on_request():
    assert managed("check", "--traceback", DEMO="maybe").stderr.startswith("Traceback")


def managed(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        env={**os.environ, **environment},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_web_process_refuses_a_public_secret_key(tmp_path):
    failed = subprocess.run(
        [sys.executable, "-c", "import memory_platform.wsgi"],
        env={**os.environ, "SECRET_KEY": "", "DATA_DIR": str(tmp_path)},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert failed.returncode != 0
    assert "SECRET_KEY must be set" in failed.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        (
            "Traceback:\n  File x\ndjango.core.exceptions.ImproperlyConfigured: DEMO must be 1 or 0\n",
            "DEMO must be 1 or 0.",
        ),
        ("psycopg.OperationalError: refused\n\tIs the server running?\n\n", "refused."),
        ("", "no output."),
    ],
)
def test_the_reason_of_a_failed_start_is_the_last_line(tmp_path, log, sentence):
    (tmp_path / "log").write_text(log)
    assert last_log_line(tmp_path / "log") == sentence


def test_models_from_files_are_read() -> None:
    assert embedding_files("") == ()
    text = '[{"model": "minilm", "dimension": 384, "folder": "/srv/minilm"}]'
    assert embedding_files(text) == (EmbeddingFiles("minilm", 384, "/srv/minilm", "mean"),)


@pytest.mark.parametrize(
    "change",
    ['"dimension": 0', '"folder": ""', '"model": " "', '"pooling": "max"', '"api_key": "x"', '"dimension": "3"'],
)
def test_models_from_files_need_a_name_a_dimension_a_folder_and_a_known_pooling(change: str) -> None:
    text = f'[{{"model": "minilm", "dimension": 384, "folder": "/srv/minilm", {change}}}]'
    with pytest.raises(ImproperlyConfigured, match="EMBEDDING_FILES must be a JSON list"):
        embedding_files(text)
