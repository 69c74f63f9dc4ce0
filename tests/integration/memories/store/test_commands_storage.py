"""The commands that create tenants, keys and operators and import memories, as used in a terminal."""

import io
import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command, get_commands, load_command_class
from django.db import OperationalError, connection

from memories.models import ApiKey, AuditEntry, Memory, Tenant
from memories.tenancy.scopes import admin_write_scope, authentication_scope, tenant_scope
from memory_platform.web.roles import Role, role_of
from tests.factories import make_memory

pytestmark = pytest.mark.django_db

LOCOMO = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "locomo"
APPS = {"memories", "context", "compaction", "memory_platform"}
#: Commands of Django that the project extends.
DJANGO_COMMANDS = {"migrate", "flush"}

CONVERSATION: dict[str, Any] = {
    "speaker_a": "Ann",
    "speaker_b": "Ben",
    "session_2_date_time": "12:05 am on 1 January, 2024",
    "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "Happy new year!"}],
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "Good morning!"},
        {"speaker": "Ben", "dia_id": "D1:2", "text": "I adopted a cat.", "img_url": ["x"], "blip_caption": "a cat"},
        {"speaker": "Ann", "dia_id": "D1:3", "text": "Good morning!"},
    ],
    "session_3_date_time": "1:00 pm on 2 January, 2024",
    "session_1_observation": {"Ben": [["Ben has a cat.", "D1:2"]]},
    "session_1_summary": "They greeted each other.",
    "events_session_1": {"Ben": ["adopts a cat"]},
    "qa": [{"question": "What did Ben adopt?", "answer": "a cat", "evidence": ["D1:2"], "category": 1}],
}


def run(command: str, *arguments: object) -> tuple[str, str]:
    """Return what a command prints on standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    call_command(command, *map(str, arguments), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def memories_of(tenant: Tenant) -> list[Memory]:
    with tenant_scope(tenant.pk):
        return list(Memory.objects.for_tenant(tenant.pk).order_by("partition_path", "created_at", "position"))


def test_help_ends_in_an_example() -> None:
    commands = get_commands()
    for name in [name for name in commands if commands[name] in APPS and name not in DJANGO_COMMANDS]:
        text = load_command_class(commands[name], name).create_parser("manage.py", name).format_help()
        assert re.search(rf"^Example: .*manage\.py {name}\b", text, flags=re.MULTILINE), name


# --- Tenants, keys, operators --------------------------------------------------------------------------------------


def test_create_tenant_once() -> None:
    out, _ = run("create_tenant", "acme & sons")
    with admin_write_scope():
        tenant = Tenant.objects.named("acme & sons").get()
        assert str(tenant.pk) in out
        assert AuditEntry.objects.for_tenant(tenant.pk).get().actor_label == "manage.py create_tenant"
    for name in ("acme & sons", "Acme & Sons"):
        with pytest.raises(CommandError, match="already exists"):
            run("create_tenant", name)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 101])
def test_tenant_name_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(CommandError, match="1 to 100 printable characters"):
        run("create_tenant", name)


def test_create_key_prints_the_key_alone(tenant: Tenant) -> None:
    out, err = run("create_key", tenant.name, "--scopes", "read,write", "--partition", "user=alex")
    assert re.fullmatch(r"\w{8}\.\w{32}\n", out)
    assert out.strip() not in err
    with authentication_scope():
        key: Any = ApiKey.objects.get_from_key(out.strip())
    assert (key.tenant_id, key.scopes, key.partition_prefix) == (tenant.pk, ["read", "write"], "user=alex")
    assert out.strip() not in str(vars(key))
    assert key.refuses_recalled_text
    assert key.name == "agent of user=alex"


def test_name_of_a_key_describes_its_reach_unless_one_is_given(tenant: Tenant) -> None:
    long = f"user={'x' * 90}"
    run("create_key", tenant.name, "--scopes", "read")
    run("create_key", tenant.name, "--scopes", "read", "--partition", long)
    run("create_key", tenant.name, "--scopes", "read", "--name", "release bot")
    with tenant_scope(tenant.pk):
        names = set(ApiKey.objects.for_tenant(tenant.pk).values_list("name", flat=True))
    assert names == {f"agent of {tenant.name}", f"agent of {long}"[:50], "release bot"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nobody", "--scopes", "read"], "There is no tenant named 'nobody'"),
        (["Acme", "--scopes", "root"], "Scopes must be one or more of read, write, admin"),
        (["Acme", "--scopes", ","], "Scopes must be one or more of read, write, admin"),
        (["Acme", "--scopes", "read", "--partition", "nonsense"], "--partition: The segment"),
        (["Acme", "--scopes", "read", "--name", "x" * 51], "A key's name must have 1 to 50 characters"),
    ],
)
def test_key_that_cannot_be_is_refused(tenant: Tenant, arguments: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=re.escape(sentence)):
        run("create_key", *arguments)
    with tenant_scope(tenant.pk):
        assert not ApiKey.objects.for_tenant(tenant.pk).exists()


def test_create_operator_with_a_made_up_password(tenant: Tenant, other_tenant: Tenant) -> None:
    arguments = ["maren", "--role", "viewer", "--tenant", tenant.name, "--tenant", other_tenant.name]
    out, err = run("create_operator", *arguments, "--generate-password")
    user = User.objects.get(username="maren")
    assert user.check_password(out.strip())
    assert out.strip() not in err
    assert (role_of(user), user.is_superuser) == (Role.VIEWER, False)
    with admin_write_scope():
        assert set(Tenant.objects.of_member(user.pk)) == {tenant, other_tenant}


def test_create_operator_with_a_password_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("a very long password\n")
    run("create_operator", "ada", "--role", "admin", "--password-file", tmp_path / "password")
    user = User.objects.get(username="ada")
    assert user.check_password("a very long password")
    assert role_of(user) is Role.ADMIN
    assert user.has_perm("memories.change_memory")
    with pytest.raises(CommandError, match="already exists"):
        run("create_operator", "ada", "--generate-password")


@pytest.mark.parametrize(
    ("username", "password", "sentence"),
    [
        ("eve", "short", "too short"),
        ("eve", "password1234", "too common"),
        ("not a name", "a very long password", "valid username"),
        ("", "a very long password", "valid username"),
        ("eve", "", "is empty"),
    ],
)
def test_operator_that_cannot_be_is_refused(tmp_path: Path, username: str, password: str, sentence: str) -> None:
    (tmp_path / "password").write_text(password)
    with pytest.raises(CommandError, match=sentence):
        run("create_operator", username, "--password-file", tmp_path / "password")
    assert not User.objects.exists()


def test_password_is_prompted_for_only_at_a_terminal(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--generate-password"):
        run("create_operator", "eve")
    with pytest.raises(CommandError, match="cannot be read"):
        run("create_operator", "eve", "--password-file", tmp_path / "absent")


def test_database_that_is_away_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OperationalError("connection refused\nmore lines")

    monkeypatch.setattr("memories.management.command.admin_write_scope", refuse)
    with pytest.raises(CommandError, match=r"^The database cannot be reached.*\(connection refused\)$"):
        run("create_key", "acme", "--scopes", "read")


# --- import_memories -----------------------------------------------------------------------------------------------


def jsonl(folder: Path, *rows: object) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_import_memories_stores_embeds_and_can_be_repeated(tenant: Tenant, tmp_path: Path) -> None:
    target = make_memory(tenant, "target")
    path = jsonl(
        tmp_path,
        {"content": "Alex prefers tea.", "kind": "preference", "user_id": "alex", "metadata": {"a": 1}},
        "",
        {
            "content": "Ünïcode 日本",
            "partition": "topic=x",
            "created_at": "2020-02-29T12:00:00+02:00",
            "links": [{"target_id": str(target.pk)}],
        },
    )
    out, _ = run("import_memories", path, "--tenant", tenant.name)
    assert out.strip() == "2 created, 0 existing, 2 embedded"
    _, old, alex = memories_of(tenant)
    assert (alex.partition_path, alex.kind, alex.embedding_state) == ("user=alex", "preference", "ready")
    assert (old.created_at, old.valid_from) == (datetime(2020, 2, 29, 10, tzinfo=UTC),) * 2
    out, _ = run("import_memories", path, "--tenant", tenant.name)
    assert out.strip() == "0 created, 2 existing, 0 embedded"


def test_import_memories_keeps_good_lines_names_bad_ones_and_fails(tenant: Tenant, tmp_path: Path) -> None:
    path = jsonl(
        tmp_path,
        {"content": "good"},
        "{broken",
        {"content": " ", "confidence": 2},
        {"content": "x", "colour": "red"},
        {"content": "x", "links": [{"target_id": "00000000-0000-0000-0000-000000000000"}]},
        "[]",
        {"content": "also good"},
    )
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(CommandError, match="5 of 7 lines failed"):
        call_command("import_memories", str(path), "--tenant", tenant.name, stdout=out, stderr=err)
    assert {line.split(":")[0] for line in err.getvalue().splitlines()} == {f"line {n}" for n in range(2, 7)}
    assert "colour: There is no such field." in err.getvalue()
    assert {memory.content for memory in memories_of(tenant)} == {"good", "also good"}


def test_import_memories_compares_the_versions_that_a_line_names(tenant: Tenant, tmp_path: Path) -> None:
    stored = make_memory(tenant, "Alex lives in Lisbon.", source_id="home")
    replacing = {"content": "Alex lives in Porto.", "supersedes": [str(stored.pk)], "superseded_versions": [2]}
    lines = [{"content": "Alex lives in Faro.", "source_id": "home", "if_version": 2}, replacing]
    file = tmp_path / "memories.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(CommandError, match="2 of 2 lines failed"):
        run("import_memories", file, "--tenant", tenant.name)
    assert [memory.content for memory in memories_of(tenant)] == ["Alex lives in Lisbon."]
    file.write_text(json.dumps({**lines[0], "if_version": 1}))
    out, _ = run("import_memories", file, "--tenant", tenant.name)
    assert "1 updated" in out


def test_import_memories_of_an_absent_file_is_one_sentence(tenant: Tenant, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"absent\.jsonl cannot be read: No such file or directory\.$"):
        run("import_memories", tmp_path / "absent.jsonl", "--tenant", tenant.name)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CommandError, match="cannot be read"):
        run("import_memories", tmp_path / "binary", "--tenant", tenant.name)


# --- import_locomo -------------------------------------------------------------------------------------------------


def test_import_locomo_makes_each_turn_a_memory(tenant: Tenant, tmp_path: Path) -> None:
    path = tmp_path / "c7.json"
    path.write_text(json.dumps(CONVERSATION))
    out, _ = run("import_locomo", path, "--tenant", tenant.name)
    assert out.strip() == "1 conversation: 4 created, 0 existing, 4 embedded"
    memories = memories_of(tenant)
    assert [memory.content for memory in memories] == [
        "Ann: Good morning!",
        "Ben: I adopted a cat.",
        "Ann: Good morning!",
        "Ben: Happy new year!",
    ]
    assert {memory.partition_path for memory in memories} == {"conversation=c7"}
    assert [memory.source_id for memory in memories] == ["D1:1", "D1:2", "D1:3", "D2:1"]
    assert [(memory.session, memory.position) for memory in memories] == [
        ("session_1", 1),
        ("session_1", 2),
        ("session_1", 3),
        ("session_2", 1),
    ]
    assert memories[1].created_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert memories[3].created_at == datetime(2024, 1, 1, 0, 5, tzinfo=UTC)
    assert memories[3].metadata == {"dia_id": "D2:1", "session": 2, "speaker": "Ben"}
    assert {memory.embedding_state for memory in memories} == {"ready"}


def test_import_locomo_again_finds_everything_existing(tenant: Tenant, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(CONVERSATION))
    (tmp_path / "b.json").write_text(json.dumps({"conversation": CONVERSATION}))
    (tmp_path / "notes.txt").write_text("not read")
    out, _ = run("import_locomo", tmp_path, "--tenant", tenant.name)
    assert out.strip() == "2 conversations: 8 created, 0 existing, 8 embedded"
    out, _ = run("import_locomo", tmp_path, "--tenant", tenant.name)
    assert out.strip() == "2 conversations: 0 created, 8 existing, 0 embedded"


def test_import_embeds_what_an_earlier_run_left_pending(tenant: Tenant, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(CONVERSATION))
    run("import_locomo", tmp_path, "--tenant", tenant.name)
    with tenant_scope(tenant.pk), connection.cursor() as cursor:
        cursor.execute("DELETE FROM memories_memoryembedding")
        cursor.execute("UPDATE memories_memory SET embedding_state = 'pending'")
    out, _ = run("import_locomo", tmp_path, "--tenant", tenant.name)
    assert out.strip() == "1 conversation: 0 created, 4 existing, 4 embedded"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is not JSON"),
        ("[]", "a conversation is a JSON object"),
        ('{"qa": []}', "there is no session_1"),
        ('{"session_1": {}}', "session_1 is not a list"),
        ('{"session_1": [{"speaker": "A", "dia_id": "D", "text": "x"}]}', "'None' is not a time"),
        (
            '{"session_1_date_time": "25:00 pm on 8 May, 2023", "session_1": [{"speaker": "A"}]}',
            "is not a time such as",
        ),
        (
            '{"session_1_date_time": "1:00 pm on 8 May, 2023", "session_1": [{"speaker": "A", "dia_id": "D"}]}',
            "turn 1 of session_1 lacks",
        ),
    ],
)
def test_file_that_is_no_conversation_changes_nothing(
    tenant: Tenant, tmp_path: Path, content: str, sentence: str
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(CONVERSATION))
    (tmp_path / "b.json").write_text(content)
    with pytest.raises(CommandError, match=sentence):
        run("import_locomo", tmp_path, "--tenant", tenant.name)
    assert memories_of(tenant) == []


def test_folder_without_conversations_is_one_sentence(tenant: Tenant, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no \.json file"):
        run("import_locomo", tmp_path, "--tenant", tenant.name)
    with pytest.raises(CommandError, match="cannot be read"):
        run("import_locomo", tmp_path / "absent.json", "--tenant", tenant.name)


@pytest.mark.skipif(not LOCOMO.is_dir(), reason="the LoCoMo conversations are not here: ../shared/data/locomo")
def test_real_locomo_conversation_is_imported_whole(tenant: Tenant) -> None:
    out, _ = run("import_locomo", LOCOMO / "26.json", "--tenant", tenant.name)
    assert out.strip() == "1 conversation: 419 created, 0 existing, 419 embedded"
    data = json.loads((LOCOMO / "26.json").read_text())
    stored = {memory.source_id: memory for memory in memories_of(tenant)}
    turns = [turn for number in range(1, 20) for turn in data[f"session_{number}"]]
    assert len(stored) == len(turns)
    for turn in turns:
        assert stored[turn["dia_id"]].content == f"{turn['speaker']}: {turn['text'].strip()}"


#: A command that writes more than a pipe buffers, so that it is still writing when its reader has ended.
LONG_OUTPUT = """
import django
django.setup()
from memories.management.command import PlatformCommand

class Command(PlatformCommand):
    requires_system_checks = []

    def handle(self, **options):
        for _ in range(10_000):
            self.stdout.write("x" * 100)

Command().run_from_argv(["manage.py", "long_output"])
"""


def test_command_ends_silently_when_the_reader_of_its_output_has_ended() -> None:
    command = [sys.executable, "-c", LONG_OUTPUT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "x" * 100 + "\n"
        process.stdout.close()
        assert process.stderr
        assert process.stderr.read() == ""
        assert process.wait() == 1
