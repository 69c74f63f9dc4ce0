"""Export and import of memories as files over REST."""

import csv
import io
import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from memories.models import Tenant
from tests.integration.rest_helpers import MEMORIES, all_stored_memories, assert_problem, post_memory
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db

EXPORT, IMPORT = "/api/v1/export", "/api/v1/import"
TYPES = {"jsonl": "application/x-ndjson", "csv": "text/csv"}
TEXTS = [
    "plain", "=1+1", "'=1", "'quoted'", "-5 degrees", "@sam, \"x\"", "two\nlines\r\nand more",
    "ünï\u2028çødé", '{"a": 1}',
]  # fmt: skip


def exported(client: APIClient, kind: str = "jsonl", **query: str) -> str:
    response: Any = client.get(EXPORT, {"type": kind, **query})
    assert response.status_code == 200, response.content
    assert response["Content-Type"].startswith(TYPES[kind])
    return b"".join(response.streaming_content).decode()


def imported(client: APIClient, text: str | bytes, kind: str = "jsonl") -> Any:
    body = text.encode() if isinstance(text, str) else text
    return client.generic("POST", IMPORT, body, content_type=TYPES[kind])


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.fixture
def stored(admin: APIClient) -> None:
    for number, text in enumerate(TEXTS):
        fields = {"partition": "user=alex", "metadata": {"n": [number, "="]}, "pinned": number % 2 == 0}
        times = {"created_at": f"2026-05-0{number + 1}T00:00:00.5Z", "expires_at": "2999-01-01T00:00:00Z"}
        post_memory(admin, text, source_id=f"=s{number}", position=number, session="s", kind="note", **fields, **times)
    other = post_memory(admin, "root", confidence=0.25)
    admin.patch(f"{MEMORIES}/{other['id']}", {"content": "root, edited"})
    admin.delete(f"{MEMORIES}/{post_memory(admin, 'archived')['id']}")


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_import_of_an_export_is_the_same_export(
    admin: APIClient, tenant: Tenant, other_tenant: Tenant, stored: None, kind: str
) -> None:
    first = exported(admin, kind)
    target = api_client(new_key(other_tenant, "admin"))
    report = imported(target, first, kind).json()
    assert (report["created"], report["invalid"]) == (len(TEXTS) + 1, 0)
    assert exported(target, kind) == first
    assert {row.content for row in all_stored_memories(other_tenant)} == {*TEXTS, "root, edited"}
    again = imported(target, first, kind).json()
    assert (again["created"], again["existing"]) == (0, len(TEXTS) + 1)
    assert len(all_stored_memories(other_tenant)) == len(TEXTS) + 1


def test_no_cell_of_a_csv_file_is_a_formula(admin: APIClient, stored: None) -> None:
    rows = list(csv.reader(io.StringIO(exported(admin, "csv"), newline="")))
    assert rows[0][0] == "content"
    assert not [cell for row in rows[1:] for cell in row if cell[:1] in "=+-@\t\r" and cell]


def test_report_names_line_code_and_field(admin: APIClient) -> None:
    lines = [
        {"content": "fine", "source_id": "a"}, {"content": " "}, {"content": "x", "colour": 1},
        {"content": "x", "partition": "nonsense"}, {"content": "better", "source_id": "a"},
    ]  # fmt: skip
    text = "\n".join(["", *map(json.dumps, lines), "no json", "[1]", '{"content": NaN}'])
    report = imported(admin, text).json()
    assert [(row["line"], row["status"]) for row in report["lines"]] == [
        *((2, "created"), (3, "invalid"), (4, "invalid"), (5, "invalid"), (6, "updated")),
        *((7, "invalid"), (8, "invalid"), (9, "invalid")),
    ]
    faults = [[(error["field"], error["code"]) for error in row["errors"]] for row in report["lines"] if row["errors"]]
    assert faults == [
        [("content", "blank")], [("colour", "unknown_field")], [("partition", "bad_segment")],
        [("", "malformed_json")], [("", "not_an_object")], [("", "malformed_json")],
    ]  # fmt: skip
    assert report["lines"][5]["errors"][0]["detail"] == "The line is not JSON (at column 1)."
    assert (report["created"], report["updated"], report["existing"], report["invalid"]) == (1, 1, 0, 6)


def test_lines_of_a_csv_file_are_numbered_as_an_editor_does(admin: APIClient) -> None:
    text = 'content,pinned,metadata,position\n"a\nb",true,"{""x"": 1}",3\nc,maybe,,\nd,,[],\ne,,,,\nf,,,x\n'
    report = imported(admin, text, "csv").json()
    found = [(row["line"], row["status"], [error["field"] for error in row["errors"]]) for row in report["lines"]]
    assert found == [
        (2, "created", []),
        (4, "invalid", ["pinned"]),
        (5, "invalid", ["metadata"]),
        (6, "invalid", ["(cells)"]),
        (7, "invalid", ["position"]),
    ]


BAD_FILES = [
    ("", "jsonl", "required"),
    ("\n \n", "jsonl", "blank"),
    (b"\xff", "jsonl", "not_utf8"),
    ("name,content\nx,y\n", "csv", "unknown_field"),
    ("kind\nfact\n", "csv", "required"),
    ("content,content\na,b\n", "csv", "required"),
    ('content\n"a', "csv", "malformed_csv"),
    ("content\n" + "x\n" * 10_001, "csv", "too_many"),
]


def test_file_that_cannot_be_read_is_refused(admin: APIClient) -> None:
    for text, kind, code in BAD_FILES:
        assert_problem(imported(admin, text, kind), 400, code, "file")


def test_other_content_types_and_bodies_are_refused(admin: APIClient) -> None:
    problem = assert_problem(admin.post(IMPORT, {"content": "x"}), 415, "unsupported_media_type")
    assert problem["detail"] == "Send the body as application/x-ndjson or text/csv."
    assert_problem(imported(admin, "x" * (8 * 1024 * 1024 + 1)), 413, "too_large")
    assert_problem(admin.get(EXPORT, {"type": "xml"}), 400, "invalid_choice", "type")


def test_keys_export_and_import_within_their_reach(
    admin: APIClient, tenant: Tenant, other_tenant: Tenant, stored: None
) -> None:
    post_memory(admin, "about Sam", user_id="sam")
    sam = api_client(new_key(tenant, "admin", partition="user=sam"))
    assert [json.loads(line)["content"] for line in exported(sam).splitlines()] == ["about Sam"]
    assert exported(api_client(new_key(other_tenant, "admin"))) == ""
    assert_problem(sam.get(EXPORT, {"partition": "user=alex"}), 403, "partition_forbidden")
    assert_problem(api_client(new_key(tenant, "read", "write")).get(EXPORT), 403, "scope_missing")
    assert_problem(imported(api_client(new_key(tenant, "read")), '{"content": "x"}'), 403, "scope_missing")
    lines = '{"content": "one", "user_id": "alex"}\n{"content": "two"}'
    report = imported(sam, lines).json()
    assert [row["status"] for row in report["lines"]] == ["invalid", "created"]
    assert report["lines"][0]["errors"][0]["code"] == "partition_forbidden"
    assert len(exported(sam).splitlines()) == 2


def test_cells_as_a_spreadsheet_writes_them(admin: APIClient, tenant: Tenant) -> None:
    report = imported(admin, "content;pinned\r\none;TRUE\r\ntwo;FALSE\r\n", "csv").json()
    assert (report["created"], report["invalid"]) == (2, 0)
    assert {row.content: row.pinned for row in all_stored_memories(tenant)} == {"one": True, "two": False}


def test_too_long_cell_is_a_fault_of_its_line(admin: APIClient) -> None:
    report = imported(admin, f"content\n{'z' * 200_000}\nfine\n", "csv").json()
    assert [(row["line"], row["status"]) for row in report["lines"]] == [(2, "invalid"), (3, "created")]
    assert [(error["field"], error["code"]) for error in report["lines"][0]["errors"]] == [("content", "too_long")]


def test_unknown_columns_are_counted(admin: APIClient) -> None:
    for header, count in [("content,kinds", "1 column is"), ("content,a,b", "2 columns are")]:
        problem = assert_problem(imported(admin, f"{header}\nx\n", "csv"), 400, "unknown_field", "file")
        assert problem["errors"][0]["detail"].startswith(f"{count} unknown; ")
