"""Which summaries wait for review, for each trigger, and which are applied although they lost a constraint."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from compaction.pipeline import orchestrator, scheduling
from memories.models import Tenant
from memory_platform.console.action_items import ACTION_ITEM_KINDS
from tests.integration.compaction_helpers import COMPACTIONS, compact, review, set_policy, stored_compactions
from tests.integration.page_helpers import client_of, page, text_of
from tests.integration.session_helpers import append, assistant, open_session, user
from tests.users import api_client

pytestmark = pytest.mark.django_db

CHATTER = (
    "We walked along the river for a while and looked at the boats, then we had a coffee and talked about the weather"
    " and the neighbours until it was time to go home for dinner."
)
RULES = (
    "Never leave the garden gate open while the dog is outside.",
    "You must not lend the silver violin to anybody from the orchestra.",
    "No deliveries before breakfast on public holidays.",
    "Never pour hot oil into the kitchen sink of the restaurant.",
    "The archive must never be cleaned with water or soap.",
    "Please don't feed bread to the ducks behind the mill.",
    "Nobody may enter the boiler room without a helmet and gloves.",
    "Never photograph the manuscripts with a flash.",
    "Children must not climb the apple tree near the fence.",
    "Never switch off the freezer in the laboratory during experiments.",
    "You must not park in front of the fire station.",
    "Never tell the press about the negotiations with the union.",
    "Never ride the grey pony without a saddle.",
    "Visitors must not touch the paintings in the west wing.",
    "Never water the cactus on the balcony in winter.",
    "Nobody may open the wooden box from Aunt Clara.",
)
#: With this policy, a summary has no space for all of `RULES`, and no journal keeps them.
NO_ROOM = {"has_journal": False, "summary_share": 0.02}
LOSSY = {**NO_ROOM, "retention_floor": 0.1}
WARNING = "constraint_missing"


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


def full(client: APIClient, *texts: str) -> dict[str, Any]:
    """A session over its emergency threshold that begins with these texts."""
    session = open_session(client, max_context_tokens=2_600)
    append_with_chatter(client, session, *texts)
    return session


def append_with_chatter(client: APIClient, session: dict[str, Any], *texts: str) -> None:
    chatter = [user(CHATTER, name="Ann"), assistant(CHATTER)] * 30
    append(client, session, *(user(text, name="Ann") for text in texts), *chatter)


def compacted_by(trigger: str, client: APIClient, tenant: Tenant, *texts: str) -> tuple[dict[str, Any], set[str]]:
    """Return the compaction that this trigger starts, and the warning codes of the context of an emergency."""
    session = full(client, *texts)
    codes: set[str] = set()
    if trigger == "manual":
        compact(client, session)
    elif trigger == "scheduled":
        now = timezone.now() + timedelta(minutes=11)
        [(tenant_id, run_id)] = scheduling.open_idle_sessions(now=now)
        orchestrator.run_compaction(tenant_id, run_id, now=now)
    else:
        answer = client.post(f"/api/v1/sessions/{session['id']}/context", {}).json()
        codes = {warning["code"] for warning in answer["warnings"]}
    [row] = stored_compactions(tenant)
    assert row.trigger == trigger
    answer = client.get(f"{COMPACTIONS}/{row.pk}").json()
    assert answer["summary"]
    return answer, codes


def warned(compaction: dict[str, Any]) -> bool:
    return WARNING in {warning["code"] for warning in compaction["warnings"]}


def queued(client: APIClient) -> list[str]:
    return [row["id"] for row in client.get(COMPACTIONS, {"to_review": "true"}).json()["results"]]


TRIGGERS = pytest.mark.parametrize("trigger", ["manual", "scheduled", "emergency"])


# --- Which wait ------------------------------------------------------------------------------------------------------


@TRIGGERS
@pytest.mark.parametrize(("floor", "state"), [(0.85, "proposed"), (0.0, "applied")])
def test_summary_below_the_floor_waits_and_none_does_with_a_floor_of_0(
    admin: APIClient, tenant: Tenant, trigger: str, floor: float, state: str
) -> None:
    set_policy(tenant, **NO_ROOM, retention_floor=floor)
    made, codes = compacted_by(trigger, admin, tenant, *RULES)
    assert made["retention"]["share"] < 0.85
    assert made["state"] == state
    if trigger == "emergency":
        assert ("not_compacted" in codes) == (state == "proposed")


@TRIGGERS
@pytest.mark.parametrize(("floor", "state"), [(0.1, "proposed"), (0.0, "applied")])
def test_summary_whose_retention_is_not_measured_waits_as_well(
    admin: APIClient, tenant: Tenant, trigger: str, floor: float, state: str
) -> None:
    set_policy(tenant, retention_floor=floor)
    made, _ = compacted_by(trigger, admin, tenant)
    assert made["retention"]["not_measured"] == "no_facts"
    assert made["state"] == state


# --- Applied without a constraint ------------------------------------------------------------------------------------


@TRIGGERS
def test_lost_constraint_over_the_floor_is_applied_with_a_warning(
    admin: APIClient, tenant: Tenant, trigger: str
) -> None:
    set_policy(tenant, **LOSSY)
    made, codes = compacted_by(trigger, admin, tenant, *RULES)
    assert made["retention"]["share"] >= LOSSY["retention_floor"]
    assert "negation" in {fact["class"] for fact in made["missing"]}
    assert (made["state"], made["has_lost_constraint"], warned(made)) == ("applied", True, True)
    assert queued(admin) == [made["id"]]
    if trigger == "emergency":
        assert codes >= {"compacted_in_emergency", WARNING}


def test_summary_with_all_its_constraints_is_applied_without_one(admin: APIClient, tenant: Tenant) -> None:
    made = compact(admin, full(admin, RULES[0]))["compaction"]
    assert (made["state"], made["has_lost_constraint"], warned(made)) == ("applied", False, False)
    assert queued(admin) == []


def test_proposal_shows_that_it_lost_a_constraint_and_leaves_the_queue_when_approved(
    admin: APIClient, tenant: Tenant
) -> None:
    set_policy(tenant, **LOSSY, decision="review")
    made = compact(admin, full(admin, *RULES))["compaction"]
    assert (made["state"], made["has_lost_constraint"], warned(made)) == ("proposed", True, True)
    assert queued(admin) == [made["id"]]
    approved = review(admin, made, "approve")
    assert (approved["state"], approved["has_lost_constraint"]) == ("applied", True)
    assert queued(admin) == []


@pytest.mark.parametrize("action", ["mark_reviewed", "rollback", "append_missing"])
def test_review_takes_it_out_of_the_queue(admin: APIClient, tenant: Tenant, action: str) -> None:
    set_policy(tenant, **LOSSY)
    made = compact(admin, full(admin, *RULES))["compaction"]
    assert queued(admin) == [made["id"]]
    reviewed = review(admin, made, action)
    assert queued(admin) == []
    is_mended = action == "append_missing"
    assert (reviewed["has_lost_constraint"], warned(reviewed)) == (not is_mended, not is_mended)


def test_edit_that_removes_a_constraint_puts_it_into_the_queue(admin: APIClient, tenant: Tenant) -> None:
    set_policy(tenant, has_journal=False)
    made = compact(admin, full(admin, RULES[0]))["compaction"]
    edited = review(admin, made, "edit", text="Ann walked along the river.")
    assert (edited["has_lost_constraint"], warned(edited)) == (True, True)
    assert queued(admin) == [made["id"]]


def test_constraint_that_an_earlier_summary_lost_is_new_only_if_it_is_stated_again(
    admin: APIClient, tenant: Tenant
) -> None:
    set_policy(tenant, **LOSSY)
    session = full(admin, *RULES)
    first = compact(admin, session)["compaction"]
    review(admin, first, "mark_reviewed")
    for texts, is_lost in (((), False), (RULES, True)):
        append_with_chatter(admin, session, *texts)
        made = compact(admin, session)["compaction"]
        assert "negation" in {fact["class"] for fact in made["missing"]}
        assert (made["state"], made["has_lost_constraint"], warned(made)) == ("applied", is_lost, is_lost)
    assert queued(admin) == [made["id"]]


# --- Pages -----------------------------------------------------------------------------------------------------------


def test_pages_list_it_until_it_is_marked_as_reviewed(admin: APIClient, tenant: Tenant, operator: User) -> None:
    set_policy(tenant, **LOSSY)
    made = compact(admin, full(admin, *RULES))["compaction"]
    client = client_of(operator)
    reviews = client.get(page("reviews", tenant))
    assert [str(row.pk) for row in reviews.context["queue"].waiting] == [made["id"]]
    assert "constraint missing" in text_of(reviews)
    overview = client.get(page("tenant-overview", tenant))
    assert ACTION_ITEM_KINDS[0].nouns[0] in text_of(overview)
    shown = client.get(page("compaction", tenant, made["id"]))
    assert "Review 1 of 1" in text_of(shown)
    assert "lack a constraint" in text_of(shown)
    client.post(page("compaction-mark-reviewed", tenant, made["id"]), {"edit_version": 0})
    assert not client.get(page("reviews", tenant)).context["queue"].waiting
    assert "lack a constraint" in text_of(client.get(page("compaction", tenant, made["id"]))), "it stays on record"
