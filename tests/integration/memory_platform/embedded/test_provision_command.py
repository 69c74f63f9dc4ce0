"""`manage.py provision` on a new server."""

import os

import psycopg
import pytest
from django.core.management import CommandError, call_command

from tests import servers

NAMES = ("provisioned_app", "provisioned_owner")
MADE_UP = ("memory_owner", "memory_console", "memory_maintenance")
VARIABLES = ("DATABASE_OWNER_URL", "DATABASE_CONSOLE_URL", "DATABASE_MAINTENANCE_URL")


@pytest.fixture
def superuser(monkeypatch):
    """Return a superuser's URL; the environment names no database, and all is removed afterwards."""
    for name in ("DATABASE_URL", *VARIABLES):
        monkeypatch.delenv(name)
    url = os.environ[servers.SUPERUSER_URL]
    with psycopg.connect(url, autocommit=True) as server:
        # roles belong to the server, which all processes of a test run share
        server.execute("SELECT pg_advisory_lock(hashtext('test_provision_command'))")
        yield url
        server.execute("DROP DATABASE IF EXISTS provisioned WITH (FORCE)")
        for name in (*NAMES, *MADE_UP):
            server.execute(f"DROP ROLE IF EXISTS {name}")


@pytest.fixture
def address(superuser) -> str:
    return superuser.partition("?")[2]


def test_it_makes_what_the_urls_name_and_can_run_again(superuser, address, monkeypatch):
    app, owner = (f"postgres://{name}:s%40cret@/provisioned?{address}" for name in NAMES)
    monkeypatch.setenv("DATABASE_URL", app)
    monkeypatch.setenv("DATABASE_OWNER_URL", owner)
    for _ in range(2):
        call_command("provision", superuser_url=superuser)
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("CREATE TABLE rows (id bigint GENERATED ALWAYS AS IDENTITY, v vector(3))")
        connection.execute("GRANT INSERT ON rows TO provisioned_app")  # as `migrate` does
    with psycopg.connect(app, autocommit=True) as connection:
        connection.execute("INSERT INTO rows (v) VALUES ('[1,2,3]')")
        for statement in ("TABLE rows", "TRUNCATE rows", "CREATE TABLE mine ()", "CREATE TEMP TABLE mine ()"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


@pytest.mark.parametrize("url", ["foo", "mysql://root:secret@localhost/x"])
def test_a_url_that_is_no_postgres_is_one_sentence_without_the_password(superuser, url, recwarn):
    with pytest.raises(CommandError, match="--superuser-url must be a URL such as postgres://") as refusal:
        call_command("provision", superuser_url=url)
    assert "secret@localhost" not in str(refusal.value)
    assert not recwarn


def test_a_url_that_is_missing_is_made_up_and_printed_for_the_env_file(superuser, address, monkeypatch, capsys):
    monkeypatch.setenv("DATABASE_URL", f"postgres://provisioned_app:secret@/provisioned?{address}")
    call_command("provision", superuser_url=superuser)
    lines = dict(line.split("=", 1) for line in capsys.readouterr().out.splitlines())
    assert tuple(lines) == VARIABLES
    for role, url in zip(MADE_UP, lines.values(), strict=True):
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT current_user, current_database()").fetchone() == (role, "provisioned")


@pytest.mark.parametrize(
    ("environment", "options", "sentence"),
    [
        ({}, {"superuser_url": ""}, "Give --superuser-url or set DATABASE_SUPERUSER_URL."),
        (
            {"DATABASE_URL": "postgres://a:b@/c", "DATABASE_OWNER_URL": "postgres://a:b@/c"},
            {},
            "must name different roles",
        ),
        ({}, {"superuser_url": "postgres://postgres:wrong@/postgres?host=/nowhere"}, "The database server refused: "),
    ],
)
def test_missing_and_refused_input_is_reported(environment, options, sentence, superuser, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(CommandError, match=sentence):
        call_command("provision", **{"superuser_url": superuser, **options})
