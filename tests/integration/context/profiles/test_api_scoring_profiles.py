"""Scoring profiles over REST: drafted, evaluated, published, compared, rolled back and assigned."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from context.models import EvaluationRun, ScoringProfileVersion
from context.profiles.serializers.profiles import ScoringAssignmentOutput, ScoringProfileOutput
from context.services.profiles.scoring_profiles import ADR_0040, SHIPPED_PROFILES
from memories.models import AuditEntry, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.rest_helpers import assert_problem, every_page, query_count
from tests.integration.scoring_helpers import ARGUMENT, BY_WORDS, REASON, finished_evaluation, prove
from tests.users import api_client, new_key

PROFILES = "/api/v1/profiles"
ASSIGNMENTS = f"{PROFILES}/assignments"
OWN = f"{PROFILES}/own"
PUBLISH = {"argument": ARGUMENT}
DRAFT = {"name": "own", "weights": BY_WORDS, "half_life_days_by_kind": {"preference": 180}}


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.fixture
def own(admin: APIClient) -> dict[str, Any]:
    response = admin.post(PROFILES, DRAFT)
    assert response.status_code == 201, response.content
    answer: dict[str, Any] = response.json()
    return answer


def numbers_of(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: answer[name] for name in ADR_0040.to_numbers()}


def publish(admin: APIClient, tenant: Tenant, answer: dict[str, Any]) -> dict[str, Any]:
    shown = admin.get(f"{PROFILES}/{answer['name']}").json()
    prove(tenant, numbers_of(answer), numbers_of(shown) if shown["is_active"] else None)
    response = admin.post(f"{PROFILES}/{answer['name']}/publish", {"version": answer["version"], **PUBLISH})
    assert response.status_code == 200, response.content
    published: dict[str, Any] = response.json()
    return published


def assert_code(response: Any, status: int, code: str) -> None:
    assert assert_problem(response, status, code)["code"] == code


def test_shipped_profiles_are_there_published_and_locked(api: APIClient, admin: APIClient) -> None:
    rows = api.get(PROFILES).json()["results"]
    assert [row["name"] for row in rows] == sorted(SHIPPED_PROFILES)
    for row in rows:
        assert set(row) == set(ScoringProfileOutput().fields)
        assert (row["state"], row["is_active"], row["is_locked"], row["recorded_from"]) == (
            "published",
            True,
            True,
            None,
        )
        assert numbers_of(row) == SHIPPED_PROFILES[row["name"]].to_numbers()
        url = f"{PROFILES}/{row['name']}"
        assert api.get(url).json() == row == api.get(f"{url}/versions/{row['version']}").json()
        for refused in (
            admin.patch(url, {"pool_size": 50}),
            admin.post(f"{url}/publish", PUBLISH),
            admin.post(f"{url}/retire", {"version": 1}),
            admin.post(f"{url}/rollback", {"version": 1}),
        ):
            assert_code(refused, 409, "locked")
        assert_problem(admin.post(PROFILES, {"name": row["name"]}), 409, "duplicate", "name")


def test_draft_takes_the_numbers_of_another_with_changes(admin: APIClient, own: dict[str, Any]) -> None:
    assert (own["version"], own["state"], own["is_active"], own["is_locked"]) == (1, "draft", False, False)
    assert (own["weights"], own["half_life_days_by_kind"]) == (BY_WORDS, {"preference": 180})
    assert own["half_life_days"] == ADR_0040.half_life_days
    assert own["based_on"] == "adr-0040 1"
    copy = admin.post(PROFILES, {"name": "copy", "based_on": "own", "based_on_version": 1, "pool_size": 60}).json()
    assert numbers_of(copy) == {**numbers_of(own), "pool_size": 60}
    recall = admin.post(PROFILES, {"name": "talk", "based_on": "conversation-recall"}).json()
    assert numbers_of(recall) == SHIPPED_PROFILES["conversation-recall"].to_numbers()
    assert [row["name"] for row in admin.get(PROFILES).json()["results"]] == sorted(
        [*SHIPPED_PROFILES, "copy", "own", "talk"]
    )
    assert_problem(admin.post(PROFILES, DRAFT), 409, "duplicate", "name")


BAD_NUMBERS: list[tuple[str, Any, str]] = [
    ("name", "Own", "bad_name"),
    ("name", "assignments", "reserved_name"),
    ("based_on", "nobody", "invalid_choice"),
    ("based_on_version", 7, "invalid_choice"),
    ("weights", {"relevance": 0.5, "recency": 0.4}, "weights_do_not_sum_to_one"),
    ("weights", [], "not_an_object"),
    ("weights", None, "null"),
    ("weights", {"relevance\x00": 1}, "null_character"),
    ("weights.luck", {"relevance": 0.5, "luck": 0.5}, "unknown_part"),
    ("weights.relevance", {"relevance": 1.5}, "out_of_range"),
    ("weights.relevance", {"relevance": "1"}, "out_of_range"),
    ("relevance", "magic", "invalid_choice"),
    ("recency_mode", ["added"], "invalid_choice"),
    ("half_life_days", 0, "out_of_range"),
    ("half_life_days_by_kind.fact", {"fact": -1}, "out_of_range"),
    ("half_life_days_by_kind.Two words", {"Two words": 3}, "bad_kind"),
    ("mmr_diversity", 2, "out_of_range"),
    ("pool_size", 5, "out_of_range"),
    ("pool_size", 50.5, "out_of_range"),
    ("adjacent_turn_reach", True, "out_of_range"),
    ("coefficients.luck", {"luck": 1}, "unknown_part"),
    ("intercept", -2.0, "incomplete_calibration"),
    ("colour", "red", "unknown_field"),
]


def test_bad_number_is_refused_by_name_and_nothing_is_written(admin: APIClient, tenant: Tenant) -> None:
    for field, value, code in BAD_NUMBERS:
        given = field.partition(".")[0]
        body = {"name": "own", "based_on": "adr-0040", given: value}
        named = "based_on" if given == "based_on_version" else field
        assert_problem(admin.post(PROFILES, body, format="json"), 400, code, named)
    with tenant_scope(tenant.pk):
        assert not ScoringProfileVersion.objects.exists()


def test_every_wrong_number_is_named_at_once(admin: APIClient, own: dict[str, Any]) -> None:
    body = {"weights": {"relevance": 0.9}, "pool_size": 1, "mmr_diversity": -1}
    problem = assert_problem(admin.patch(OWN, body), 400, "weights_do_not_sum_to_one", "weights")
    assert {entry["field"] for entry in problem["errors"]} == {"weights", "pool_size", "mmr_diversity"}


def test_edit_is_a_new_draft_and_the_version_before_stays(admin: APIClient, own: dict[str, Any]) -> None:
    changed = admin.patch(OWN, {"half_life_days": 60}).json()
    assert (changed["version"], changed["state"], changed["half_life_days"]) == (2, "draft", 60)
    assert (changed["weights"], changed["based_on"]) == (BY_WORDS, "own 1")
    assert admin.patch(OWN, {"half_life_days": 60}).json()["version"] == 2
    rows = admin.get(f"{OWN}/versions").json()["results"]
    assert [row["version"] for row in rows] == [2, 1]
    assert rows[1] == own == admin.get(f"{OWN}/versions/1").json()


def test_if_match_keeps_two_editors_apart(admin: APIClient, own: dict[str, Any]) -> None:
    etag = admin.get(OWN)["ETag"]
    assert admin.get(OWN, headers={"If-None-Match": etag}).status_code == 304
    assert admin.patch(OWN, {"pool_size": 50}, headers={"If-Match": etag}).status_code == 200
    assert_problem(admin.patch(OWN, {"pool_size": 70}, headers={"If-Match": etag}), 412, "stale_version")
    assert_problem(admin.post(f"{OWN}/publish", PUBLISH, headers={"If-Match": etag}), 412, "stale_version")


def test_publishing_needs_an_evaluation_of_exactly_these_numbers(
    admin: APIClient, tenant: Tenant, other_tenant: Tenant, own: dict[str, Any]
) -> None:
    url, numbers = f"{OWN}/publish", numbers_of(own)
    assert_code(admin.post(url, PUBLISH), 409, "not_evaluated")
    problem = assert_problem(admin.post(url, {}), 409, "not_evaluated", "version")
    parts = {f"argument.{part}" for part in ARGUMENT}
    assert {entry["field"] for entry in problem["errors"] if entry["code"] == "required"} == parts
    prove(tenant, {**numbers, "pool_size": 50})
    prove(other_tenant, numbers)
    for fields in ({"state": "running"}, {"state": "failed"}, {"corpus_name": ""}):
        finished_evaluation(tenant, numbers, **fields)
    assert_code(admin.post(url, PUBLISH), 409, "not_evaluated")
    run = prove(tenant, numbers)
    published = admin.post(url, PUBLISH).json()
    assert (published["state"], published["is_active"], published["adr_reference"]) == ("published", True, "")
    assert published["evaluation"] == {"id": str(run.pk), "corpus": "questions"}
    assert published["argument"] == {**ARGUMENT, "reason": ""}
    comparison = published["comparison"]
    assert (comparison["base"], comparison["verdict"], comparison["questions"]) == ("adr-0040 1", "better", 40)
    assert comparison["summary"].startswith("evidence at 1,000 tokens +35.0 pp (+3")
    assert [row["budget"] for row in comparison["rows"]] == [250, 1000]
    assert published["published_by"].startswith("an agent")
    assert admin.get(OWN).json() == published
    assert_code(admin.post(url, PUBLISH), 409, "already_published")


def test_an_edit_invalidates_the_evaluation(admin: APIClient, tenant: Tenant, own: dict[str, Any]) -> None:
    prove(tenant, numbers_of(own))
    admin.patch(OWN, {"half_life_days": 13.5})
    assert_code(admin.post(f"{OWN}/publish", PUBLISH), 409, "not_evaluated")
    assert admin.post(f"{OWN}/publish", {**PUBLISH, "version": 1}).status_code == 200


@pytest.mark.parametrize("questions", [1, 29])
def test_publishing_needs_thirty_questions(
    admin: APIClient, tenant: Tenant, own: dict[str, Any], questions: int
) -> None:
    prove(tenant, numbers_of(own), shares=[0.9] * questions, base_shares=[0.5] * questions)
    problem = assert_problem(admin.post(f"{OWN}/publish", PUBLISH), 409, "too_few_questions", "version")
    assert f"{questions} question{'' if questions == 1 else 's'}; at least 30 are required" in problem["detail"]
    reason = admin.post(f"{OWN}/publish", {**PUBLISH, "reason": REASON})
    assert_code(reason, 409, "too_few_questions")


@pytest.mark.parametrize("fields", [{"corpus_sha256": "1" * 64}, {"packer": "elastic"}, {"embedder_model": "other"}])
def test_publishing_needs_the_profile_in_use_on_the_same_corpus(
    admin: APIClient, tenant: Tenant, own: dict[str, Any], fields: dict[str, str]
) -> None:
    finished_evaluation(tenant, numbers_of(own), shares=[0.9] * 40)
    finished_evaluation(tenant, ADR_0040.to_numbers(), **fields)
    problem = assert_problem(admin.post(f"{OWN}/publish", PUBLISH), 409, "baseline_not_evaluated", "version")
    assert "adr-0040 version 1 was not evaluated on the same corpus" in problem["detail"]


@pytest.mark.parametrize(
    ("shares", "verdict", "words"),
    [
        (
            [0.2] * 40,
            "worse",
            "It is worse than adr-0040 version 1: evidence at 1,000 tokens −30.0 pp (−30.0 to −30.0 pp), 40",
        ),
        (
            [0.5] * 40,
            "unsure",
            "It is not clearly better than adr-0040 version 1: evidence at 1,000 tokens 0.0 pp (0.0 to 0.0 pp)",
        ),
        ([0.6] + [0.5] * 39, "unsure", "+0.2 pp (0.0 to +0.8 pp), 40 questions"),
    ],
)
def test_worse_or_unsure_needs_a_reason_that_is_stored_and_audited(
    admin: APIClient, tenant: Tenant, own: dict[str, Any], shares: list[float], verdict: str, words: str
) -> None:
    prove(tenant, numbers_of(own), shares=shares)
    problem = assert_problem(admin.post(f"{OWN}/publish", PUBLISH), 400, "reason_required", "reason")
    assert words in problem["detail"]
    assert_problem(admin.post(f"{OWN}/publish", {**PUBLISH, "reason": "fine"}), 400, "too_short", "reason")
    assert admin.get(OWN).json()["state"] == "draft"
    published = admin.post(f"{OWN}/publish", {**PUBLISH, "reason": f" {REASON} "}).json()
    assert (published["argument"]["reason"], published["comparison"]["verdict"]) == (REASON, verdict)
    with tenant_scope(tenant.pk):
        assert AuditEntry.objects.for_tenant(tenant.pk).get(verb="publish_scoring_profile").reason == REASON


def test_zero_evidence_in_both_needs_a_reason(admin: APIClient, tenant: Tenant, own: dict[str, Any]) -> None:
    prove(tenant, numbers_of(own), shares=[0.0] * 40, base_shares=[0.0] * 40)
    problem = assert_problem(admin.post(f"{OWN}/publish", PUBLISH), 400, "reason_required", "reason")
    assert "no evidence found by either" in problem["detail"]


def test_a_version_is_compared_with_what_it_replaces(admin: APIClient, tenant: Tenant, own: dict[str, Any]) -> None:
    """The active version, else the profile assigned to the tenant, else adr-0040."""
    admin.put(ASSIGNMENTS, {"profile": "conversation-recall", "partition": ""})
    prove(tenant, numbers_of(own))
    problem = assert_problem(admin.post(f"{OWN}/publish", PUBLISH), 409, "baseline_not_evaluated", "version")
    assert "conversation-recall version 1 was not" in problem["detail"]
    finished_evaluation(tenant, SHIPPED_PROFILES["conversation-recall"].to_numbers())
    assert admin.post(f"{OWN}/publish", PUBLISH).json()["comparison"]["base"] == "conversation-recall 1"
    second = admin.patch(OWN, {"pool_size": 100}).json()
    finished_evaluation(tenant, numbers_of(second), shares=[0.9, 0.8] * 20)
    refused = admin.post(f"{OWN}/publish", PUBLISH)
    assert (
        "not clearly better than own version 1" in assert_problem(refused, 400, "reason_required", "reason")["detail"]
    )


def test_runs_of_a_published_version_stay(admin: APIClient, tenant: Tenant, own: dict[str, Any]) -> None:
    publish(admin, tenant, own)
    with tenant_scope(tenant.pk):
        ids = list(EvaluationRun.objects.for_tenant(tenant.pk).values_list("pk", flat=True))
    assert len(ids) == 2
    for run_id in ids:
        assert_code(admin.delete(f"/api/v1/evaluations/{run_id}"), 409, "proves_a_profile")


BAD_ARGUMENTS = [
    ("argument.decision", "", "required"),
    ("argument.decision", "ADR-9999", "too_short"),
    ("argument.decision", "x" * 4001, "too_long"),
    ("argument.context", "\x00" * 30, "null_character"),
    ("argument.consequences", 7, "not_text"),
    ("argument.adr", "ADR-0101", "unknown_field"),
]


def test_publishing_needs_an_argument(admin: APIClient, tenant: Tenant, own: dict[str, Any]) -> None:
    prove(tenant, numbers_of(own))
    for field, value, code in BAD_ARGUMENTS:
        argument = {**ARGUMENT, field.partition(".")[2]: value}
        assert_problem(admin.post(f"{OWN}/publish", {"argument": argument}), 400, code, field)
    assert_problem(admin.post(f"{OWN}/publish", {"adr_reference": "ADR-9999"}), 400, "unknown_field", "adr_reference")
    assert_problem(admin.post(f"{OWN}/publish", {"argument": "ADR-9999"}), 400, "not_an_object", "argument")
    assert_problem(admin.post(f"{OWN}/publish", {**PUBLISH, "version": 9}), 400, "unknown_version", "version")
    assert admin.get(OWN).json()["state"] == "draft"


def test_newer_version_supersedes_and_one_call_rolls_back(
    admin: APIClient, tenant: Tenant, own: dict[str, Any]
) -> None:
    first = publish(admin, tenant, own)
    draft = admin.patch(OWN, {"pool_size": 100}).json()
    assert admin.get(OWN).json() == first
    second = publish(admin, tenant, draft)
    assert (second["version"], second["is_active"]) == (2, True)
    before = admin.get(f"{OWN}/versions/1").json()
    assert (before["state"], before["is_active"]) == ("published", False)
    assert before["recorded_to"] is not None
    back = admin.post(f"{OWN}/rollback", {"version": 1}).json()
    assert (back["version"], back["is_active"], back["recorded_to"]) == (1, True, None)
    assert numbers_of(back) == numbers_of(own)
    assert admin.get(OWN).json() == back
    assert not admin.get(f"{OWN}/versions/2").json()["is_active"]
    admin.patch(OWN, {"pool_size": 300})
    assert_code(admin.post(f"{OWN}/rollback", {"version": 3}), 409, "not_published")
    assert_problem(admin.post(f"{OWN}/rollback", {"version": 9}), 400, "unknown_version", "version")
    with tenant_scope(tenant.pk):
        entries = AuditEntry.objects.for_tenant(tenant.pk).about("own").newest_first()
        assert {entry.verb for entry in entries} == {
            "create_scoring_profile",
            "edit_scoring_profile",
            "publish_scoring_profile",
            "roll_back_scoring_profile",
        }


def test_edit_of_the_version_in_force_may_skip_a_later_draft(
    admin: APIClient, tenant: Tenant, own: dict[str, Any]
) -> None:
    publish(admin, tenant, own)
    admin.patch(OWN, {"pool_size": 100})
    etag = admin.get(OWN)["ETag"]
    third = admin.patch(OWN, {"adjacent_turn_reach": 1}, headers={"If-Match": etag}).json()
    assert (third["version"], third["pool_size"], third["based_on"]) == (3, 0, "own 1")
    fourth = admin.patch(OWN, {"mmr_diversity": 0.2}).json()
    assert (fourth["version"], fourth["adjacent_turn_reach"]) == (4, 1)


def test_retired_version_is_out_of_use_until_it_is_rolled_back(
    admin: APIClient, tenant: Tenant, own: dict[str, Any]
) -> None:
    publish(admin, tenant, own)
    admin.put(ASSIGNMENTS, {"profile": "own", "partition": ""})
    assert_code(admin.post(f"{OWN}/retire", {"version": 1}), 409, "assigned")
    assert admin.delete(f"{ASSIGNMENTS}?partition=").status_code == 204
    retired = admin.post(f"{OWN}/retire", {"version": 1}).json()
    assert (retired["state"], retired["is_active"]) == ("retired", False)
    assert_code(admin.post(f"{OWN}/publish", PUBLISH), 409, "retired")
    assert_problem(admin.put(ASSIGNMENTS, {"profile": "own", "partition": ""}), 400, "not_published", "profile")
    assert admin.post(f"{OWN}/rollback", {"version": 1}).json()["is_active"]


def test_versions_are_compared_number_by_number(admin: APIClient, own: dict[str, Any]) -> None:
    admin.patch(OWN, {"pool_size": 100, "weights": {"relevance": 1.0}})
    answer = admin.get(f"{OWN}/compare", {"a": 1, "b": 2}).json()
    differing = {row["field"]: (row["a"], row["b"]) for row in answer["fields"] if row["differs"]}
    assert differing == {
        "pool_size": (0, 100),
        "weights.relevance": (0.7, 1.0),
        "weights.recency": (0.1, None),
        "weights.usefulness": (0.1, None),
        "weights.confidence": (0.1, None),
    }
    across = admin.get(f"{OWN}/compare", {"a": 1, "b": 1, "other": "adr-0040"}).json()
    assert across["b"] == {"name": "adr-0040", "version": 1}
    assert "half_life_days_by_kind.preference" in {row["field"] for row in across["fields"] if row["differs"]}
    diff = admin.get(f"{OWN}/diff", {"a": 1, "b": 2}).json()
    assert diff == {**answer, "fields": [row for row in answer["fields"] if row["differs"]]}
    assert admin.get(f"{OWN}/diff", {"a": 1, "b": 1}).json()["fields"] == []
    assert_problem(admin.get(f"{OWN}/diff", {"a": 7, "b": 1}), 400, "unknown_version", "a")
    assert_problem(admin.get(f"{OWN}/compare", {"a": 7, "b": 1}), 400, "unknown_version", "a")
    assert_problem(admin.get(f"{OWN}/compare", {"a": 1}), 400, "required", "b")


def test_profile_is_assigned_and_ends(admin: APIClient, tenant: Tenant, own: dict[str, Any]) -> None:
    assert_problem(admin.put(ASSIGNMENTS, {"profile": "own", "partition": ""}), 400, "not_published", "profile")
    assert_problem(admin.put(ASSIGNMENTS, {"profile": "nope", "partition": ""}), 400, "invalid_choice", "profile")
    assert_problem(admin.put(ASSIGNMENTS, {"profile": "own"}), 400, "one_target", "key")
    publish(admin, tenant, own)
    row = admin.put(ASSIGNMENTS, {"profile": "own", "partition": "user=alex"}).json()
    assert set(row) == set(ScoringAssignmentOutput().fields)
    assert (row["profile"], row["partition"], row["key"]) == ("own", "user=alex", None)
    shipped = admin.put(ASSIGNMENTS, {"profile": "conversation-recall", "partition": "user=alex"}).json()
    assert [each["profile"] for each in admin.get(ASSIGNMENTS).json()["results"]] == ["conversation-recall"]
    history = admin.get(ASSIGNMENTS, {"history": "true"}).json()["results"]
    assert [each["id"] for each in history] == [shipped["id"], row["id"]]
    assert admin.delete(f"{ASSIGNMENTS}?partition=user%3Dalex").status_code == 204
    assert_code(admin.delete(f"{ASSIGNMENTS}?partition=user%3Dalex"), 404, "not_assigned")


def test_create_with_a_key_happens_once(admin: APIClient) -> None:
    headers = {"Idempotency-Key": "one"}
    first, again = (admin.post(PROFILES, DRAFT, headers=headers) for _ in range(2))
    assert (first.status_code, again.status_code, first.json()) == (201, 201, again.json())
    assert again["Idempotent-Replayed"] == "true"


def test_list_is_paged_and_its_queries_do_not_grow(admin: APIClient, own: dict[str, Any]) -> None:
    few = query_count(admin, PROFILES)
    for number in range(4):
        admin.post(PROFILES, {"name": f"p-{number}"})
    assert query_count(admin, PROFILES) == few
    pages = every_page(admin, f"{PROFILES}?page_size=2")
    assert [row["name"] for page in pages for row in page] == sorted(
        [*SHIPPED_PROFILES, "own", *(f"p-{number}" for number in range(4))]
    )


def test_only_admins_change_and_a_confined_admin_does_not(api: APIClient, tenant: Tenant, own: dict[str, Any]) -> None:
    confined = api_client(new_key(tenant, "read", "write", "admin", partition="user=alex"))
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("post", PROFILES, {"name": "x"}),
        ("patch", OWN, {"pool_size": 50}),
        ("post", f"{OWN}/publish", PUBLISH),
        ("post", f"{OWN}/rollback", {"version": 1}),
        ("post", f"{OWN}/retire", {"version": 1}),
        ("put", ASSIGNMENTS, {"profile": "adr-0040", "partition": ""}),
        ("delete", f"{ASSIGNMENTS}?partition=", {}),
    ]
    for method, url, body in calls:
        assert getattr(api, method)(url, body).status_code == 403, url
        assert getattr(confined, method)(url, body).status_code == 403, url
    assert api.get(OWN).json()["state"] == "draft"


def test_another_tenant_sees_nothing_of_it(admin: APIClient, other_tenant: Tenant, own: dict[str, Any]) -> None:
    stranger = api_client(new_key(other_tenant, "read", "write", "admin"))
    assert [row["name"] for row in stranger.get(PROFILES).json()["results"]] == sorted(SHIPPED_PROFILES)
    for url in (OWN, f"{OWN}/versions", f"{OWN}/versions/1", f"{OWN}/compare?a=1&b=1"):
        assert_problem(stranger.get(url), 404, "not_found")
    assert_problem(stranger.patch(OWN, {"pool_size": 50}), 404, "not_found")
    for verb, body in (("publish", {"version": 1, **PUBLISH}), ("rollback", {"version": 1})):
        assert_problem(stranger.post(f"{OWN}/{verb}", body), 404, "not_found")
    assert_problem(stranger.post(PROFILES, {"name": "mine", "based_on": "own"}), 400, "invalid_choice", "based_on")
    assert stranger.post(PROFILES, DRAFT).status_code == 201


NUMBERS = st.sampled_from(
    [0, 1, -1, 0.5, 10**400, 1e308, True, None, "x", "\ud800", [], {}, {"relevance": 1}, {"\x00": 1}]
)
FIELDS = st.sampled_from([*ADR_0040.to_numbers(), "name", "based_on", "based_on_version", "version"])


def test_any_numbers_are_drafted_or_refused(admin: APIClient, own: dict[str, Any]) -> None:
    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.dictionaries(FIELDS, NUMBERS, max_size=4))
    def send(body: dict[str, Any]) -> None:
        for response in (
            admin.patch(OWN, json.dumps(body), content_type="application/json"),
            admin.post(PROFILES, json.dumps(body), content_type="application/json"),
            admin.post(f"{OWN}/publish", json.dumps(body), content_type="application/json"),
        ):
            assert response.status_code < 500, response.content
            assert response.status_code < 400 or response.json()["code"]

    send()
