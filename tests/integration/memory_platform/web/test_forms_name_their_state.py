"""Every form of the console that edits a row is refused without the state that it was opened with."""

from typing import Any
from uuid import uuid4

import pytest
from django.urls import get_resolver
from django.urls.converters import IntConverter, UUIDConverter

from compaction.pipeline.forms import PromptForm
from compaction.review.forms import SummaryTextForm, SwapStatementForm
from context.profiles.forms import KeepBudgetForm
from memories.models import Tenant
from memories.partitions.forms import SummaryForm, VersionedTextForm
from memories.store.forms import MemoryEditForm
from tests.form_states import STATES
from tests.integration.page_helpers import client_of, page, text_of
from tests.unit.memory_platform.web.test_form_preconditions import STATED
from tests.users import new_operator

#: Addresses whose form requires the field, and shows an error of the form without it.
BY_FORM: dict[str, Any] = {
    "budget-keep": KeepBudgetForm,
    "compaction": SummaryTextForm,
    "compaction-swap": SwapStatementForm,
    "memo": VersionedTextForm,
    "memory": MemoryEditForm,
    "partitions": SummaryForm,
    "prompts": PromptForm,
}
#: Addresses that treat a missing version as an old one, so that the save is refused as stale.
STALE = {"budget", "budgets"}
#: Addresses whose form is shown only for a stored preview or count; the tests of their pages check them.
SECOND_STEP = {"erasure", "memory-import-export"}


def arguments_of(name: str) -> list[object]:
    """Return values of the right types for the rest of an address; the form is refused before a row is looked up."""
    _, _, _, converters = get_resolver().reverse_dict.getlist(name)[0]
    kinds = [kind for argument, kind in converters.items() if argument != "tenant_id"]
    by_kind: list[tuple[type, object]] = [(UUIDConverter, uuid4()), (IntConverter, 1), (object, "x")]
    return [next(value for one, value in by_kind if isinstance(kind, one)) for kind in kinds]


def test_every_form_is_checked_in_one_of_these_ways() -> None:
    assert STATES.keys() | BY_FORM.keys() | STALE | SECOND_STEP == STATED.keys()
    assert {name: field for name, (field, _) in STATES.items()}.items() <= {
        (name, field) for name, (field, _) in STATED.items()
    }
    for name, form in BY_FORM.items():
        assert form.base_fields[STATED[name][0]].required, name


@pytest.mark.django_db
def test_form_without_its_state_is_refused(tenant: Tenant) -> None:
    admin = client_of(new_operator("anna", "admin", tenant))
    for name in STATES.keys() - SECOND_STEP:
        field = STATES[name][0]
        response = admin.post(page(name, tenant, *arguments_of(name)), {field: ""})
        assert response.status_code == 428, name
        assert "precondition_required" in text_of(response), name
        assert f"<code>{field}</code>" in text_of(response), name


@pytest.mark.django_db
def test_budget_without_its_version_is_stale(tenant: Tenant) -> None:
    admin = client_of(new_operator("anna", "admin", tenant))
    form = admin.get(page("budgets", tenant)).context["form"]
    values = {field.name: field.value() for field in form if field.value() not in (None, False)}
    response = admin.post(page("budgets", tenant), values | {"overfetch_ratio": "3.5"})
    assert response.status_code == 422
    assert "has become active" in text_of(response)
