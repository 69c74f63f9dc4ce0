"""Golden questions and evaluations over REST, and a script that publishes a profile in an empty tenant."""

import json
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from context.evaluation.runs import run_evaluation
from context.models import EvaluationRun, GoldenQuestion
from context.services.evaluation.evidence import MEASURES
from memories.embeddings.indexer import index_memories
from memories.models import AuditEntry, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.evaluation_helpers import FACTS, QUESTIONS, answers_of, counted_rows, memory_rows
from tests.integration.rest_helpers import BULK, MEMORIES, NOWHERE, assert_problem, every_page, post_memory, query_count
from tests.integration.scoring_helpers import ARGUMENT, finished_evaluation
from tests.users import api_client, new_key

GOLDEN = "/api/v1/golden-questions"
EVALUATIONS = "/api/v1/evaluations"
PROFILES = "/api/v1/profiles"


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.fixture
def memory(admin: APIClient) -> dict[str, Any]:
    return post_memory(admin, "ERR_4012 means that the plug is wet.", partition="agent=service")


def question_of(memory: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"text": "What does ERR_4012 mean?", "memory_ids": [memory["id"]], **fields}


def created(client: APIClient, url: str, body: dict[str, Any], status: int = 201) -> dict[str, Any]:
    response = client.post(url, body)
    assert response.status_code == status, response.content
    answer: dict[str, Any] = response.json()
    return answer


DEVICES = (
    "lathe kiln crane oven pump press drill mixer loom robot lift boiler printer freezer furnace sander mill tractor"
    " compressor projector turbine router telescope washer dryer radio elevator scanner heater grinder welder cutter"
)
SMALL_TALK = (
    "Kim asked today how the spare fuse of the {} is rated.",
    "Nobody could say which fuse the {} takes.",
    "A spare fuse for the {} was ordered.",
    "Somebody painted the {} green.",
)


def work(tenant: Tenant) -> None:
    """Run every queued evaluation, as the worker does."""
    with tenant_scope(tenant.pk):
        queued = list(EvaluationRun.objects.for_tenant(tenant.pk).in_state("queued"))
    for run in queued:
        run_evaluation(tenant.pk, run.pk, now=timezone.now())


def test_publishing_is_scripted_from_an_empty_tenant_to_an_assigned_profile(admin: APIClient, tenant: Tenant) -> None:
    """With adr-0040, new small talk ranks above old answers; by relevance alone, the answers rank first."""
    devices = DEVICES.split()
    wanted = [
        {
            "content": f"The spare fuse of the {device} is rated {number + 3} ampere.",
            "created_at": "2024-01-05T09:00:00Z",
            "confidence": 0.1,
        }
        for number, device in enumerate(devices)
    ]
    noise = [{"content": text.format(device), "confidence": 1.0} for device in devices for text in SMALL_TALK]
    stored = created(admin, BULK, {"memories": wanted + noise}, 200)["results"]
    ids = [row["id"] for row in stored]
    index_memories(tenant.pk, ids)
    questions = [
        {"text": f"How is the spare fuse of the {device} rated?", "memory_ids": [memory_id]}
        for device, memory_id in zip(devices, ids, strict=False)
    ]
    imported = created(admin, f"{GOLDEN}/bulk", {"questions": questions}, 200)["results"]
    assert [row["status"] for row in imported] == ["created"] * 32
    created(admin, PROFILES, {"name": "own", "weights": {"relevance": 1.0}})
    refused = admin.post(f"{PROFILES}/own/publish", {"argument": ARGUMENT})
    assert_problem(refused, 409, "not_evaluated", "version")
    started = created(admin, EVALUATIONS, {"corpus": "golden", "profile": "own@1", "budgets": [80, 120]}, 202)
    assert (started["state"], started["profile"]) == ("queued", {"name": "own", "version": 1})
    work(tenant)
    runs = [admin.get(f"{EVALUATIONS}/{run_id}").json() for run_id in (started["id"], started["baseline_id"])]
    assert [(run["state"], run["done"], run["total"]) for run in runs] == [("done", 32, 32)] * 2
    assert runs[1]["profile"] == {"name": "adr-0040", "version": 1}
    compared = admin.get(f"{EVALUATIONS}/{started['id']}/compare", {"other": started["baseline_id"]}).json()
    differences = [row["measures"]["recall"] for row in compared["results"]]
    assert min(each["low"] for each in differences) > 0.3
    published = created(admin, f"{PROFILES}/own/publish", {"argument": ARGUMENT}, 200)
    assert (published["is_active"], published["argument"]) == (True, {**ARGUMENT, "reason": ""})
    assert [row["difference"] for row in published["comparison"]["rows"]] == differences
    assert (published["comparison"]["verdict"], published["comparison"]["questions"]) == ("better", 32)
    assigned = admin.put(f"{PROFILES}/assignments", {"profile": "own", "partition": ""})
    assert assigned.status_code == 200, assigned.content
    answer = created(admin, "/api/v1/context", {"query": questions[0]["text"], "max_tokens": 80}, 200)
    assert answer["profile"] == {"name": "own", "version": 1}


def test_same_question_gets_evidence_only_as_the_client_read_it(admin: APIClient, memory: dict[str, Any]) -> None:
    other = post_memory(admin, "Dry the plug of the sensor.")
    body = question_of(other)
    for etag in ("*", '"0.5ca1e"'):
        assert_problem(admin.post(GOLDEN, body, headers={"If-Match": etag}), 412, "stale_version", "If-Match")
    assert admin.get(GOLDEN).json()["results"] == []
    etag = admin.post(GOLDEN, question_of(memory))["ETag"]
    current = admin.post(GOLDEN, body, headers={"If-Match": etag})["ETag"]
    for late in (body, question_of(memory)):
        assert_problem(admin.post(GOLDEN, late, headers={"If-Match": etag}), 412, "stale_version", "If-Match")
    rows = [{**body, "if_match": each} for each in (etag, current, "*")] + [{**body, "text": "New?", "if_match": "*"}]
    results = admin.post(f"{GOLDEN}/bulk", {"questions": rows}).json()["results"]
    assert [row["status"] for row in results] == ["invalid", "existing", "existing", "invalid"]
    assert {(row["errors"][0]["field"], row["errors"][0]["code"]) for row in results if row["errors"]} == {
        ("if_match", "stale_version")
    }
    assert len(admin.get(GOLDEN).json()["results"]) == 1


def test_golden_question_is_added_once_changed_removed_and_restored(
    admin: APIClient, tenant: Tenant, memory: dict[str, Any]
) -> None:
    other = post_memory(admin, "Dry the plug of the sensor.", partition="agent=service")
    question = created(admin, GOLDEN, question_of(memory, partition="agent=service", category="errors"))
    url = f"{GOLDEN}/{question['id']}"
    assert (question["partition"], question["memory_ids"]) == ("agent=service", [memory["id"]])
    again = created(admin, GOLDEN, question_of(other, partition="agent=service"), 200)
    assert (again["id"], set(again["memory_ids"])) == (question["id"], {memory["id"], other["id"]})
    changed = admin.patch(url, {"answer": "A wet plug.", "as_of": "2026-01-02T03:04:05Z"}).json()
    assert (changed["answer"], changed["as_of"], changed["category"]) == (
        "A wet plug.", "2026-01-02T03:04:05Z", "errors"
    )  # fmt: skip
    assert admin.patch(url, {}).json() == changed == admin.get(url).json()
    assert admin.delete(f"{url}/memories/{memory['id']}").json()["memory_ids"] == [other["id"]]
    assert_problem(admin.delete(f"{url}/memories/{other['id']}"), 409, "last_memory")
    assert set(admin.put(f"{url}/memories/{memory['id']}").json()["memory_ids"]) == {memory["id"], other["id"]}
    assert_problem(admin.put(f"{url}/memories/{NOWHERE}"), 400, "unknown_memory", "memory_ids")
    assert [admin.delete(url).status_code for _ in range(2)] == [204, 204]
    assert admin.get(GOLDEN).json()["results"] == []
    assert [row["id"] for row in admin.get(GOLDEN, {"removed": "true"}).json()["results"]] == [question["id"]]
    assert_problem(admin.patch(url, {"answer": "x"}), 409, "removed")
    assert created(admin, f"{url}/restore", {}, 200)["removed_at"] is None
    with tenant_scope(tenant.pk):
        verbs = set(AuditEntry.objects.for_tenant(tenant.pk).about(question["id"]).values_list("verb", flat=True))
    assert verbs == {f"{verb}_golden_question" for verb in ("collect", "change", "remove", "restore")}


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("text", "", "too_short"),
        ("text", "   ", "blank"),
        ("text", "x" * 32_769, "too_long"),
        ("text", 7, "not_text"),
        ("text", "\x00", "null_character"),
        ("answer", "x" * 2001, "too_long"),
        ("category", "x" * 65, "too_long"),
        ("as_of", "2999-01-01T00:00:00Z", "in_the_future"),
        ("as_of", "yesterday", "not_a_time"),
        ("partition", "nonsense", "bad_segment"),
        ("partition", "agent=elsewhere", "unknown_memory"),
        ("memory_ids", [], "min_length"),
        ("memory_ids", [str(NOWHERE)], "unknown_memory"),
        ("memory_ids.0", ["x"], "not_a_uuid"),
        ("colour", "red", "unknown_field"),
    ],
)
def test_bad_golden_question_is_refused_by_field_and_nothing_is_written(
    admin: APIClient, tenant: Tenant, memory: dict[str, Any], field: str, value: Any, code: str
) -> None:
    body = question_of(memory, **{field.partition(".")[0]: value})
    named = "memory_ids" if code == "unknown_memory" else field
    problem = admin.post(GOLDEN, body).json()
    assert (named.partition(".")[0], code) in [
        (each["field"].partition(".")[0], each["code"]) for each in problem["errors"]
    ]
    assert problem["status"] == 400
    result = created(admin, f"{GOLDEN}/bulk", {"questions": [body, question_of(memory, text="Valid?")]}, 200)["results"]
    assert [row["status"] for row in result] == ["invalid", "created"]
    assert code in [each["code"] for each in result[0]["errors"]]
    with tenant_scope(tenant.pk):
        assert [row.text for row in GoldenQuestion.objects.for_tenant(tenant.pk)] == ["Valid?"]


def test_import_is_bounded_and_repeated_once(admin: APIClient, memory: dict[str, Any]) -> None:
    url = f"{GOLDEN}/bulk"
    assert_problem(admin.post(url, {"questions": []}), 400, "min_length", "questions")
    assert_problem(admin.post(url, {"questions": [{}] * 201}), 400, "max_length", "questions")
    rows = {"questions": [question_of(memory), question_of(memory), "x", None]}
    first, again = (admin.post(url, rows, headers={"Idempotency-Key": "one"}) for _ in range(2))
    assert first.status_code == 200, first.content
    assert [row["status"] for row in first.json()["results"]] == ["created", "existing", "invalid", "invalid"]
    assert (again.json(), again["Idempotent-Replayed"]) == (first.json(), "true")


def test_lists_are_paged_and_their_queries_do_not_grow(
    admin: APIClient, tenant: Tenant, memory: dict[str, Any]
) -> None:
    created(admin, GOLDEN, question_of(memory))
    run = finished_evaluation(tenant, {})
    urls = (GOLDEN, EVALUATIONS)
    few = [query_count(admin, url) for url in urls]
    for number in range(4):
        created(admin, GOLDEN, question_of(memory, text=f"Question {number}"))
        finished_evaluation(tenant, {})
    assert [query_count(admin, url) for url in urls] == few
    for url in urls:
        rows = [row["id"] for page in every_page(admin, f"{url}?page_size=2") for row in page]
        assert len(set(rows)) == len(rows) == 5
    answers = [row for page in every_page(admin, f"{EVALUATIONS}/{run.pk}/answers?page_size=15") for row in page]
    assert [row["position"] for row in answers] == list(range(40))


def test_evaluation_is_started_watched_read_and_deleted(
    admin: APIClient, tenant: Tenant, memory: dict[str, Any]
) -> None:
    created(admin, GOLDEN, question_of(memory, answer="wet plug", category="errors"))
    before = counted_rows()
    body = {"corpus": "golden", "profile": "conversation-recall", "budgets": [1000, 60], "packer": "greedy"}
    headers = {"Idempotency-Key": "one"}
    first, again = (admin.post(EVALUATIONS, body, headers=headers) for _ in range(2))
    started = first.json()
    assert (first.status_code, again.json(), started["baseline_id"]) == (202, started, None)
    assert (started["budgets"], started["results"], started["error"]) == ([60, 1000], [], None)
    url = f"{EVALUATIONS}/{started['id']}"
    assert_problem(admin.get(f"{url}/compare", {"other": started["id"]}), 409, "not_finished")
    assert admin.post(f"{url}/cancel").json()["state"] == "cancelled"
    assert_problem(admin.post(f"{url}/cancel"), 409, "is_over")
    assert admin.post(f"{url}/retry").json()["state"] == "queued"
    work(tenant)
    assert counted_rows() == before
    run = admin.get(url).json()
    assert (run["state"], run["done"], run["total"], run["corpus"]["kind"]) == ("done", 1, 1, "golden")
    assert [row["budget"] for row in run["results"]] == [60, 1000]
    assert set(run["results"][0]["measures"]) <= set(MEASURES)
    assert set(run["results"][0]["measures"]["recall"]) == {"value", "low", "high", "questions"}
    [answer] = admin.get(f"{url}/answers").json()["results"]
    assert (answer["question_id"], answer["category"]) == (admin.get(GOLDEN).json()["results"][0]["id"], "errors")
    assert [row["budget"] for row in answer["results"]] == [60, 1000]
    assert set(answer["results"][0]) == {"budget", "evidence", "included", "milliseconds", *MEASURES}
    [listed] = admin.get(EVALUATIONS, {"state": "done"}).json()["results"]
    assert listed == {name: value for name, value in run.items() if name != "results"}
    assert admin.get(EVALUATIONS, {"state": "failed"}).json()["results"] == []
    assert admin.delete(url).status_code == 204
    assert_problem(admin.get(url), 404, "not_found")
    assert answers_of(started["id"]) == []


def test_runs_are_compared_question_by_question(admin: APIClient, tenant: Tenant) -> None:
    better, worse = (finished_evaluation(tenant, {}, shares=[share] * 40) for share in (0.9, 0.4))
    foreign = finished_evaluation(tenant, {}, corpus_sha256="1" * 64)
    url = f"{EVALUATIONS}/{better.pk}/compare"
    found = admin.get(url, {"other": str(worse.pk)}).json()
    assert (found["id"], found["other"]) == (str(better.pk), str(worse.pk))
    assert [(row["budget"], row["questions"]) for row in found["results"]] == [(250, 40), (1000, 40)]
    assert found["results"][1]["measures"]["recall"] == {"value": 0.5, "low": 0.5, "high": 0.5, "questions": 40}
    assert_problem(admin.get(url, {"other": str(foreign.pk)}), 400, "not_comparable", "other")
    assert_problem(admin.get(url, {"other": str(NOWHERE)}), 404, "not_found")
    assert_problem(admin.get(url), 400, "required", "other")


def test_uploaded_corpus_is_evaluated(admin: APIClient, tenant: Tenant) -> None:
    body = {"corpus": "upload", "corpus_name": "bakery", "memories": memory_rows(), "questions": QUESTIONS}
    started = created(admin, EVALUATIONS, {**body, "budgets": [250]}, 202)
    work(tenant)
    run = admin.get(f"{EVALUATIONS}/{started['id']}").json()
    assert (run["state"], run["total"], run["corpus"]["name"]) == ("done", len(QUESTIONS), "bakery")
    assert not admin.get(MEMORIES).json()["results"], "the corpus is loaded into a hidden tenant"


UPLOAD = {"corpus": "upload", "corpus_name": "bakery", "memories": memory_rows(), "questions": QUESTIONS}


BAD_EVALUATIONS = [
    ({"corpus": "golden"}, "corpus", "no_questions"),
    ({"corpus": "file"}, "corpus", "invalid_choice"),
    ({"corpus": "golden", "questions": []}, "questions", "not_uploaded"),
    ({"corpus": "upload", "corpus_name": "x"}, "memories", "required"),
    ({**UPLOAD, "corpus_name": ""}, "corpus_name", "bad_name"),
    ({**UPLOAD, "corpus_name": "two\nlines"}, "corpus_name", "bad_name"),
    ({**UPLOAD, "questions": [{"id": "q"}]}, "corpus", "required"),
    ({**UPLOAD, "memories": [{**memory_rows()[0], "content": "\ud800"}]}, "corpus", "lone_surrogate"),
    ({**UPLOAD, "memories": [{**memory_rows()[0], "content": "\x00"}]}, "corpus", "null_character"),
    ({**UPLOAD, "memories": "x"}, "memories", "not_a_list"),
    ({**UPLOAD, "memories": ["x"]}, "memories.0", "not_a_dict"),
    ({**UPLOAD, "memories": [{"id": "m", "content": "x" * (5 * 2**20)}]}, "corpus", "too_large"),
    ({"corpus": "updated_facts", "profile": "nobody"}, "profile", "invalid_choice"),
    ({"corpus": "updated_facts", "profile": "own@x"}, "profile", "invalid_choice"),
    ({"corpus": "updated_facts", "packer": "magic"}, "packer", "invalid_choice"),
    ({"corpus": "updated_facts", "ordering": "stable"}, "ordering", "invalid_choice"),
    ({"corpus": "updated_facts", "budgets": []}, "budgets", "min_length"),
    ({"corpus": "updated_facts", "budgets": [0]}, "budgets", "bad_budgets"),
    ({"corpus": "updated_facts", "budgets": ["250"]}, "budgets.0", "not_an_integer"),
    ({"corpus": "updated_facts", "with_baseline": 1}, "with_baseline", "not_a_boolean"),
    ({"colour": "red"}, "colour", "unknown_field"),
]


def test_bad_evaluation_is_refused_by_field_and_nothing_is_started(admin: APIClient, tenant: Tenant) -> None:
    for body, field, code in BAD_EVALUATIONS:
        response = admin.post(EVALUATIONS, json.dumps(body), content_type="application/json")
        problem = assert_problem(response, 400, code, field)
        assert FACTS[1][1] not in json.dumps(problem)
    with tenant_scope(tenant.pk):
        assert not EvaluationRun.objects.for_tenant(tenant.pk).exists()


def test_only_admins_change_and_a_confined_key_sees_its_own_questions(
    api: APIClient, admin: APIClient, tenant: Tenant, other_tenant: Tenant, memory: dict[str, Any]
) -> None:
    question = created(admin, GOLDEN, question_of(memory, partition="agent=service"))
    elsewhere = post_memory(admin, "The shop closes at six.", partition="agent=shop")
    created(admin, GOLDEN, question_of(elsewhere, text="When does the shop close?"))
    run = finished_evaluation(tenant, {})
    one, evaluation = f"{GOLDEN}/{question['id']}", f"{EVALUATIONS}/{run.pk}"
    changes: list[tuple[str, str, dict[str, Any]]] = [
        ("post", GOLDEN, question_of(memory)),
        ("post", f"{GOLDEN}/bulk", {"questions": [question_of(memory)]}),
        ("patch", one, {"answer": "x"}),
        ("delete", one, {}),
        ("post", f"{one}/restore", {}),
        ("put", f"{one}/memories/{memory['id']}", {}),
        ("delete", f"{one}/memories/{memory['id']}", {}),
        ("post", EVALUATIONS, {"corpus": "updated_facts"}),
        ("post", f"{evaluation}/cancel", {}),
        ("post", f"{evaluation}/retry", {}),
        ("delete", evaluation, {}),
    ]
    reads = [EVALUATIONS, evaluation, f"{evaluation}/answers", f"{evaluation}/compare?other={run.pk}"]
    confined = api_client(new_key(tenant, "read", "write", "admin", partition="agent=service"))
    stranger = api_client(new_key(other_tenant, "read", "write", "admin"))
    for method, url, body in changes:
        assert getattr(api, method)(url, body).status_code == 403, url
        assert getattr(confined, method)(url, body).status_code == 403, url
    for url in reads:
        assert (api.get(url).status_code, confined.get(url).status_code) == (200, 403), url
        assert stranger.get(url).status_code == (200 if url == EVALUATIONS else 404)
    assert stranger.get(one).status_code == 404
    assert stranger.get(EVALUATIONS).json()["results"] == stranger.get(GOLDEN).json()["results"] == []
    assert [row["id"] for row in confined.get(GOLDEN).json()["results"]] == [question["id"]]
    assert len(api.get(GOLDEN).json()["results"]) == 2
    assert api.patch(f"/api/v1/memories/{memory['id']}", {"partition": "agent=shop"}).status_code == 200
    assert confined.get(one).json()["memory_ids"] == []
    assert api.get(one).json()["memory_ids"] == [memory["id"]]
