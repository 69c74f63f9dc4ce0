"""Which scoring profile applies to a request, and the constraints of the database."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from context.models import ScoringProfileAssignment, ScoringProfileVersion
from context.profiles.scoring_profiles import (
    listed_scoring_profiles,
    mark_drafts_evaluated,
    resolve_scoring_profile,
    scoring_profile_at,
)
from context.services.profiles.scoring_profiles import ADR_0040, SHIPPED_PROFILES, ScoringProfile
from memories.models import ApiKey, Tenant
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope
from tests.factories import make_key
from tests.integration.context_helpers import CONTEXT_NOW, make_empty_tenant
from tests.integration.scoring_helpers import ARGUMENT, BY_WORDS, finished_evaluation, new_version, published

pytestmark = pytest.mark.django_db


def resolved(
    tenant: Tenant, name: str = "", path: str = "", key: ApiKey | None = None, *, allow_drafts: bool = False
) -> ScoringProfile:
    with tenant_scope(tenant.pk):
        return resolve_scoring_profile(tenant.pk, name, path, key.pk if key else None, allow_drafts=allow_drafts)


def assigned(tenant: Tenant, name: str, **target: Any) -> None:
    with tenant_scope(tenant.pk):
        ScoringProfileAssignment.objects.create(tenant=tenant, profile_name=name, recorded_from=CONTEXT_NOW, **target)


def test_default_counts_where_nothing_is_assigned_and_costs_one_query() -> None:
    tenant = make_empty_tenant()
    with tenant_scope(tenant.pk), CaptureQueriesContext(connection) as queries:
        profile = resolve_scoring_profile(tenant.pk, "", "user=alex/topic=meetings", None)
    assert profile is ADR_0040
    assert len(queries) == 1


@pytest.mark.parametrize("name", sorted(SHIPPED_PROFILES))
def test_shipped_profile_may_be_named_without_a_query(name: str) -> None:
    tenant = make_empty_tenant()
    with tenant_scope(tenant.pk), CaptureQueriesContext(connection) as queries:
        assert resolve_scoring_profile(tenant.pk, name, "", None) is SHIPPED_PROFILES[name]
    assert not queries


def test_key_outranks_the_longest_partition_which_outranks_the_tenant() -> None:
    tenant = make_empty_tenant()
    key, _ = make_key(tenant)
    other, _ = make_key(tenant)
    for name in ("of-tenant", "of-user", "of-topic", "of-key"):
        published(tenant, name)
    assigned(tenant, "of-tenant", partition_path="")
    assigned(tenant, "of-user", partition_path="user=alex")
    assigned(tenant, "of-topic", partition_path="user=alex/topic=meetings")
    assigned(tenant, "of-key", api_key=key)
    cases = {"": "of-tenant", "user=kim": "of-tenant", "user=alex": "of-user", "user=alex/topic=x": "of-user"}
    assert {path: resolved(tenant, path=path, key=other).name for path in cases} == cases
    assert resolved(tenant, path="user=alex/topic=meetings/day=1").name == "of-topic"
    assert resolved(tenant, path="user=alex/topic=meetings", key=key).name == "of-key"
    assert resolved(tenant, "of-user", path="user=alex/topic=meetings", key=key).name == "of-user"


def test_shipped_profile_can_be_assigned() -> None:
    tenant = make_empty_tenant()
    assigned(tenant, "conversation-recall", partition_path="")
    assert resolved(tenant).name == "conversation-recall"


def test_agent_gets_the_version_in_force_and_never_a_draft() -> None:
    tenant = make_empty_tenant()
    published(tenant, "own", 1, recorded_to=CONTEXT_NOW)
    published(tenant, "own", 2)
    new_version(tenant, "own", 3)
    new_version(tenant, "idea", 1)
    new_version(tenant, "idea", 2)
    assert (resolved(tenant, "own").version, dict(resolved(tenant, "own").weights)) == (2, BY_WORDS)
    for name in ("idea", "own@3", "absent", "own@", "Own", "x" * 300):
        with pytest.raises(InvalidInput) as refused:
            resolved(tenant, name)
        assert (refused.value.code, refused.value.field) == ("invalid_choice", "profile")


def test_operator_previews_drafts_by_name_and_by_version() -> None:
    tenant = make_empty_tenant()
    published(tenant, "own", 1, recorded_to=CONTEXT_NOW)
    published(tenant, "own", 2)
    new_version(tenant, "own", 3)
    new_version(tenant, "idea", 1)
    new_version(tenant, "idea", 2)
    wanted = {"own": 2, "own@1": 1, "own@3": 3, "idea": 2, "idea@1": 1, "adr-0040": 1}
    assert {name: resolved(tenant, name, allow_drafts=True).version for name in wanted} == wanted
    for name in ("own@4", "own@x", "own@-1", "own@99999999999", "absent"):
        with pytest.raises(InvalidInput):
            resolved(tenant, name, allow_drafts=True)


def test_any_version_of_a_receipt_is_found_again_in_any_state() -> None:
    tenant, other = make_empty_tenant(), make_empty_tenant()
    published(tenant, "own", 1, recorded_to=CONTEXT_NOW)
    new_version(tenant, "own", 2, state="retired")
    with tenant_scope(tenant.pk):
        assert [scoring_profile_at(tenant.pk, "own", number).version for number in (1, 2)] == [1, 2]
        assert scoring_profile_at(tenant.pk, "adr-0040", 1) is not None
        assert [scoring_profile_at(tenant.pk, "recall", number).superseded_min for number in (1, 2)] == [0.2, 0.1]
        for named in (("own", 3), ("adr-0040", 2), ("absent", 1)):
            with pytest.raises(InvalidInput):
                scoring_profile_at(tenant.pk, *named)
    with tenant_scope(other.pk), pytest.raises(InvalidInput):
        scoring_profile_at(other.pk, "own", 1)


def test_unknown_numbers_are_refused_by_name() -> None:
    tenant = make_empty_tenant()
    published(tenant, "old", numbers={"weights": {"relevance": 0.5, "phase_of_the_moon": 0.5}})
    with pytest.raises(InvalidInput) as refused:
        resolved(tenant, "old")
    assert refused.value.code == "outdated_profile"
    assert "phase_of_the_moon" in refused.value.detail


def test_another_tenants_profile_is_absent() -> None:
    tenant, other = make_empty_tenant(), make_empty_tenant()
    published(tenant, "own")
    with pytest.raises(InvalidInput):
        resolved(other, "own")
    with tenant_scope(other.pk):
        assert [row.name for row in listed_scoring_profiles(other.pk)] == list(SHIPPED_PROFILES)


@pytest.mark.parametrize(
    ("fields", "constraint"),
    [
        ({"state": "published"}, "scoring_profile_is_published_with_proof"),
        ({"state": "published", "argument": ARGUMENT}, "scoring_profile_is_published_with_proof"),
        ({"state": "evaluated"}, "scoring_profile_is_evaluated_by_a_run"),
        ({"state": "liked"}, "scoring_profile_state_is_known"),
        ({"name": "Own"}, "scoring_profile_name_is_a_word"),
        ({"version": 1}, "scoring_profile_version_is_unique"),
    ],
)
def test_row_that_breaks_a_rule_is_refused_by_postgres(fields: dict[str, Any], constraint: str) -> None:
    tenant = make_empty_tenant()
    new_version(tenant, "own", 1)
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        new_version(tenant, **{"name": "own", "version": 2, **fields})


def test_only_one_version_of_a_name_is_in_force() -> None:
    tenant = make_empty_tenant()
    published(tenant, "own", 1)
    with pytest.raises(IntegrityError, match="scoring_profile_has_one_in_force"), transaction.atomic():
        published(tenant, "own", 2)


def test_evaluation_of_another_tenant_proves_nothing() -> None:
    tenant, other = make_empty_tenant(), make_empty_tenant()
    row = new_version(tenant, "own", 1)
    run = finished_evaluation(other, row.numbers)

    def borrow() -> None:
        with transaction.atomic(), tenant_scope(tenant.pk):
            ScoringProfileVersion.objects.for_tenant(tenant.pk).update(evaluation_run=run, state="evaluated")
            connection.check_constraints()

    with pytest.raises(IntegrityError, match="same_tenant"):
        borrow()
    with tenant_scope(other.pk):
        assert mark_drafts_evaluated(run) == 0


def test_finished_run_marks_the_drafts_with_its_numbers_and_no_others() -> None:
    tenant = make_empty_tenant()
    row = new_version(tenant, "own", 1)
    other = new_version(tenant, "own", 2, numbers={**row.numbers, "pool_size": 100})
    run = finished_evaluation(tenant, row.numbers)
    with tenant_scope(tenant.pk):
        assert mark_drafts_evaluated(run) == 1
        row.refresh_from_db()
        other.refresh_from_db()
    assert (row.state, row.evaluation_run_id, other.state) == ("evaluated", run.pk, "draft")
